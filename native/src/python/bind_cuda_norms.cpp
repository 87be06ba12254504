// Norms over rows, cross entropy and softmax's gradient on CUDA.
#include "core/order.h"
#include "cpu/loops.h"
#include "cuda/channel_norm.h"
#include "cuda/launch.h"
#include "cuda/norm.h"
#include "cuda/nvrtc.h"
#include "cuda/rows.h"
#include "python/native_cuda.h"

namespace shim {

namespace {

// softmax_backward(g, result, dim, log): the last dimension
PyObject* native_softmax_backward(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cuda(args[0]) || !on_cuda(args[1]) || !PyLong_CheckExact(args[2])) return nullptr;
  const long dim = PyLong_AsLong(args[2]);
  const int dims = unwrap(args[1])->dim();
  if (dim != -1 && dim != dims - 1) return nullptr;
  return guarded([&] {
    return wrapped(cuda::softmax_backward(Tensor(unwrap(args[0])), Tensor(unwrap(args[1])), args[3] == Py_True));
  });
}

template <bool Upper> PyObject* native_triangle(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !on_cuda(args[0]) || !PyLong_CheckExact(args[1])) return nullptr;
  const long long diagonal = PyLong_AsLongLong(args[1]);
  return guarded([&] { return wrapped(cuda::triangle(Tensor(unwrap(args[0])), diagonal, Upper)); });
}

// cross_entropy(self, target, weight, reduction, ignore_index, keep) -> (loss, log_p, factors, total)
PyObject* native_cross_entropy(Operator&, PyObject* const* args, size_t n) {
  if (n != 6 || !on_cuda(args[0]) || !on_cuda(args[1]) || !on_cuda_or_none(args[2]) || !PyLong_Check(args[3]) ||
      !PyLong_Check(args[4]))
    return nullptr;
  const long reduction = PyLong_AsLong(args[3]);
  const long long ignored = PyLong_AsLongLong(args[4]);
  return guarded([&]() -> PyObject* {
    cuda::CrossEntropy parts;
    Tensor loss = cuda::cross_entropy(Tensor(unwrap(args[0])), Tensor(unwrap(args[1])), tensor_or_none(args[2]),
        int(reduction), ignored, args[5] == Py_True, &parts);
    if (!loss) return nullptr;
    PyObject *a = wrap(loss), *b = wrap(parts.log_p), *c = wrap(parts.factors), *d = wrap(parts.total);
    return a && b && c && d ? Py_BuildValue("(NNNN)", a, b, c, d) : nullptr;
  });
}

// cross_entropy_backward(g, log_p, target, factors, total, reduction)
PyObject* native_cross_entropy_backward(Operator&, PyObject* const* args, size_t n) {
  if (n != 6 || !PyLong_Check(args[5])) return nullptr;
  for (int i = 0; i < 5; ++i)
    if (!on_cuda(args[i])) return nullptr;
  const long reduction = PyLong_AsLong(args[5]);
  return guarded([&]() -> PyObject* {
    const cuda::CrossEntropy parts{Tensor(unwrap(args[1])), Tensor(unwrap(args[3])), Tensor(unwrap(args[4]))};
    return wrapped(cuda::cross_entropy_backward(
        contiguous(Tensor(unwrap(args[0]))), Tensor(unwrap(args[2])), parts, int(reduction)));
  });
}

// --- norms --------------------------------------------------------------------------------------------------------------

// The numbers (cols, span, groups, centred) that end the arguments before the last.
bool norm_of(PyObject* const* args, PyObject* x, PyObject* weight, PyObject* bias, cuda::Norm* norm) {
  if (!on_cuda(x) || !on_cuda_or_none(weight) || !on_cuda_or_none(bias)) return false;
  *norm = {Tensor(unwrap(x)), tensor_or_none(weight), tensor_or_none(bias), PyLong_AsLongLong(args[0]),
      PyLong_AsLongLong(args[1]), PyLong_AsLongLong(args[2]), args[3] == Py_True};
  return !PyErr_Occurred();
}

// norm(input, weight, bias, cols, span, groups, centred, eps) -> (output, mean, rstd)
PyObject* native_norm(Operator&, PyObject* const* args, size_t n) {
  cuda::Norm norm;
  Scalar eps;
  if (n != 8 || !norm_of(args + 3, args[0], args[1], args[2], &norm)) return nullptr;
  return guarded([&]() -> PyObject* {
    if (!number_of(args[7], &eps)) return nullptr;
    Tensor mean, rstd, out = cuda::norm(norm, eps.to_double(), &mean, &rstd);
    if (!out) return nullptr;
    return tuple_of({out, mean ? mean : rstd, rstd});
  });
}

// norm_backward(g, input, weight, mean, rstd, cols, span, groups, centred, of_weight, of_bias) -> (dx, dweight, dbias), what is not
// asked for being an empty tensor
PyObject* native_norm_backward(Operator&, PyObject* const* args, size_t n) {
  cuda::Norm norm;
  if (n != 11 || !on_cuda(args[0]) || !on_cuda(args[3]) || !on_cuda(args[4]) ||
      !norm_of(args + 5, args[1], args[2], Py_None, &norm))
    return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor weight, bias;
    Tensor r = cuda::norm_backward(norm, contiguous(Tensor(unwrap(args[0]))), Tensor(unwrap(args[3])),
        Tensor(unwrap(args[4])), args[9] == Py_True ? &weight : nullptr, args[10] == Py_True ? &bias : nullptr);
    if (!r) return nullptr;
    for (Tensor* t : {&weight, &bias})
      if (!*t) *t = empty(Dims{0}, r->dtype(), r->device());
    return tuple_of({r, weight, bias});
  });
}

}  // namespace

void register_cuda_norms() {
  register_native("softmax_backward", native_softmax_backward);
  register_native("tril", native_triangle<false>);
  register_native("triu", native_triangle<true>);
  register_native("cross_entropy", native_cross_entropy);
  register_native("cross_entropy_backward", native_cross_entropy_backward);
  register_native("norm", native_norm);
  register_native("norm_backward", native_norm_backward);
}

}  // namespace shim
