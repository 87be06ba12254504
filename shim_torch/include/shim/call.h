#pragma once
// Calls of operators: arguments as cells, results from them.
#include <shim/tensor.h>

namespace c10 {
class IValue;
}
namespace shim {

ShimCell cell(const c10::IValue&);
inline ShimCell cell(const char* s) { return cell(std::string_view(s)); }
inline ShimCell cell(const std::string& s) { return cell(std::string_view(s)); }

// An operator that a function calls, found at its first call: without a constructor that runs, thousands compile fast.
struct Op {
  const char *name, *overload;
  mutable const ShimOp* known = nullptr;
  const ShimOp* entry() const {
    const ShimOp* e = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!e) __atomic_store_n(&known, e = shim_cxx_op(name, overload), __ATOMIC_RELAXED);
    return e;
  }
};

inline ShimCell cell(const at::Tensor& t) { return pointer_cell(SHIM_TENSOR, t.shim_handle()); }
inline ShimCell cell(at::TensorList a) { return pointer_cell(SHIM_TENSORS, a.data(), a.size()); }
inline ShimCell cell(const std::optional<at::Tensor>& t) { return t ? cell(*t) : none_cell(); }
inline ShimCell cell(const std::optional<at::TensorList>& a) { return a ? cell(*a) : none_cell(); }
// Handles of tensors some of which may be missing; kept for the call by this thread's next ones.
inline ShimCell cell(const c10::List<std::optional<at::Tensor>>& list) {
  static thread_local std::vector<ShimTensor*> kept[4];
  static thread_local size_t next = 0;
  auto& handles = kept[next++ % 4];
  handles.clear();
  for (auto& t : list) handles.push_back(t ? t->shim_handle() : nullptr);
  return pointer_cell(SHIM_TENSORS, handles.data(), handles.size());
}

// Takes over what a result holds.
template <class T> struct Taken;
template <> struct Taken<at::Tensor> {
  static at::Tensor from(ShimCell& c) {
    c.tag == SHIM_TENSOR || c.tag == SHIM_NONE ? void() : throw_kind(SHIM_TYPE, "expected a Tensor as the result");
    auto* t = c.tag == SHIM_TENSOR ? static_cast<ShimTensor*>(const_cast<void*>(c.p)) : nullptr;
    c.tag = SHIM_NONE;
    return at::Tensor::shim_adopt(t);
  }
};
template <> struct Taken<std::vector<at::Tensor>> {
  static std::vector<at::Tensor> from(ShimCell& c) {
    std::vector<at::Tensor> all;
    for (uint32_t i = 0; (c.tag == SHIM_TENSORS || c.tag == SHIM_LIST) && i < c.n; ++i) {
      const auto* one = c.tag == SHIM_LIST ? static_cast<const ShimCell*>(c.p) + i : nullptr;  // where some are None
      auto* t = !one                      ? static_cast<ShimTensor* const*>(c.p)[i]
                : one->tag == SHIM_TENSOR ? static_cast<ShimTensor*>(const_cast<void*>(one->p))
                                          : nullptr;
      if (t) shim_cxx_retain(t);
      all.push_back(at::Tensor::shim_adopt(t));
    }
    shim_cxx_release(&c, 1);
    return all;
  }
};
#define SHIM_TAKEN(type, expression) \
  template <> struct Taken<type> {   \
    static type from(ShimCell& c) {  \
      type v = expression;           \
      shim_cxx_release(&c, 1);       \
      return v;                      \
    }                                \
  };
SHIM_TAKEN(int64_t, c10::Scalar(c).toLong())
SHIM_TAKEN(double, c10::Scalar(c).toDouble())
SHIM_TAKEN(bool, c10::Scalar(c).toBool())
SHIM_TAKEN(c10::Scalar, c10::Scalar(c))
SHIM_TAKEN(c10::ScalarType, c10::ScalarType(c.i))
SHIM_TAKEN(c10::Layout, c10::Layout(c.i))
SHIM_TAKEN(c10::Device, c10::Device(c10::DeviceType(c.i), c10::DeviceIndex(int32_t(c.n))))
SHIM_TAKEN(std::string, std::string(static_cast<const char*>(c.p), c.n))
template <class... T> struct Taken<std::tuple<T...>> {
  template <size_t... I> static std::tuple<T...> all(ShimCell* c, std::index_sequence<I...>) {
    return std::tuple<T...>(Taken<T>::from(c[I])...);
  }
};
template <class T> struct Count : std::integral_constant<size_t, 1> {};
template <class... T> struct Count<std::tuple<T...>> : std::integral_constant<size_t, sizeof...(T)> {};

template <class R> R call(const Op& op, const ShimCell* cells, size_t n) {
  if constexpr (std::is_void_v<R>) {
    check(shim_cxx_call(op.entry(), op.name, cells, n, nullptr, 0));
  } else {
    ShimCell results[Count<R>::value] = {};
    check(shim_cxx_call(op.entry(), op.name, cells, n, results, Count<R>::value));
    if constexpr (Count<R>::value == 1)
      return Taken<R>::from(results[0]);
    else
      return Taken<R>::all(results, std::make_index_sequence<Count<R>::value>());
  }
}

struct Object {  // a Python object, counted by whoever copies
  std::shared_ptr<ShimCell> held;
  const ShimCell& cell() const { return *held; }
};
inline Object object_taken(ShimCell c) {
  return {std::shared_ptr<ShimCell>(new ShimCell(c), [](ShimCell* p) {
    shim_cxx_release(p, 1);
    delete p;
  })};
}
template <> struct Taken<Object> {
  static Object from(ShimCell& c) { return object_taken(std::exchange(c, ShimCell{})); }
};
inline ShimCell cell(const Object& o) { return o.held ? o.cell() : none_cell(); }
inline ShimCell cell(const ShimCell& c) { return c; }
// What a function of cxx_calls.py gives.
template <class R, class... A> R python(const char* name, const A&... arguments) {
  const ShimCell cells[] = {cell(arguments)..., none_cell()};
  ShimCell result{};
  check(shim_cxx_python(name, cells, sizeof...(A), &result));
  if constexpr (std::is_void_v<R>)
    shim_cxx_release(&result, 1);
  else
    return Taken<R>::from(result);
}

inline at::Tensor with_options(at::Tensor made, const c10::TensorOptions& options) {
  return options.requires_grad() ? made.set_requires_grad(true) : made;
}

}  // namespace shim

#include <shim/ops.inc>
