// Steps that reduce the last dim: parts of groups.
#include <utility>

#include "cpu/reduce.h"
#include "program/expression.h"

namespace shim::program {
namespace {

// A row is computed whole, and a shorter one is better read together with others.
constexpr int64_t kLeastColumns = 64, kMostColumns = 8192;
// On CUDA a row may be longer where there are so many that they keep all processors busy.
constexpr int64_t kMostOnCuda = 65536, kManyRows = 128;

bool suits(const TensorRef& x) {
  const int64_t columns = x.sizes.back(), n = x.numel();
  const bool many = x.device.is_cuda() && n / kManyRows >= columns;
  return n && columns >= kLeastColumns && columns <= (many ? kMostOnCuda : kMostColumns);
}

template <class T> void sum_row(char* out, const char* in, int64_t n) {
  *reinterpret_cast<T*>(out) = sum_value(reinterpret_cast<const T*>(in), n);
}
template <class T> void mean_row(char* out, const char* in, int64_t n) {
  *reinterpret_cast<T*>(out) = sum_value(reinterpret_cast<const T*>(in), n) / T(n);
}
template <class T, bool Largest> void extreme_row(char* out, const char* in, int64_t n) {
  *reinterpret_cast<T*>(out) = extreme_value(reinterpret_cast<const T*>(in), n, Largest);
}

struct Known {
  const char *name, *overload;
  RowKernel f32, f64;
};
constexpr Known kKnown[] = {{"sum", "dim_IntList", sum_row<float>, sum_row<double>},
    {"mean", "dim", mean_row<float>, mean_row<double>},
    {"amax", "", extreme_row<float, true>, extreme_row<double, true>},
    {"amin", "", extreme_row<float, false>, extreme_row<double, false>}};

const Known* known_reduction(const Step& step) {
  if (step.op->schema.ns != "aten") return nullptr;
  for (const Known& k : kKnown)
    if (step.op->schema.name == k.name && step.op->schema.overload == k.overload) return &k;
  return nullptr;
}

// Whether it is the last of so many dims, alone.
bool is_last_dim(const Value& v, int64_t dims) {
  const auto* list = std::get_if<List>(&v.is);
  const auto* dim = list && list->size() == 1 ? std::get_if<int64_t>(&(*list)[0].is) : nullptr;
  return dim && (*dim == -1 || *dim == dims - 1);
}

bool keeps_dtype(const Value& v, DType t) {
  const auto* dtype = std::get_if<DType>(&v.is);
  return std::holds_alternative<std::monostate>(v.is) || (dtype && *dtype == t);
}

}  // namespace

const TensorRef* reduced_rows(const Step& step) {
  if (step.results.size() != 1 || !known_reduction(step) || step.args.size() < 3) return nullptr;
  const auto* x = std::get_if<TensorRef>(&step.args[0].is);
  if (!x || x->sizes.empty() || !is_last_dim(step.args[1], int64_t(x->sizes.size()))) return nullptr;
  const bool same = x->dtype == step.results[0].dtype && (step.args.size() == 3 || keeps_dtype(step.args[3], x->dtype));
  if (!same || !is_floating(x->dtype) || !ordinary(x->dtype)) return nullptr;
  return suits(*x) ? x : nullptr;
}

bool add_row_reduction(Group& group, const Steps& steps, const Step& step) {
  const TensorRef* x = reduced_rows(step);
  if (!x || x->sizes != group.shape) return false;
  Expression e{group, steps};
  const Expression::Value v = e.read(*x);
  const Known& known = *known_reduction(step);
  Node n{known.name, nullptr, v.dtype, v.dtype, DType::undefined, 1, {v.source}};
  n.row = v.dtype == DType::f64 ? known.f64 : known.f32;
  n.of_row = true;
  group.nodes.push_back(n);
  if (group.nodes.size() > kMostNodes) refuse();
  group.rows = true;
  TensorRef to = step.results[0];
  if (to.sizes.size() < group.shape.size()) {  // without the dim
    to.sizes.push_back(1);
    to.strides.push_back(1);
  }
  const Dims whole = std::exchange(group.shape, row_shape(group));
  e.write(to, {{Source::node, uint16_t(group.nodes.size() - 1)}, v.dtype});
  group.shape = whole;
  return true;
}

}  // namespace shim::program
