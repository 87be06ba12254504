// Elements of a rank, medians, modes and elements at places of the whole, on CUDA.
#include "cuda/gather.h"
#include "cuda/rank.h"
#include "python/native_ops.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

bool on_cuda(PyObject* o) { return is_tensor(o) && unwrap(o)->device().is_cuda(); }
bool whole(PyObject* o, int64_t* value) {
  int overflow = 0;
  if (!PyLong_CheckExact(o)) return false;
  *value = PyLong_AsLongLongAndOverflow(o, &overflow);
  return !overflow;
}

PyObject* ranked(PyObject* self, int64_t dim, cuda::Rank kind, int64_t k, bool keepdim) {
  return guarded([&]() -> PyObject* {
    Tensor places;
    const Tensor values = cuda::ranked(Tensor(unwrap(self)), dim, kind, k, keepdim, &places);
    return values ? tuple_of({values, places}) : nullptr;
  });
}

// kthvalue(self, k, dim, keepdim)
PyObject* native_kthvalue(Operator&, PyObject* const* args, size_t n) {
  int64_t k, dim;
  if (n != 4 || !on_cuda(args[0]) || !whole(args[1], &k) || !whole(args[2], &dim)) return nullptr;
  return ranked(args[0], dim, cuda::Rank::kth, k, args[3] == Py_True);
}

// median(self), median(self, dim, keepdim)
PyObject* native_median(Operator&, PyObject* const* args, size_t n) {
  int64_t dim;
  if (!n || !on_cuda(args[0])) return nullptr;
  if (n == 3) return whole(args[1], &dim) ? ranked(args[0], dim, cuda::Rank::median, 0, args[2] == Py_True) : nullptr;
  if (n != 1) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor self(unwrap(args[0]));
    const Tensor r = cuda::ranked(view(*contiguous(self), Dims{self->numel()}), 0, cuda::Rank::median, 0, false, nullptr);
    return r ? wrap(r) : nullptr;
  });
}

// nanmedian(self, dim, keepdim)
PyObject* native_nanmedian(Operator&, PyObject* const* args, size_t n) {
  int64_t dim;
  if (n != 3 || !on_cuda(args[0]) || !whole(args[1], &dim)) return nullptr;
  return ranked(args[0], dim, cuda::Rank::nanmedian, 0, args[2] == Py_True);
}

// mode(self, dim, keepdim)
PyObject* native_mode(Operator&, PyObject* const* args, size_t n) {
  int64_t dim;
  if (n != 3 || !on_cuda(args[0]) || !whole(args[1], &dim)) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor places;
    const Tensor values = cuda::most_frequent(Tensor(unwrap(args[0])), dim, args[2] == Py_True, &places);
    return values ? tuple_of({values, places}) : nullptr;
  });
}

// take(self, index): an index that is out of range ends the program, as PyTorch's assertion does
PyObject* native_take(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !on_cuda(args[0]) || !on_cuda(args[1])) return nullptr;
  const TensorImpl &self = *unwrap(args[0]), &index = *unwrap(args[1]);
  if (index.device() != self.device() || index.dtype() != DType::i64 || !self.numel() || self.has_math_bits()) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor r = cuda::take_along(*view(*packed(self), Dims{self.numel()}), 0, index, true);
    return r ? wrap(r) : nullptr;
  });
}

}  // namespace

void register_cuda_ranks() {
  register_native("kthvalue", native_kthvalue);
  register_native("median", native_median);
  register_native("nanmedian", native_nanmedian);
  register_native("mode", native_mode);
  register_native("take", native_take);
}

}  // namespace shim
