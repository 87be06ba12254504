// Operators that only move elements of CUDA tensors: flip and roll.
#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/flip.h"
#include "python/native_ops.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

bool on_cuda(PyObject* o) { return is_tensor(o) && unwrap(o)->device().is_cuda(); }

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

// roll(self, shifts, dims): two parts of each dimension change places.
PyObject* native_roll(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !on_cuda(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    Dims shifts, dims;
    if (!dims_of(args[1], &shifts) || !dims_of(args[2], &dims) || shifts.empty() || !self->numel()) return nullptr;
    const bool flat = dims.empty();
    if (flat ? shifts.size() != 1 : shifts.size() != dims.size()) return nullptr;
    Tensor now = flat ? view(*contiguous(self), Dims{self->numel()}) : self;
    for (size_t i = 0; i < shifts.size(); ++i) {
      int64_t d = flat ? 0 : dims[i];
      if (d < -now->dim() || d >= now->dim()) return nullptr;
      if (d < 0) d += now->dim();
      const int64_t size = now->sizes()[size_t(d)], start = ((size - shifts[i] % size) % size + size) % size;
      if (start == 0) continue;
      Tensor next = empty(now->sizes(), now->dtype(), now->device());
      if (!cuda::copy_elementwise(slice(*next, d, 0, size - start, 1), slice(*now, d, start, size, 1))) return nullptr;
      if (!cuda::copy_elementwise(slice(*next, d, size - start, size, 1), slice(*now, d, 0, start, 1))) return nullptr;
      now = next;
    }
    if (flat) now = view(*contiguous(now), self->sizes());
    if (now.get() == self.get() || now->data() == self->data()) now = clone(now, MemoryFormat::contiguous);
    return wrap(now);
  });
}

}  // namespace

void register_cuda_moves() {
  register_native("flip", native_flip);
  register_native("roll", native_roll);
}

}  // namespace shim
