// Elements of a rank, medians, modes, elements at places of the whole, vector products, polar coordinates and diagonals on CUDA.
#include <algorithm>

#include "cuda/gather.h"
#include "cuda/rank.h"
#include "cuda/vectors.h"
#include "python/native_cuda.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

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
  if (n != 4 || !on_cuda(args[0]) || !integer_of(args[1], &k) || !integer_of(args[2], &dim)) return nullptr;
  return ranked(args[0], dim, cuda::Rank::kth, k, args[3] == Py_True);
}

// median(self), median(self, dim, keepdim)
PyObject* native_median(Operator&, PyObject* const* args, size_t n) {
  int64_t dim;
  if (!n || !on_cuda(args[0])) return nullptr;
  if (n == 3)
    return integer_of(args[1], &dim) ? ranked(args[0], dim, cuda::Rank::median, 0, args[2] == Py_True) : nullptr;
  if (n != 1) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor self(unwrap(args[0]));
    return wrapped(
        cuda::ranked(view(*contiguous(self), Dims{self->numel()}), 0, cuda::Rank::median, 0, false, nullptr));
  });
}

// nanmedian(self, dim, keepdim)
PyObject* native_nanmedian(Operator&, PyObject* const* args, size_t n) {
  int64_t dim;
  if (n != 3 || !on_cuda(args[0]) || !integer_of(args[1], &dim)) return nullptr;
  return ranked(args[0], dim, cuda::Rank::nanmedian, 0, args[2] == Py_True);
}

// mode(self, dim, keepdim)
PyObject* native_mode(Operator&, PyObject* const* args, size_t n) {
  int64_t dim;
  if (n != 3 || !on_cuda(args[0]) || !integer_of(args[1], &dim)) return nullptr;
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
  if (index.device() != self.device() || index.dtype() != DType::i64 || !self.numel() || self.has_math_bits())
    return nullptr;
  return guarded([&] { return wrapped(cuda::take_along(*view(*packed(self), Dims{self.numel()}), 0, index, true)); });
}

// vector_product(self, other, dim)
PyObject* native_cross(Operator&, PyObject* const* args, size_t n) {
  int64_t dim;
  if (n != 3 || !on_cuda(args[0]) || !on_cuda(args[1]) || !integer_of(args[2], &dim)) return nullptr;
  return guarded([&] { return wrapped(cuda::cross(Tensor(unwrap(args[0])), Tensor(unwrap(args[1])), dim)); });
}

// polar(abs, angle)
PyObject* native_polar(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !on_cuda(args[0]) || !on_cuda(args[1])) return nullptr;
  if (!unwrap(args[0])->is_contiguous() || !unwrap(args[1])->is_contiguous())
    return nullptr;  // the result's order is the operands'
  return guarded([&] { return wrapped(cuda::polar(Tensor(unwrap(args[0])), Tensor(unwrap(args[1])))); });
}

// diag_embed(self, offset, dim1, dim2)
PyObject* native_diag_embed(Operator&, PyObject* const* args, size_t n) {
  int64_t offset, first, second;
  if (n != 4 || !on_cuda(args[0]) || !integer_of(args[1], &offset) || !integer_of(args[2], &first) ||
      !integer_of(args[3], &second))
    return nullptr;
  const Tensor self(unwrap(args[0]));
  const int64_t dims = self->dim() + 1;
  if (first < -dims || first >= dims || second < -dims || second >= dims || dims < 2 || self->has_math_bits() ||
      std::abs(offset) > (int64_t(1) << 30))
    return nullptr;
  first = first < 0 ? first + dims : first;
  second = second < 0 ? second + dims : second;
  if (first == second) return nullptr;
  return guarded([&]() -> PyObject* {
    const int64_t side = self->sizes().back() + std::abs(offset);
    Dims shape(self->sizes().begin(), self->sizes().end() - 1);
    for (int64_t d : {std::min(first, second), std::max(first, second)}) shape.insert(shape.begin() + d, side);
    const Tensor out = empty(shape, self->dtype(), self->device());
    fill_(out, Number{});
    copy_(diagonal(*out, offset, first, second), self);
    return wrap(out);
  });
}

}  // namespace

void register_cuda_ranks() {
  register_native("kthvalue", native_kthvalue);
  register_native("median", native_median);
  register_native("nanmedian", native_nanmedian);
  register_native("mode", native_mode);
  register_native("take", native_take);
  register_native("vector_product", native_cross);
  register_native("polar", native_polar);
  register_native("diag_embed", native_diag_embed);
}

}  // namespace shim
