#include "core/tensor.h"

#include <algorithm>
#include <cstring>

#include "core/extent.h"
#include "core/warning.h"

namespace shim {

namespace {

bool row_major(IntArrayRef sizes, IntArrayRef strides) {
  int64_t expected = 1;
  for (int64_t n : sizes)
    if (n == 0) return true;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

bool channels_last(IntArrayRef sizes, IntArrayRef strides) {
  if (sizes.size() < 4) return false;
  int64_t expected = 1;
  auto follows = [&](size_t d) {
    if (sizes[d] != 1) {
      if (strides[d] != expected) return false;
      expected *= sizes[d];
    }
    return true;
  };
  if (!follows(1)) return false;
  for (size_t d = sizes.size() - 1; d >= 2; --d)
    if (!follows(d)) return false;
  return follows(0);
}

}  // namespace

constinit thread_local uint8_t gradient_transforms = 0;

TensorImpl::TensorImpl(Ref<Storage> storage, DType dtype, IntArrayRef sizes, IntArrayRef strides, int64_t offset)
    : is_inference(creating_inference_tensors()),
      storage_(std::move(storage)),
      dtype_(dtype),
      device_(storage_->device()) {
  set_geometry(sizes, strides, offset);
}

TensorImpl::TensorImpl(Ref<Storage> storage, DType dtype, const Geometry& g)
    : is_inference(creating_inference_tensors()),
      storage_(std::move(storage)),
      numel_(g.numel),
      offset_(g.offset),
      dtype_(dtype),
      device_(storage_->device()),
      ndim_(uint8_t(g.dims.size() / 2)),
      contiguous_(g.contiguous) {
  int64_t* to = inline_;
  if (ndim_ > kInlineDims) to = (heap_ = std::make_unique<int64_t[]>(g.dims.size())).get();
  std::copy(g.dims.begin(), g.dims.end(), to);
}

void TensorImpl::set_geometry(IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  size_t n = sizes.size();
  CHECK(Kind::Runtime, n <= size_t(kMaxDims), "tensors of more than ", kMaxDims, " dimensions are not supported, got ",
      n);
  std::unique_ptr<int64_t[]> heap;
  int64_t local[2 * kInlineDims];
  int64_t* to = local;
  if (n > size_t(kInlineDims)) {
    heap = std::make_unique<int64_t[]>(2 * n);
    to = heap.get();
  }
  int64_t numel = 1;
  for (size_t i = 0; i < n; ++i) {  // the spans may point into this very tensor
    to[i] = sizes[i];
    to[n + i] = strides[i];
    CHECK(Kind::Runtime, !__builtin_mul_overflow(numel, sizes[i], &numel), "numel: integer multiplication overflow");
  }
  contiguous_ = row_major({to, n}, {to + n, n});
  if (to == local) std::memcpy(inline_, local, 2 * n * sizeof(int64_t));
  heap_ = std::move(heap);
  ndim_ = uint8_t(n);
  numel_ = numel;
  offset_ = offset;
}

void* TensorImpl::checked_address() const {
  storage_->data();  // what is deferred runs
  if (!storage_->shrunk() || !numel_ || device_.is_meta()) return address();
  check_not_overwritten(*storage_);
  CHECK(Kind::Runtime, storage_->nbytes(),
      "The tensor has a non-zero number of elements, but its data is not allocated yet.\n"
      "If you're using torch.compile/export/fx, it is likely that we are erroneously tracing into a custom kernel. To "
      "fix this, please wrap the "
      "custom kernel into an opaque custom op. Please see the following for details: "
      "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html\n"
      "If you're using Caffe2, Caffe2 uses a lazy allocation, so you will need to call mutable_data() or "
      "raw_mutable_data() to actually allocate "
      "memory.");
  check_within(*storage_, sizes(), strides(), offset_, itemsize());
  return address();
}

int64_t TensorImpl::size(int64_t d) const { return sizes_data()[wrap_dim(d, ndim_)]; }
int64_t TensorImpl::stride(int64_t d) const { return strides_data()[wrap_dim(d, ndim_)]; }

bool TensorImpl::is_contiguous(MemoryFormat f) const {
  switch (f) {
    case MemoryFormat::channels_last: return ndim_ == 4 && channels_last(sizes(), strides());
    case MemoryFormat::channels_last_3d: return ndim_ == 5 && channels_last(sizes(), strides());
    default: return contiguous_;
  }
}

MemoryFormat suggest_memory_format(const TensorImpl& t) {
  if (t.dim() != 4 && t.dim() != 5) return MemoryFormat::contiguous;
  const IntArrayRef sizes = t.sizes(), strides = t.strides();
  if (strides[1] == 0) return MemoryFormat::contiguous;  // ambiguous: one channel
  int64_t least = 0;
  const size_t n = sizes.size();
  for (size_t i = 0; i < n; ++i) {
    const size_t d = i == 0 ? 1 : i == n - 1 ? 0 : n - i;  // channels, then the others from the innermost on
    if (sizes[d] == 0 || strides[d] < least || (d == 0 && least == strides[1])) return MemoryFormat::contiguous;
    least = strides[d] * std::max<int64_t>(sizes[d], 1);
  }
  return t.dim() == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d;
}

MemoryFormat common_memory_format(std::span<const TensorImpl* const> tensors) {
  const MemoryFormat format = suggest_memory_format(*tensors[0]);
  if (format == MemoryFormat::contiguous) return format;
  for (const TensorImpl* t : tensors)
    if (suggest_memory_format(*t) != format) return MemoryFormat::contiguous;
  return format;
}

namespace {
void told_of(DType dtype) {
  static bool given = false;
  if (__builtin_expect(dtype == DType::c32, 0))
    warn_user_once(given, "ComplexHalf support is experimental and many operators don't support it yet.");
}
}  // namespace

Tensor empty(IntArrayRef sizes, DType dtype, Device device, bool pinned, MemoryFormat format) {
  told_of(dtype);
  CHECK(Kind::NotImplemented, !is_quantized(dtype), "tensors of the quantized type torch.", dtype_name(dtype),
      " are not supported by shim-torch");
  int64_t stack[8], step = 1;
  bool too_long = false;
  Dims heap;
  int64_t* strides = stack;
  for (int64_t n : sizes)
    CHECK(Kind::Runtime, n >= 0, "Trying to create tensor with negative dimension ", n, ": ", bracketed(sizes));
  if (format == MemoryFormat::channels_last || format == MemoryFormat::channels_last_3d) {
    heap = channels_last_strides(sizes);
    strides = heap.data();
  } else {
    if (sizes.size() > 8) {
      heap.resize(sizes.size());
      strides = heap.data();
    }
    for (size_t i = sizes.size(); i-- > 0;) {
      strides[i] = step;
      too_long |= __builtin_mul_overflow(step, std::max<int64_t>(sizes[i], 1), &step) && i > 0;
    }
  }
  int64_t numel = 1, bytes = 0;
  for (int64_t n : sizes)
    CHECK(Kind::Runtime, !__builtin_mul_overflow(numel, n, &numel),
        "Storage size calculation overflowed with sizes=", bracketed(sizes));
  CHECK(Kind::Runtime, !__builtin_mul_overflow(numel, int64_t(itemsize(dtype)), &bytes),
      "Storage size calculation overflowed with sizes=", bracketed(sizes));
  CHECK(Kind::Runtime, !too_long, "Stride calculation overflowed");
  return Tensor(new TensorImpl(allocate(size_t(bytes), device, pinned), dtype, sizes, {strides, sizes.size()}, 0));
}

Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, DType dtype, Device device, bool pinned) {
  told_of(dtype);
  CHECK(Kind::Runtime, sizes.size() == strides.size(), "dimensionality of sizes (", sizes.size(),
      ") must match dimensionality of strides (", strides.size(), ")");
  for (int64_t n : sizes)
    CHECK(Kind::Runtime, n >= 0, "Trying to create tensor with negative dimension ", n, ": ", bracketed(sizes));
  for (int64_t s : strides) CHECK(Kind::Runtime, s >= 0, "negative strides are not supported: ", bracketed(strides));
  return Tensor(new TensorImpl(
      allocate(storage_bytes(sizes, strides, itemsize(dtype)), device, pinned), dtype, sizes, strides, 0));
}

}  // namespace shim
