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
  Tensor out = empty_strided(self.sizes(), strides_in_order_of(self), self.dtype(), Device{});
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
  const Tensor found = unlocked(self->numel(), [&] { return flipped(*self, turned); });
  return found ? Outcome<Tensor>(found) : kWide;
}

Outcome<Tensor> repeat(const Tensor& self, IntArrayRef repeats) {
  if (self->has_math_bits()) return NotMine{"conjugate or negative bits"};
  Repeated r;
  if (!repeated(*self, {repeats.begin(), repeats.end()}, &r)) return NotMine{"nothing to repeat, or too many dims"};
  unlocked(r.out->numel(), [&] { copy_(r.to, r.from); });
  return r.out;
}

namespace {

Outcome<Tensor> triangle(const Tensor& self, int64_t diagonal, bool upper) {
  const int n = self->dim();
  if (self->has_math_bits()) return NotMine{"math bits"};
  if (n < 2) return NotMine{"fewer than two dims"};
  const UnlockedWork others_run(self->numel());
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

// The places of a triangle as (2, n), row by row.
Outcome<Tensor> triangle_indices(int64_t rows, int64_t cols, int64_t offset, bool upper, std::optional<DType> dtype,
    std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory) {
  if (dtype || layout || pin_memory.value_or(false)) return NotMine{"a dtype, a layout or pinned memory"};
  if (device && !device->is_cpu()) return NotMine{"another device than the CPU"};
  constexpr int64_t kMost = int64_t(1) << 30;
  if (rows < 0 || cols < 0 || rows > kMost || cols > kMost || std::abs(offset) > 2 * kMost)
    return NotMine{"sizes below 0 or beyond 30 bits"};
  std::vector<int64_t> down, across;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = upper ? std::max<int64_t>(r + offset, 0) : 0; c < (upper ? cols : std::min(r + offset + 1, cols));
        ++c)
      down.push_back(r), across.push_back(c);
  const Tensor out = empty(Dims{2, int64_t(down.size())}, DType::i64, Device{});
  std::copy(across.begin(), across.end(), std::copy(down.begin(), down.end(), out->data_as<int64_t>()));
  return out;
}

}  // namespace

Outcome<Tensor> tril(const Tensor& self, int64_t diagonal) { return triangle(self, diagonal, false); }
Outcome<Tensor> triu(const Tensor& self, int64_t diagonal) { return triangle(self, diagonal, true); }

Outcome<Tensor> tril_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype,
    std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory) {
  return triangle_indices(row, col, offset, false, dtype, layout, device, pin_memory);
}
Outcome<Tensor> triu_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype,
    std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory) {
  return triangle_indices(row, col, offset, true, dtype, layout, device, pin_memory);
}

Outcome<Tensor> diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  if (dim1 != -2 || dim2 != -1) return NotMine{"dims that are not the last two"};
  if (!self->dim()) return NotMine{"no dims"};
  if (self->has_math_bits()) return NotMine{"math bits"};
  if (std::abs(offset) > (int64_t(1) << 30)) return NotMine{"an offset beyond 30 bits"};
  Dims shape(self->sizes().begin(), self->sizes().end());
  shape.back() += std::abs(offset);
  shape.push_back(shape.back());
  const Tensor out = empty(shape, self->dtype(), Device{});
  const UnlockedWork others_run(out->numel());
  fill_(out, Scalar{Scalar::Int, 0});
  copy_(diagonal(*out, offset, int64_t(shape.size()) - 2, int64_t(shape.size()) - 1), self);
  return out;
}

Outcome<Tensor> complex(const Tensor& real, const Tensor& imag) {
  const DType t = real->dtype();
  if (imag->dtype() != t || (t != DType::f32 && t != DType::f64)) return NotMine{"dtypes other than one float"};
  if (!std::ranges::equal(real->sizes(), imag->sizes()) || !real->is_contiguous() || !imag->is_contiguous())
    return NotMine{"tensors of two shapes or not contiguous"};
  const Tensor out = empty(real->sizes(), t == DType::f32 ? DType::c64 : DType::c128, Device{});
  const UnlockedWork others_run(real->numel());
  const Tensor parts = view_as_real(*out);
  copy_(select(*parts, -1, 0), real);
  copy_(select(*parts, -1, 1), imag);
  return out;
}

}  // namespace shim
