// Operators that only move elements of CUDA tensors: flip; roll, whose copies are either device's.
#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/flip.h"
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
    if (!turned_dims(args[1], self, turned)) return nullptr;
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

}  // namespace

void register_cuda_moves() {
  register_native("flip", native_flip);
  register_native("roll", native_roll);
}

}  // namespace shim
