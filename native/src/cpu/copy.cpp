// Copies between tensors: with broadcasting, casts, overlapping memory, and across devices.
#include <algorithm>
#include <cstring>

#include "core/lazy_clone.h"
#include "core/math_bits.h"
#include "core/sparse.h"
#include "cpu/copy_bits.h"
#include "cpu/arange.h"
#include "cpu/kernel_table.h"
#include "cpu/loops.h"
#include "cpu/parallel.h"
#include "cuda/driver.h"
#include "cuda/elementwise.h"
#include "ops/kernels.h"
#include "ops/device_copy.h"

namespace shim {

void (*copy_on_device)(const Tensor& self, const Tensor& src) = nullptr;

namespace {

bool same_shape(DimSpan a, DimSpan b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

bool same_layout(const TensorImpl& a, const TensorImpl& b) {  // equal shape and strides, no holes
  if (!same_shape(a.sizes(), b.sizes())) return false;
  if (a.is_contiguous() && b.is_contiguous()) return true;
  return same_shape(a.strides(), b.strides()) && storage_bytes(a.sizes(), a.strides(), 1) == size_t(a.numel());
}

struct Extent {
  const char *begin, *end;
};
Extent extent(const TensorImpl& t) {
  const char* p = static_cast<const char*>(t.data());
  return {p, p + storage_bytes(t.sizes(), t.strides(), t.itemsize())};
}
bool overlap(const TensorImpl& a, const TensorImpl& b) {
  Extent x = extent(a), y = extent(b);
  return x.begin < y.end && y.begin < x.end;
}

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

void copy_across(const Tensor& self, const Tensor& src, bool non_blocking) {
  CHECK(Kind::NotImplemented, !src->device().is_meta(), "Cannot copy out of meta tensor; no data!");
  const bool from_cpu = src->device().is_cpu(), to_cpu = self->device().is_cpu();
  if (!from_cpu && !to_cpu && (self->device() == src->device()) &&
      !(self->dtype() == src->dtype() && same_layout(*self, *src))) {
    if (overlap(*self, *src)) {  // other elements would be read after they are written
      Tensor apart = empty(src->sizes(), src->dtype(), src->device());
      copy_across(apart, src, true);
      return copy_across(self, apart, true);
    }
    if (cuda::copy_elementwise(self, src)) return;
    CHECK(Kind::NotImplemented, copy_on_device, "copy_: strided or casting copies on ", to_string(self->device()),
        " need CuPy");
    return copy_on_device(self, src);
  }
  if (self->dtype() == src->dtype() && same_layout(*self, *src)) {
    CHECK(Kind::NotImplemented, Storage::copy_device, "copy_: no CUDA driver is loaded");
    const size_t bytes = size_t(self->numel()) * self->itemsize();
    if (!from_cpu && !to_cpu && self->device() != src->device())
      return cuda::copy_between(self->data(), self->device().index, src->data(), src->device().index, bytes);
    Device where = to_cpu ? src->device() : self->device();
    Storage::copy_device(self->data(), src->data(), bytes, where);
    // The driver may still read host memory after the call, always where it is pinned and at times where it is not: who did
    // not ask for that may change or free it now.
    if ((from_cpu || to_cpu) && !non_blocking)
      cuda::check(cuda::driver().stream_synchronize(cuda::current_stream(where.index)), "cuStreamSynchronize");
    return;
  }
  // Cast and spread on the host side of a transfer, or on the device when only its tensor is strided.
  if (from_cpu) {
    Tensor host = empty(self->sizes(), self->dtype(), src->device());
    copy_cpu(*host, *src);
    if (self->is_contiguous()) return copy_across(self, host, false);
    Tensor there = empty(self->sizes(), self->dtype(), self->device());
    copy_across(there, host, false);
    return copy_across(self, there, false);
  }
  Tensor packed = src;
  if (!src->is_contiguous()) {
    packed = empty(src->sizes(), src->dtype(), src->device());
    copy_across(packed, src, false);
  }
  Tensor moved = empty(src->sizes(), src->dtype(), self->device());
  copy_across(moved, packed, false);
  copy_(self, moved);
}

}  // namespace

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

// Elements that the driver's memset can write: 1, 2 or 4 bytes, or 8 and 16 whose words are all the same.
static bool fill_on_device(const Tensor& self, Number value) {
  if (!dense(*self)) return false;
  alignas(16) unsigned char element[16];
  store_number(element, self->dtype(), value);
  int size = int(self->itemsize());
  int64_t count = self->numel();
  if (size > 4) {
    for (int i = 4; i < size; i += 4)
      if (std::memcmp(element, element + i, 4) != 0) return false;
    count *= size / 4;
    size = 4;
  }
  cuda::fill_bytes(self->data(), element, size, size_t(count), cuda::current_stream(self->device().index));
  return true;
}

namespace {

template <class T> SHIM_MATH_CLONES void fill_words(T value, T* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = value;
}
template <class T> void fill_as(const void* element, void* to, int64_t n) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  fill_words(value, static_cast<T*>(to), n);
}

// Elements of a block are counted in 32 bits, which every processor converts in vectors.
template <class T> SHIM_CLONES void range_words(double first, double step, T* to, int64_t begin, int64_t end) {
  for (int64_t at = begin; at < end; at += 1024) {
    const int32_t n = int32_t(std::min<int64_t>(1024, end - at));
    if constexpr (std::is_integral_v<T>) {
      const T base = T(int64_t(first) + int64_t(step) * at), by = T(int64_t(step));
      for (int32_t k = 0; k < n; ++k) to[at + k] = T(base + by * T(k));
    } else {
      const double base = double(at);
      for (int32_t k = 0; k < n; ++k) to[at + k] = T((base + double(k)) * step + first);
    }
  }
}

}  // namespace

void fill_range(const Tensor& out, double first, double step) {
  auto run = [&]<class T>(T* to) {
    parallel_for(out->numel(), kGrain, [&](int64_t begin, int64_t end) { range_words(first, step, to, begin, end); });
  };
  switch (out->dtype()) {
    case DType::i32: return run(out->data_as<int32_t>());
    case DType::i64: return run(out->data_as<int64_t>());
    case DType::f32: return run(out->data_as<float>());
    default: return run(out->data_as<double>());
  }
}

void fill_packed(const void* element, void* to, size_t size, int64_t n) {
  auto* bytes = static_cast<const unsigned char*>(element);
  if (size == 1 || std::all_of(bytes, bytes + size, [&](unsigned char b) { return b == bytes[0]; })) {
    std::memset(to, bytes[0], size_t(n) * size);
  } else if (size == 2) {
    fill_as<uint16_t>(element, to, n);
  } else if (size == 4) {
    fill_as<uint32_t>(element, to, n);
  } else if (size == 8) {
    fill_as<uint64_t>(element, to, n);
  } else {
    for (int64_t i = 0; i < n; ++i) std::memcpy(static_cast<char*>(to) + size_t(i) * size, element, size);
  }
}

void fill_(const Tensor& self, Number value) {
  check_fits(value, self->dtype());
  own_data(*self->storage());
  value = number_in_memory(*self, value);
  if (self->numel() == 0 || self->device().is_meta()) return;
  if (!self->device().is_cpu()) {
    if (fill_on_device(self, value)) return;
    Tensor one = scalar_tensor(value, self->dtype(), Device{});
    return copy_(self->has_math_bits() ? without_math_bits(*self) : self, one);
  }
  alignas(16) char element[16];
  store_number(element, self->dtype(), value);
  Operand operands[2] = {Operand::of(*self), {element, self->dtype(), {}, {}}};
  run_nest(
      make_nest(self->sizes(), operands, 2), loop, const_cast<Conversion*>(converter(self->dtype(), self->dtype())));
}

Tensor scalar_tensor(Number value, DType dtype, Device device) {
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

Number item(const Tensor& self) {
  CHECK(Kind::Runtime, self->numel() == 1, "a Tensor with ", self->numel(), " elements cannot be converted to Scalar");
  Tensor host = resolved(self);
  if (!self->device().is_cpu()) {
    host = empty({}, self->dtype(), Device{});
    copy_(host, view(*self, {}));
  }
  Number n;
  const DType t = self->dtype();
  const char* p = static_cast<const char*>(host->data());
  if (is_integral(t, true)) {
    n.type = t == DType::b8 ? Number::Bool : Number::Int;
    (*converter(t, DType::i64))(p, 0, reinterpret_cast<char*>(&n.i), 8, 1);
  } else {
    n.type = is_complex(t) ? Number::Complex : Number::Float;
    n.f = load_as_double(p, t);
    if (is_complex(t)) n.imag = load_as_double(p + itemsize(t) / 2, t);
  }
  return n;
}

}  // namespace shim
