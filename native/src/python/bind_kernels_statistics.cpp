// Native fast paths of variance, extremes with indices, running sums, logsumexp.
#include "autograd/autograd.h"
#include "cpu/parallel.h"
#include "cpu/statistics.h"
#include "python/native_ops.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

template <class F>
auto released(const TensorImpl& t, F&& f) {
  if (t.numel() < 2 * kGrain) return f();
  GilRelease without;
  return f();
}

bool dims_or_none(PyObject* o, Dims* dims) {
  if (o == Py_None) return true;
  return (PyTuple_Check(o) || PyLong_CheckExact(o)) && dims_of(o, dims);
}

PyObject* pair(const Tensor& a, const Tensor& b) {
  PyObject *x = wrap(a), *y = wrap(b);
  PyObject* both = x && y ? PyTuple_Pack(2, x, y) : nullptr;
  Py_XDECREF(x);
  Py_XDECREF(y);
  return both;
}

// (self, dim, correction, keepdim)
template <bool Root, bool Mean>
PyObject* native_variance(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !is_tensor(args[0]) || !PyBool_Check(args[3])) return nullptr;
  if (Mean && GradMode::enabled() && any_requires_grad(args, n)) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0])), mean;
    Dims dims;
    Number correction{Number::Int, 1};
    if (!dims_or_none(args[1], &dims)) return nullptr;
    if (args[2] != Py_None && (!number_of(args[2], &correction) || correction.type == Number::Complex)) return nullptr;
    Tensor r = released(*self, [&] { return variance(self, dims, args[3] == Py_True, correction.to_double(), Root, Mean ? &mean : nullptr); });
    if (!r) return nullptr;
    return Mean ? pair(r, mean) : wrap(r);
  });
}

// argmax(self, dim or None, keepdim)
template <bool Largest>
PyObject* native_arg(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !is_tensor(args[0]) || !PyBool_Check(args[2]) || !(args[1] == Py_None || PyLong_CheckExact(args[1]))) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    const bool all = args[1] == Py_None;
    const long dim = all ? 0 : PyLong_AsLong(args[1]);
    Tensor r = released(*self, [&] { return arg_extreme(Largest, self, dim, all, args[2] == Py_True, nullptr); });
    return r ? wrap(r) : nullptr;
  });
}

// max.dim(self, dim, keepdim) -> (values, indices)
template <bool Largest>
PyObject* native_extreme(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !is_tensor(args[0]) || !PyBool_Check(args[2]) || !PyLong_CheckExact(args[1])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0])), values;
    const long dim = PyLong_AsLong(args[1]);
    Tensor index = released(*self, [&] { return arg_extreme(Largest, self, dim, false, args[2] == Py_True, &values); });
    return index ? pair(values, index) : nullptr;
  });
}

// cumsum(self, dim, dtype or None)
PyObject* native_cumsum(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !is_tensor(args[0]) || !PyLong_CheckExact(args[1]) || !(args[2] == Py_None || is_dtype(args[2]))) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    const DType own = self->dtype(), result = args[2] != Py_None ? dtype_of(args[2]) : is_integral(own, true) ? DType::i64 : own;
    const long dim = PyLong_AsLong(args[1]);
    Tensor r = released(*self, [&] { return cumsum(self, dim, result); });
    return r ? wrap(r) : nullptr;
  });
}

// (self, dims, keepdim)
PyObject* native_logsumexp(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !is_tensor(args[0]) || !PyBool_Check(args[2])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    Dims dims;
    if (!dims_or_none(args[1], &dims)) return nullptr;
    Tensor r = released(*self, [&] { return logsumexp(self, dims, args[2] == Py_True); });
    return r ? wrap(r) : nullptr;
  });
}

}  // namespace

void register_statistics() {
  register_native("var", native_variance<false, false>);
  register_native("std", native_variance<true, false>);
  register_native("var_mean", native_variance<false, true>);
  register_native("std_mean", native_variance<true, true>);
  register_native("argmax", native_arg<true>);
  register_native("argmin", native_arg<false>);
  register_native("max_dim", native_extreme<true>);
  register_native("min_dim", native_extreme<false>);
  register_native("cumsum", native_cumsum);
  register_native("logsumexp", native_logsumexp);
}

}  // namespace shim
