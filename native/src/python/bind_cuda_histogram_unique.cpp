// bincount, histc, unique and unique_consecutive on CUDA. Null where no kernel fits: the record's body runs.
#include "cuda/histogram_unique.h"
#include "python/native_cuda.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

// bincount(self, weights or None, minlength)
PyObject* native_bincount(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !on_cuda(args[0]) || !on_cuda_or_none(args[1]) || !PyLong_CheckExact(args[2])) return nullptr;
  const long long least = PyLong_AsLongLong(args[2]);
  if (least == -1 && PyErr_Occurred()) return PyErr_Clear(), nullptr;
  return guarded([&] { return wrapped(cuda::bincount(Tensor(unwrap(args[0])), tensor_or_none(args[1]), least)); });
}

// histc(self, bins, min, max)
PyObject* native_histc(Operator&, PyObject* const* args, size_t n) {
  Scalar low, high;
  if (n != 4 || !on_cuda(args[0]) || !PyLong_CheckExact(args[1])) return nullptr;
  const long long bins = PyLong_AsLongLong(args[1]);
  if (bins == -1 && PyErr_Occurred()) return PyErr_Clear(), nullptr;
  return guarded([&]() -> PyObject* {
    if (!number_of(args[2], &low) || !number_of(args[3], &high) || low.type == Scalar::Complex ||
        high.type == Scalar::Complex)
      return nullptr;
    return wrapped(cuda::histc(Tensor(unwrap(args[0])), bins, low.to_double(), high.to_double()));
  });
}

PyObject* unique_of(PyObject* given, bool sorts, bool inverse, bool counts) {
  return guarded([&]() -> PyObject* {
    const Tensor self(unwrap(given));
    Tensor runs, lengths, values = cuda::unique(self, sorts, inverse ? &runs : nullptr, counts ? &lengths : nullptr);
    if (!values) return nullptr;
    for (Tensor* t : {&runs, &lengths})
      if (!*t) *t = empty(Dims{0}, DType::i64, self->device());
    return tuple_of({values, runs, lengths});
  });
}

// _unique2(self, sorted, return_inverse, return_counts)
PyObject* native_unique(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cuda(args[0])) return nullptr;
  return unique_of(args[0], true, args[2] == Py_True, args[3] == Py_True);
}

// _unique_consecutive(self, return_inverse, return_counts, dim)
PyObject* native_unique_consecutive(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cuda(args[0]) || args[3] != Py_None) return nullptr;
  return unique_of(args[0], false, args[1] == Py_True, args[2] == Py_True);
}

}  // namespace

void register_cuda_histogram_unique() {
  register_native("bincount", native_bincount);
  register_native("histc", native_histc);
  register_native("unique", native_unique);
  register_native("unique_consecutive", native_unique_consecutive);
}

}  // namespace shim
