#include "cpu/flip_tril.h"

#include <algorithm>
#include <cstring>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "ops/moves.h"
#include "ops/repeat.h"

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

// turned[d]: whether dim d runs backwards. Null: elements of a size that there is no loop for.
Tensor flipped(const TensorImpl& self, const bool* turned) {
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

}  // namespace

Outcome<Tensor> flip(const Tensor& self, IntArrayRef dims) {
  constexpr NotMine kWide{"elements of 16 bytes"};
  bool turned[kMaxDims] = {};
  if (!mark_dims(dims, *self, turned)) return NotMine{"no dims, or dims out of range or given twice"};
  if (self->has_math_bits()) return NotMine{"conjugate or negative bits"};
  const Dims order = channels_last_order(*self);
  if (order.empty()) {
    const Tensor found = unlocked(self->numel(), [&] { return flipped(*self, turned); });
    return found ? Outcome<Tensor>(found) : kWide;
  }
  bool moved[kMaxDims] = {};
  for (size_t i = 0; i < order.size(); ++i) moved[i] = turned[order[i]];
  const Tensor last = permute(*self, order);
  const Tensor found = unlocked(self->numel(), [&] { return flipped(*last, moved); });
  return found ? Outcome<Tensor>(permute(*found, inverse_permutation(order))) : kWide;
}

Outcome<Tensor> repeat(const Tensor& self, IntArrayRef repeats) {
  if (self->has_math_bits()) return NotMine{"conjugate or negative bits"};
  Repeated r;
  if (!repeated(*self, {repeats.begin(), repeats.end()}, &r)) return NotMine{"nothing to repeat, or too many dims"};
  unlocked(r.out->numel(), [&] { copy_(r.to, r.from); });
  return r.out;
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
