// Copies between tensors: with broadcasting, casts, overlapping memory, and across devices.
#include <algorithm>
#include <cstring>

#include "core/lazy_clone.h"
#include "core/math_bits.h"
#include "core/sparse.h"
#include "cpu/copy.h"
#include "cpu/copy_bits.h"
#include "cpu/creation.h"
#include "cpu/kernel_table.h"
#include "cpu/loops.h"
#include "cpu/parallel.h"
#include "ops/elements.h"
#include "ops/device_copy.h"

namespace shim {

namespace {

bool same_shape(IntArrayRef a, IntArrayRef b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

struct Extent {
  const char *begin, *end;
};
Extent extent(const TensorImpl& t) {
  const char* p = static_cast<const char*>(t.data());
  return {p, p + storage_bytes(t.sizes(), t.strides(), t.itemsize())};
}
}  // namespace

bool same_layout(const TensorImpl& a, const TensorImpl& b) {  // equal shape and strides, no holes
  if (!same_shape(a.sizes(), b.sizes())) return false;
  if (a.is_contiguous() && b.is_contiguous()) return true;
  return same_shape(a.strides(), b.strides()) && storage_bytes(a.sizes(), a.strides(), 1) == size_t(a.numel());
}

bool overlap(const TensorImpl& a, const TensorImpl& b) {
  Extent x = extent(a), y = extent(b);
  return x.begin < y.end && y.begin < x.end;
}

namespace {

void loop(void* context, char* const* data, const int64_t* steps, int64_t n) {
  (*static_cast<const Conversion*>(context))(data[1], steps[1], data[0], steps[0], n);
}

// A transpose by squares. A square is read row by row into a buffer and written row by row: either side is walked along its pages,
// not across them.
template <class T> bool transposed(const Nest& nest) {
  constexpr int64_t kTile = 32;
  if (nest.dims != 2 || nest.steps[0][0] != sizeof(T) || nest.steps[1][1] != sizeof(T) || nest.steps[1][0] == 0)
    return false;
  const int64_t cols = nest.sizes[0], rows = nest.sizes[1];
  if (cols < kTile || rows < kTile) return false;
  parallel_for(rows, std::max<int64_t>(kTile, kGrain / cols), [&](int64_t begin, int64_t end) {
    alignas(64) T square[kTile][kTile];
    for (int64_t r0 = begin; r0 < end; r0 += kTile) {
      const int64_t height = std::min(kTile, end - r0);
      for (int64_t c0 = 0; c0 < cols; c0 += kTile) {
        const int64_t width = std::min(kTile, cols - c0);
        for (int64_t c = 0; c < width; ++c)
          std::memcpy(square[c], nest.data[1] + r0 * int64_t(sizeof(T)) + (c0 + c) * nest.steps[1][0],
              size_t(height) * sizeof(T));
        for (int64_t r = 0; r < height; ++r) {
          T* to = reinterpret_cast<T*>(nest.data[0] + (r0 + r) * nest.steps[0][1]) + c0;
          for (int64_t c = 0; c < width; ++c) to[c] = square[c][r];
        }
      }
    }
  });
  return true;
}

// Short innermost loops change places with the next ones, a part of those that are so long that memory would be walked again from afar.
void lengthen(Nest& nest) {
  constexpr int64_t kShort = 8, kLong = 2048;
  if (nest.dims < 2 || nest.sizes[0] >= kShort || nest.sizes[1] <= nest.sizes[0]) return;
  int64_t part = nest.sizes[1], parts = 1;
  if (part > kLong || nest.dims == 2) {
    if (nest.dims == kMaxDims) return;
    for (part = std::min(kLong, part / 2); part >= 4 * kShort && nest.sizes[1] % part; --part) {}
    if (part < 4 * kShort) return;
    parts = nest.sizes[1] / part;
    for (int d = nest.dims++; d > 2; --d) {
      nest.sizes[d] = nest.sizes[d - 1];
      for (int k = 0; k < nest.operands; ++k) nest.steps[k][d] = nest.steps[k][d - 1];
    }
    nest.sizes[2] = parts;
    for (int k = 0; k < nest.operands; ++k) nest.steps[k][2] = nest.steps[k][1] * part;
    nest.sizes[1] = part;
  }
  std::swap(nest.sizes[0], nest.sizes[1]);
  for (int k = 0; k < nest.operands; ++k) std::swap(nest.steps[k][0], nest.steps[k][1]);
}

}  // namespace

void copy_cpu(const TensorImpl& self, const TensorImpl& src) {
  if (self.dtype() == src.dtype() && same_layout(self, src)) {
    char* to = static_cast<char*>(self.data());
    const char* from = static_cast<const char*>(src.data());
    const int64_t bytes = self.numel() * int64_t(self.itemsize());
    if (to == from) return;
    if (overlap(self, src))
      std::memmove(to, from, size_t(bytes));
    else
      parallel_for(bytes, 1 << 20, [&](int64_t b, int64_t e) { std::memcpy(to + b, from + b, size_t(e - b)); });
    return;
  }
  Operand operands[2] = {Operand::of(self), Operand::of(src)};
  Nest nest = make_nest(self.sizes(), operands, 2);
  if (self.dtype() == src.dtype()) {
    if (self.itemsize() == 4 && transposed<uint32_t>(nest)) return;
    if (self.itemsize() == 2 && transposed<uint16_t>(nest)) return;
    if (self.itemsize() == 8 && transposed<uint64_t>(nest)) return;
  }
  lengthen(nest);
  run_nest(nest, loop, const_cast<Conversion*>(converter(src.dtype(), self.dtype())));
}

void copy_parts(const Tensor& self, std::span<const TensorImpl* const> parts, int64_t dim) {
  int64_t start = 0;
  for (const TensorImpl* part : parts) {
    const int64_t size = part->sizes()[size_t(dim)];
    copy_(narrow(*self, dim, start, size), Tensor(const_cast<TensorImpl*>(part)));
    start += size;
  }
}

// What wrote a sparse result into a dense out read memory that a sparse tensor does not have.
[[noreturn]] static void refuse_sparse(const TensorImpl& self, const TensorImpl& src) {
  auto type = [](const TensorImpl& t) {
    return str(
        "torch.", t.device().is_cuda() ? "cuda." : "", is_sparse(t) ? "sparse." : "", scalar_name(t.dtype()), "Tensor");
  };
  fail(Kind::Runtime, "copy_() between dense and sparse Tensors is not implemented! Found self type = ", type(self),
      " and src type = ", type(src));
}

void copy_(const Tensor& self, const Tensor& src, bool non_blocking) {
  if (self.get() == src.get()) return;
  own_data(*self->storage());
  if (__builtin_expect(self->has_math_bits() || src->has_math_bits(), 0))
    return copy_through_math_bits(self, src, non_blocking);
  Tensor from = src;
  if (!same_shape(self->sizes(), src->sizes())) {
    Dims shape;
    try {
      shape = broadcast_shapes(self->sizes(), src->sizes());
    } catch (const Error&) { shape.clear(); }
    if (!same_shape(shape, self->sizes())) {
      broadcast_shapes(self->sizes(), src->sizes());  // throws if they do not fit at all
      fail(Kind::Runtime, "output with shape ", bracketed(self->sizes()), " doesn't match the broadcast shape ",
          bracketed(shape));
    }
    from = expand(*src, self->sizes());
  }
  if (self->numel() == 0 || self->device().is_meta()) return;
  if (__builtin_expect(is_sparse(*self) || is_sparse(*from), 0)) refuse_sparse(*self, *from);
  if (!self->device().is_cpu() || !src->device().is_cpu()) return copy_across(self, from, non_blocking);
  const bool same =
      self->data() == from->data() && self->dtype() == from->dtype() && same_shape(self->strides(), from->strides());
  if (same) return;
  if (overlap(*self, *from) && !(self->dtype() == from->dtype() && same_layout(*self, *from))) {
    Tensor apart = empty(from->sizes(), from->dtype(), from->device());
    copy_cpu(*apart, *from);
    from = apart;
  }
  copy_cpu(*self, *from);
}

Tensor scalar_tensor(Scalar value, DType dtype, Device device) {
  Tensor t = empty({}, dtype, Device{});
  store_number(t->data(), dtype, value);
  if (!device.is_cpu()) {
    Tensor moved = empty({}, dtype, device);
    copy_(moved, t);
    t = moved;
  }
  t->wrapped_number = true;
  return t;
}

// Memory for a copy that preserves the format: dense tensors keep their strides, those of dims of size 1 too.
static Tensor preserved(const Tensor& self, DType dtype) {
  const TensorImpl* like = self.get();
  const bool ones = std::ranges::find(self->sizes(), int64_t(1)) != self->sizes().end();
  if (ones && dense(*self)) return empty_strided(self->sizes(), self->strides(), dtype, self->device());
  return allocate_like(self->sizes(), &like, 1, dtype);
}

Tensor to_dtype(const Tensor& self, DType dtype) {
  Tensor out = self->device().is_cpu() ? preserved(self, dtype) : empty(self->sizes(), dtype, self->device());
  copy_(out, self);
  return out;
}

Tensor contiguous(const Tensor& self) {
  if (self->is_contiguous()) return self;
  return clone(self, MemoryFormat::contiguous);
}

Tensor clone(const Tensor& self, MemoryFormat format) {
  Tensor out;
  if (format == MemoryFormat::preserve) {
    out = preserved(self, self->dtype());
    if (!self->device().is_cpu()) out = empty_strided(out->sizes(), out->strides(), self->dtype(), self->device());
  } else {
    out = empty(self->sizes(), self->dtype(), self->device(), false, format);
  }
  copy_(out, self);
  return out;
}

Scalar item(const Tensor& self) {
  CHECK(Kind::Runtime, self->numel() == 1, "a Tensor with ", self->numel(), " elements cannot be converted to Scalar");
  Tensor host = resolved(self);
  if (!self->device().is_cpu()) {
    host = empty({}, self->dtype(), Device{});
    copy_(host, view(*self, {}));
  }
  return load_number(host->data(), self->dtype());
}

}  // namespace shim
