#include "trace/node.h"

#include <algorithm>
#include <cstring>

namespace shim::trace {

TensorSpec TensorSpec::of(const TensorImpl& t) {
  TensorSpec s;
  s.conj = t.is_conj;
  s.neg = t.is_neg;
  s.wrapped_number = t.wrapped_number;
  s.dtype = t.dtype();
  s.device = t.device();
  s.offset = t.storage_offset();
  s.numel = t.numel();
  s.contiguous = t.is_contiguous();
  s.dims.assign(t.sizes_data(), t.sizes_data() + 2 * t.dim());
  s.nbytes = t.storage()->nbytes();
  return s;
}

bool TensorSpec::lies_like(const TensorImpl& t) const {
  return dtype == t.dtype() && offset == t.storage_offset() && conj == t.is_conj && neg == t.is_neg &&
         wrapped_number == t.wrapped_number && device == t.device() && has_dims_of(t);
}

bool TensorSpec::alike(const TensorSpec& s) const {
  return slot == s.slot && fresh == s.fresh && conj == s.conj && neg == s.neg && wrapped_number == s.wrapped_number &&
         dtype == s.dtype && device == s.device && dims.size() == s.dims.size();
}

Tensor TensorSpec::over(Ref<Storage> storage) const {
  Tensor t(new TensorImpl(std::move(storage), dtype, {dims, offset, numel, contiguous}));
  t->is_conj = conj;
  t->is_neg = neg;
  t->wrapped_number = wrapped_number;
  return t;
}

namespace {

bool alike_values(const program::Value& a, const program::Value& b) {
  if (a.is.index() != b.is.index()) return false;
  const auto same = [&]<class T>(const T& x) {
    if constexpr (std::is_same_v<T, program::List>)
      return std::ranges::equal(x, std::get<T>(b.is), alike_values);
    else if constexpr (std::is_same_v<T, double>)
      return !std::memcmp(&x, &std::get<T>(b.is), sizeof x);
    else if constexpr (std::is_same_v<T, program::LayoutNumber>)
      return x.number == std::get<T>(b.is).number;
    else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, std::monostate>)
      return true;
    else if constexpr (std::equality_comparable<T>)
      return x == std::get<T>(b.is);
    else
      return false;
  };
  return std::visit(same, a.is);
}

bool alike_arguments(const ArgumentSpec& a, const ArgumentSpec& b) {
  return a.kind == b.kind && a.number == b.number && a.first == b.first && a.given == b.given &&
         alike_values(a.value, b.value);
}

// Operators go by the order in which dims lie, and each has its own rule for what its result is like.
bool lie_alike(const TensorSpec& a, const TensorSpec& b) {
  const auto told = [&](size_t i) { return a.sizes()[i] > 1 && b.sizes()[i] > 1; };
  const auto order = [](const TensorSpec& t, size_t i, size_t j) { return t.strides()[i] <=> t.strides()[j]; };
  for (size_t i = 0; i < a.sizes().size(); ++i) {
    if (!told(i)) continue;
    if (!a.strides()[i] != !b.strides()[i]) return false;
    for (size_t j = 0; j < i; ++j)
      if (told(j) && order(a, i, j) != order(b, i, j)) return false;
  }
  return true;
}

bool alike_tensors(const TensorSpec& a, const TensorSpec& b) { return a.alike(b) && lie_alike(a, b); }

}  // namespace

bool TreeNode::alike(const TreeNode& n) const {
  return op == n.op && slots == n.slots && form == n.form && wants_gradient == n.wants_gradient && apart == n.apart &&
         device == n.device && std::ranges::equal(arguments, n.arguments, alike_arguments) &&
         std::ranges::equal(inputs, n.inputs, alike_tensors) && std::ranges::equal(results, n.results, alike_tensors);
}

}  // namespace shim::trace
