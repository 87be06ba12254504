// linspace, tril_indices, triu_indices, searchsorted, repeat and constant_pad_nd on CUDA. Null where no kernel fits: the record's body runs.
#include <algorithm>

#include "cuda/driver.h"
#include "cuda/elementwise.h"
#include "cuda/pad.h"
#include "cuda/search.h"
#include "ops/repeat.h"
#include "python/native_cuda.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

// The CUDA device that a factory is asked for; false for others.
bool cuda_asked(PyObject* o, Device* where) {
  if (!is_device(o) || !device_of(o).is_cuda()) return false;
  *where = device_of(o);
  if (where->index < 0) where->index = int8_t(cuda::current_device());
  return true;
}

// linspace(start, end, steps, dtype, layout, device, pin_memory)
PyObject* native_linspace(Operator&, PyObject* const* args, size_t n) {
  Scalar first, last;
  Device where;
  if (n != 7 || is_tensor(args[0]) || is_tensor(args[1]) || !PyLong_CheckExact(args[2]) || args[6] == Py_True ||
      !cuda_asked(args[5], &where))
    return nullptr;
  if (args[3] != Py_None && !is_dtype(args[3])) return nullptr;
  const long long steps = PyLong_AsLongLong(args[2]);
  if (steps == -1 && PyErr_Occurred()) return PyErr_Clear(), nullptr;
  return guarded([&]() -> PyObject* {
    if (!number_of(args[0], &first) || !number_of(args[1], &last) || first.type == Scalar::Complex ||
        last.type == Scalar::Complex)
      return nullptr;
    return wrapped(cuda::linspace(
        first.to_double(), last.to_double(), steps, args[3] == Py_None ? default_dtype() : dtype_of(args[3]), where));
  });
}

// tril_indices or triu_indices(row, col, offset, dtype, layout, device, pin_memory)
template <bool Upper> PyObject* native_triangle_indices(Operator&, PyObject* const* args, size_t n) {
  Device where;
  if (n != 7 || args[6] == Py_True || !cuda_asked(args[5], &where) || (args[3] != Py_None && !is_dtype(args[3])))
    return nullptr;
  long long sizes[3];
  for (int i = 0; i < 3; ++i) {
    if (!PyLong_CheckExact(args[i])) return nullptr;
    sizes[i] = PyLong_AsLongLong(args[i]);
    if (sizes[i] == -1 && PyErr_Occurred()) return PyErr_Clear(), nullptr;
  }
  return guarded([&] {
    return wrapped(cuda::triangle_indices(
        sizes[0], sizes[1], sizes[2], Upper, args[3] == Py_None ? DType::i64 : dtype_of(args[3]), where));
  });
}

// searchsorted(sorted_sequence, self, out_int32, right, side, sorter): contiguous ones, as others are warned of
PyObject* native_searchsorted(Operator&, PyObject* const* args, size_t n) {
  if (n != 6 || !on_cuda(args[0]) || !on_cuda(args[1]) || args[5] != Py_None) return nullptr;
  const bool right = args[3] == Py_True, named = args[4] != Py_None;
  if (named && !PyUnicode_Check(args[4])) return nullptr;
  const bool is_right = named && PyUnicode_CompareWithASCIIString(args[4], "right") == 0;
  if (named && !is_right && (right || PyUnicode_CompareWithASCIIString(args[4], "left") != 0)) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor sequences(unwrap(args[0])), values(unwrap(args[1]));
    if (!sequences->is_contiguous() || !values->is_contiguous()) return nullptr;
    return wrapped(
        cuda::searchsorted(sequences, values, {}, right || is_right, args[2] == Py_True ? DType::i32 : DType::i64));
  });
}

// repeat(self, repeats)
PyObject* native_repeat(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !on_cuda(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    Dims repeats;
    Repeated r;
    if (!dims_of(args[1], &repeats) || !repeated(*unwrap(args[0]), repeats, &r)) return nullptr;
    return cuda::copy_elementwise(r.to, r.from) ? wrap(r.out) : nullptr;
  });
}

// constant_pad_nd(self, pad, value)
PyObject* native_pad(Operator&, PyObject* const* args, size_t n) {
  Scalar value;
  if (n != 3 || !on_cuda(args[0]) || !number_of(args[2], &value)) return nullptr;
  return guarded([&]() -> PyObject* {
    const TensorImpl& self = *unwrap(args[0]);
    Dims sides;
    if (!dims_of(args[1], &sides) || sides.size() % 2 || sides.size() / 2 > size_t(self.dim()) || !self.is_contiguous())
      return nullptr;
    Dims before(size_t(self.dim())), after(size_t(self.dim()));
    for (size_t i = 0; i < sides.size() / 2; ++i) {
      const size_t d = size_t(self.dim()) - 1 - i;
      before[d] = sides[2 * i];
      after[d] = sides[2 * i + 1];
      if (before[d] < -self.sizes()[d] || after[d] < -self.sizes()[d] || before[d] + self.sizes()[d] + after[d] < 0)
        return nullptr;
    }
    check_fits(value, self.dtype());
    return wrapped(cuda::pad(self, before, after, value));
  });
}

}  // namespace

void register_cuda_creation() {
  register_native("linspace", native_linspace);
  register_native("tril_indices", native_triangle_indices<false>);
  register_native("triu_indices", native_triangle_indices<true>);
  register_native("searchsorted", native_searchsorted);
  register_native("repeat", native_repeat);
  register_native("constant_pad", native_pad);
}

}  // namespace shim
