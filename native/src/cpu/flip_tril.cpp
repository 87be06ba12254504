#include "cpu/flip_tril.h"

#include <algorithm>
#include <cstring>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "ops/kernels.h"

namespace shim {
namespace {

template <class T> SHIM_CLONES void backwards(const T* from, T* to, int64_t n) {  // `from` is the last element
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = from[-i];
}

template <class T> void flip_loop(void*, char* const* data, const int64_t* steps, int64_t n) {
  constexpr int64_t size = sizeof(T);
  if (steps[0] == size && steps[1] == -size)
    return backwards(reinterpret_cast<const T*>(data[1]), reinterpret_cast<T*>(data[0]), n);
  if (steps[0] == size && steps[1] == size) {
    std::memcpy(data[0], data[1], size_t(n * size));
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    *reinterpret_cast<T*>(data[0] + i * steps[0]) = *reinterpret_cast<const T*>(data[1] + i * steps[1]);
}

}  // namespace

Tensor flip(const TensorImpl& self, const bool* turned) {
  if (!self.device().is_cpu() || self.has_math_bits()) return {};
  Tensor out = empty(self.sizes(), self.dtype(), Device{});
  if (!self.numel()) return out;
  Dims strides(self.strides().begin(), self.strides().end());
  char* data = static_cast<char*>(const_cast<void*>(static_cast<const void*>(self.data())));
  for (int d = 0; d < self.dim(); ++d) {
    if (!turned[d]) continue;
    data += (self.sizes()[d] - 1) * strides[size_t(d)] * int64_t(self.itemsize());
    strides[size_t(d)] = -strides[size_t(d)];
  }
  LoopFn loop = nullptr;
  switch (self.itemsize()) {
    case 1: loop = flip_loop<uint8_t>; break;
    case 2: loop = flip_loop<uint16_t>; break;
    case 4: loop = flip_loop<uint32_t>; break;
    case 8: loop = flip_loop<uint64_t>; break;
    default: return {};
  }
  const Operand operands[2] = {Operand::of(*out), {data, self.dtype(), self.sizes(), strides}};
  run_nest(make_nest(out->sizes(), operands, 2), loop, nullptr);
  return out;
}

Tensor triangle(const Tensor& self, int64_t diagonal, bool upper) {
  const int n = self->dim();
  if (!self->device().is_cpu() || self->has_math_bits() || n < 2) return {};
  const Tensor from = contiguous(self);
  Tensor out = empty(self->sizes(), self->dtype(), Device{});
  const int64_t rows = self->sizes()[n - 2], cols = self->sizes()[n - 1], size = int64_t(self->itemsize());
  if (!out->numel()) return out;
  const char* x = static_cast<const char*>(from->data());
  char* y = static_cast<char*>(out->data());
  parallel_for(out->numel() / cols, std::max<int64_t>(1, kGrain / cols), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      // tril keeps columns up to r + diagonal, triu those from there on.
      const int64_t edge = std::clamp<int64_t>(r % rows + diagonal + (upper ? 0 : 1), 0, cols) * size,
                    at = r * cols * size, all = cols * size;
      if (upper)
        std::memset(y + at, 0, size_t(edge)), std::memcpy(y + at + edge, x + at + edge, size_t(all - edge));
      else
        std::memcpy(y + at, x + at, size_t(edge)), std::memset(y + at + edge, 0, size_t(all - edge));
    }
  });
  return out;
}

}  // namespace shim
