// Operators that only move elements of CUDA tensors: flip, take, diag_embed; roll, which serves CPU tensors too.
#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/flip.h"
#include "cuda/gather.h"
#include "ops/moves.h"
#include "python/native_cuda.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

DType word_of(size_t bytes) {
  constexpr DType words[] = {DType::u8, DType::u16, DType::u32, DType::u64, DType::c128};
  return words[__builtin_ctz(unsigned(bytes))];
}

// flip(self, dims): a copy whose source is read backwards.
PyObject* native_flip(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !on_cuda(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    const TensorImpl& self = *unwrap(args[0]);
    bool turned[kMaxDims] = {};
    Dims dims;
    if (!dims_of(args[1], &dims) || !mark_dims(dims, self, turned)) return nullptr;
    if (const Tensor rows = cuda::flip_rows(self, turned)) return wrap(rows);
    Tensor out = empty(self.sizes(), self.dtype(), self.device());
    if (!self.numel()) return wrap(out);
    const DType word = word_of(self.itemsize());
    Dims strides(self.strides().begin(), self.strides().end());
    char* data = static_cast<char*>(const_cast<void*>(static_cast<const void*>(self.data())));
    for (int d = 0; d < self.dim(); ++d) {
      if (!turned[d]) continue;
      data += (self.sizes()[size_t(d)] - 1) * strides[size_t(d)] * int64_t(self.itemsize());
      strides[size_t(d)] = -strides[size_t(d)];
    }
    cuda::Elementwise e{"copy", word, word, 2, {Operand::of(*out), Operand{data, word, self.sizes(), strides}}};
    e.operands[0].dtype = word;
    return cuda::run_elementwise(e, out->sizes(), self.device().index) ? wrap(out) : nullptr;
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
    fill_(out, Scalar{});
    copy_(diagonal(*out, offset, first, second), self);
    return wrap(out);
  });
}

}  // namespace

void register_cuda_rearrange() {
  register_native("flip", native_flip);
  register_native("take", native_take);
  register_native("diag_embed", native_diag_embed);
}

}  // namespace shim
