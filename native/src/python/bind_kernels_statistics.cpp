// Native fast paths of variance, extremes with indices, running sums, logsumexp.
#include <algorithm>

#include "autograd/autograd.h"
#include "cpu/parallel.h"
#include "cpu/row_gradients.h"
#include "cpu/scan.h"
#include "cpu/sorting.h"
#include "cpu/statistics.h"
#include "cuda/norm.h"
#include "cuda/rows.h"
#include "cuda/reduce.h"
#include "cuda/scan.h"
#include "cuda/sort.h"
#include "python/native_values.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

template <class F> auto released(const TensorImpl& t, F&& f) {
  if (t.numel() < 2 * kGrain) return f();
  GilRelease without;
  return f();
}

// On the CPU without the GIL where that pays; with it on CUDA, whose current stream is CuPy's.
template <class F, class G> Tensor by_device(const Tensor& self, F&& on_cpu, G&& on_cuda) {
  return self->device().is_cuda() ? on_cuda() : released(*self, on_cpu);
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
template <bool Root, bool Mean> PyObject* native_variance(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !is_tensor(args[0]) || !PyBool_Check(args[3])) return nullptr;
  if (Mean && GradMode::enabled() && any_requires_grad(args, n)) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0])), mean;
    Dims dims;
    Scalar correction{Scalar::Int, 1};
    if (!dims_or_none(args[1], &dims)) return nullptr;
    if (args[2] != Py_None && (!number_of(args[2], &correction) || correction.type == Scalar::Complex)) return nullptr;
    const bool keep = args[3] == Py_True;
    Tensor r = by_device(
        self, [&] { return variance(self, dims, keep, correction.to_double(), Root, Mean ? &mean : nullptr); },
        [&] { return cuda::variance(self, dims, keep, correction.to_double(), Root, Mean ? &mean : nullptr); });
    if (!r) return nullptr;
    return Mean ? pair(r, mean) : wrap(r);
  });
}

// argmax(self, dim or None, keepdim)
template <bool Largest> PyObject* native_arg(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !is_tensor(args[0]) || !PyBool_Check(args[2]) || !(args[1] == Py_None || PyLong_CheckExact(args[1])))
    return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    if (self->dtype() == DType::b8) return nullptr;  // refused in PyTorch's words
    const bool all = args[1] == Py_None;
    const long dim = all ? 0 : PyLong_AsLong(args[1]);
    const bool keep = args[2] == Py_True;
    return wrapped(by_device(
        self, [&] { return arg_extreme(Largest, self, dim, all, keep, nullptr); },
        [&] { return cuda::arg_extreme(Largest, self, dim, all, keep, nullptr); }));
  });
}

// max.dim(self, dim, keepdim) -> (values, indices)
template <bool Largest> PyObject* native_extreme(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !is_tensor(args[0]) || !PyBool_Check(args[2]) || !PyLong_CheckExact(args[1])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0])), values;
    const long dim = PyLong_AsLong(args[1]);
    const bool keep = args[2] == Py_True;
    Tensor index = by_device(
        self, [&] { return arg_extreme(Largest, self, dim, false, keep, &values); },
        [&] { return cuda::arg_extreme(Largest, self, dim, false, keep, &values); });
    return index ? pair(values, index) : nullptr;
  });
}

template <cuda::Running how> Tensor on_cpu_running(const Tensor& self, int64_t dim, DType result) {
  return how == cuda::Running::sum       ? running_sum(self, dim, result)
         : how == cuda::Running::product ? running_product(self, dim, result)
                                         : Tensor{};
}

// cumsum or cumprod(self, dim, dtype or None), logcumsumexp(self, dim)
template <cuda::Running how> PyObject* native_running(Operator&, PyObject* const* args, size_t n) {
  constexpr bool logs = how == cuda::Running::log_sum_exp;
  if (n != (logs ? 2 : 3) || !is_tensor(args[0]) || !PyLong_CheckExact(args[1]) ||
      !(logs || args[2] == Py_None || is_dtype(args[2])))
    return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    const DType own = self->dtype(), result = !logs && args[2] != Py_None ? dtype_of(args[2])
                                              : is_integral(own, true)    ? DType::i64
                                                                          : own;
    if (result == DType::b8 || (logs && result != own)) return nullptr;  // refused in PyTorch's words
    const long dim = PyLong_AsLong(args[1]);
    return wrapped(by_device(
        self, [&] { return on_cpu_running<how>(self, dim, result); },
        [&] { return cuda::running(how, self, dim, result); }));
  });
}

// cummax or cummin(self, dim)
template <bool Largest> PyObject* native_running_extreme(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !is_tensor(args[0]) || !PyLong_CheckExact(args[1])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0])), values;
    const long dim = PyLong_AsLong(args[1]);
    Tensor index = by_device(
        self, [&] { return running_extreme(Largest, self, dim, &values); },
        [&] { return cuda::running_extreme(Largest, self, dim, &values); });
    return index ? pair(values, index) : nullptr;
  });
}

// (self, dims, keepdim)
PyObject* native_logsumexp(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !is_tensor(args[0]) || !PyBool_Check(args[2])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    Dims dims;
    if (!dims_or_none(args[1], &dims)) return nullptr;
    const bool keep = args[2] == Py_True;
    return wrapped(by_device(
        self, [&] { return logsumexp(self, dims, keep); }, [&] { return cuda::log_sum_exp(self, dims, keep); }));
  });
}

// linalg_vector_norm(self, ord, dim, keepdim, dtype): the Euclidean one, on CUDA those of order 1 and infinity too
PyObject* native_norm(Operator&, PyObject* const* args, size_t n) {
  if (n != 5 || !is_tensor(args[0]) || !PyBool_Check(args[3]) || args[4] != Py_None) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    Scalar order;
    Dims dims;
    if (!number_of(args[1], &order) || order.type == Scalar::Complex || !dims_or_none(args[2], &dims)) return nullptr;
    const double p = order.to_double();
    const bool keep = args[3] == Py_True;
    return wrapped(by_device(
        self, [&] { return p == 2 ? norm2(self, dims, keep) : Tensor(); },
        [&] { return cuda::vector_norm(*self, p, dims, keep); }));
  });
}

// layer_norm(input, normalized_shape, weight, bias, eps, ...), rms_norm(input, normalized_shape, weight, eps): composites, natively
// where no history is kept.
template <bool Centred> PyObject* native_layer_norm(Operator&, PyObject* const* args, size_t n) {
  PyObject *weight = args[2], *bias = Centred ? args[3] : Py_None, *eps = args[Centred ? 4 : 3];
  if (n < 4 || !is_tensor(args[0]) || !PyTuple_Check(args[1]) || (GradMode::enabled() && any_requires_grad(args, n)))
    return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    Dims shape;
    Scalar epsilon;
    if (!dims_of(args[1], &shape) || shape.empty() || int(shape.size()) > self->dim()) return nullptr;
    if (!std::equal(shape.begin(), shape.end(), self->sizes().end() - long(shape.size()))) return nullptr;
    const bool wide = self->dtype() == DType::f64;
    if (eps == Py_None)
      epsilon = Scalar{Scalar::Float, 0, wide ? 0x1p-52 : 0x1p-23};
    else if (!number_of(eps, &epsilon))
      return nullptr;
    Tensor parts[2];
    for (int i = 0; i < 2; ++i) {
      PyObject* o = i ? bias : weight;
      if (o == Py_None) continue;
      if (!is_tensor(o)) return nullptr;
      parts[i] = Tensor(unwrap(o));
      const IntArrayRef sizes = parts[i]->sizes();
      if (parts[i]->dtype() != self->dtype() || parts[i]->device() != self->device() ||
          !std::equal(sizes.begin(), sizes.end(), shape.begin(), shape.end()))
        return nullptr;
    }
    auto on_cpu = [&] {
      return row_norm({self, parts[0], parts[1], product(shape), 0, 1, Centred}, epsilon.to_double(), nullptr, nullptr);
    };
    auto on_cuda = [&] {
      Tensor mean, rstd;
      for (Tensor& t : parts)
        if (t) t = contiguous(t);
      return cuda::norm(
          {contiguous(self), parts[0], parts[1], product(shape), 0, 1, Centred}, epsilon.to_double(), &mean, &rstd);
    };
    return wrapped(by_device(self, on_cpu, on_cuda));
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
  register_native("vector_norm", native_norm);
  register_native("layer_norm", native_layer_norm<true>);
  register_native("rms_norm", native_layer_norm<false>);
  register_native("cumsum", native_running<cuda::Running::sum>);
  register_native("cummax", native_running_extreme<true>);
  register_native("cummin", native_running_extreme<false>);
  register_native("cumprod", native_running<cuda::Running::product>);
  register_native("logcumsumexp", native_running<cuda::Running::log_sum_exp>);
  register_native("logsumexp", native_logsumexp);
}

}  // namespace shim
