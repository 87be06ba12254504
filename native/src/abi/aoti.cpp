// The functions of torch/csrc/inductor/aoti_torch/c/shim.h and shim_deprecated.h that compiled models call: views, copies
// and a few operators, most of which the stable ABI leaves to torch_call_dispatcher.
#include <complex>
#include <utility>

#include "abi/aten_call.h"
#include "autograd/autograd.h"

using namespace shim;
using namespace shim::abi;

SHIM_EXPORT Err aoti_torch_item_bool(Handle, bool*);

namespace {

// Another tensor on the storage of `base`, as _reinterpret_tensor and as_strided make; no gradient flows through it.
Handle on_storage(TensorImpl& base, DType dtype, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  for (int64_t n : sizes) CHECK(Kind::Runtime, n >= 0, "negative size ", n);
  const size_t wanted = storage_bytes(sizes, strides, itemsize(dtype)) + size_t(offset) * itemsize(dtype);
  CHECK(Kind::Runtime, base.storage()->nbytes() >= wanted || product(sizes) == 0, "a view of ", wanted,
      " bytes on a storage of ", base.storage()->nbytes());
  return make<TensorImpl>(base.storage(), dtype, sizes, strides, offset).detach();
}

struct Owned {  // a handle for the time of a call
  Handle h = nullptr;
  ~Owned() {
    if (is_defined(h)) h->release();
  }
};

void must(Err e) {
  if (e) fail(Kind::Runtime, last_error());
}

struct alignas(8) Complex64 {
  float real, imag;
};
struct alignas(16) Complex128 {
  double real, imag;
};

template <class T> Err scalar(T value, DType dtype, Handle* result) {
  return caught([&] {
    Tensor t = empty({}, dtype, Device{});
    *static_cast<T*>(t->data()) = value;
    *result = t.detach();
  });
}

}  // namespace

// --- views and copies -------------------------------------------------------------------------------------------------
SHIM_EXPORT Err aoti_torch__reinterpret_tensor(
    Handle self, int64_t ndim, const int64_t* sizes, const int64_t* strides, int64_t offset, Handle* result) {
  return caught([&] {
    TensorImpl& t = tensor_of(self);
    CHECK(Kind::Runtime, ndim >= 0 && ndim <= kMaxDims, "_reinterpret_tensor: ", ndim, " dimensions");
    *result = on_storage(t, t.dtype(), {sizes, size_t(ndim)}, {strides, size_t(ndim)}, t.storage_offset() + offset);
  });
}
SHIM_EXPORT Err aoti_torch__alloc_from_pool(Handle self, int64_t offset_bytes, int32_t dtype, int64_t ndim,
    const int64_t* sizes, const int64_t* strides, Handle* result) {
  return caught([&] {
    TensorImpl& t = tensor_of(self);
    const DType type = make_dtype(dtype);
    CHECK(Kind::Runtime, ndim >= 0 && ndim <= kMaxDims, "_alloc_from_pool: ", ndim, " dimensions");
    CHECK(Kind::Runtime, t.storage_offset() == 0 && offset_bytes % int64_t(itemsize(type)) == 0,
        "_alloc_from_pool: offset ", offset_bytes, " is no multiple of the element's size");
    *result =
        on_storage(t, type, {sizes, size_t(ndim)}, {strides, size_t(ndim)}, offset_bytes / int64_t(itemsize(type)));
  });
}
SHIM_EXPORT Err aoti_torch_as_strided(Handle self, const int64_t* sizes, const int64_t* strides, Handle* result) {
  int64_t n = 0;
  if (Err e = caught([&] { n = tensor_of(self).dim(); })) return e;
  return aten("aten::as_strided", "", self, sizes, n, strides, n, static_cast<int64_t*>(nullptr), result);
}
SHIM_EXPORT Err aoti_torch_view_as_real(Handle self, Handle* result) {
  return aten("aten::view_as_real", "", self, result);
}
SHIM_EXPORT Err aoti_torch_view_dtype(Handle self, int32_t dtype, Handle* result) {
  return aten("aten::view", "dtype", self, dtype, result);
}
SHIM_EXPORT Err aoti_torch_clone(Handle self, Handle* result) {
  return aten("aten::clone", "", self, static_cast<int32_t*>(nullptr), result);
}
SHIM_EXPORT Err aoti_torch_clone_preserve_strides(Handle self, Handle* result) {
  return caught([&] {  // overlapping elements stay overlapping: the memory is copied, not the elements
    TensorImpl& t = tensor_of(self);
    const IntArrayRef sizes = t.sizes(), strides = t.strides();
    const int64_t n = int64_t(storage_bytes(sizes, strides, t.itemsize()) / t.itemsize()), one = 1;
    Owned flat{on_storage(t, t.dtype(), {&n, 1}, {&one, 1}, t.storage_offset())}, copy;
    must(aoti_torch_clone(flat.h, &copy.h));
    *result = on_storage(*copy.h, t.dtype(), sizes, strides, 0);
  });
}
SHIM_EXPORT Err aoti_torch_copy_(Handle self, Handle source, int32_t non_blocking) {
  return aten("aten::copy_", "", self, source, non_blocking);
}
SHIM_EXPORT Err aoti_torch_tensor_copy_(Handle source, Handle target) { return aoti_torch_copy_(target, source, 0); }
SHIM_EXPORT Err aoti_torch_zero_(Handle self) { return aten("aten::zero_", "", self); }

// A handle here is the tensor itself, not a cell that holds one: the target takes over the geometry and the storage.
SHIM_EXPORT Err aoti_torch_assign_tensors(Handle source, Handle target) {
  return caught([&] {
    TensorImpl &from = tensor_of(source), &to = tensor_of(target);
    if (&from == &to) return;
    CHECK(Kind::Runtime, !to.requires_grad(), "aoti_torch_assign_tensors: the tensor to replace requires a gradient");
    to.set_storage(from.storage());
    to.set_dtype(from.dtype());
    to.set_geometry(from.sizes(), from.strides(), from.storage_offset());
  });
}
SHIM_EXPORT Err aoti_torch_assign_tensors_out(Handle source, Handle* result) {
  return caught([&] { *result = alias(tensor_of(source)).detach(); });
}

SHIM_EXPORT Err aoti_torch_empty_strided_pinned(int64_t ndim, const int64_t* sizes, const int64_t* strides,
    int32_t dtype, int32_t device_type, int32_t device_index, Handle* result) {
  const int32_t pinned = 1;
  return aten("aten::empty_strided", "", sizes, ndim, strides, ndim, &dtype, static_cast<int32_t*>(nullptr),
      &device_type, device_index, &pinned, result);
}
SHIM_EXPORT Err aoti_torch_scalar_to_tensor_complex64(Complex64 value, Handle* result) {
  return scalar(value, DType::c64, result);
}
SHIM_EXPORT Err aoti_torch_scalar_to_tensor_complex128(Complex128 value, Handle* result) {
  return scalar(value, DType::c128, result);
}

SHIM_EXPORT Err aoti_torch_check_inf_and_nan(const char* name, Handle self) {
  return caught([&] {
    for (const auto& [ask, what] : {std::pair{"aten::isinf", "INF"}, {"aten::isnan", "NaN"}}) {
      Owned where, any;
      bool found = false;
      must(aten(ask, "", self, &where.h));
      must(aten("aten::any", "", where.h, &any.h));
      must(aoti_torch_item_bool(any.h, &found));
      CHECK(Kind::Runtime, !found, "At least one ", what, " in ", name);
    }
  });
}

// --- operators --------------------------------------------------------------------------------------------------------
SHIM_EXPORT Err aoti_torch_mm_out(Handle out, Handle self, Handle other) {
  return aten("aten::mm", "out", out, self, other);
}
SHIM_EXPORT Err aoti_torch_bmm_out(Handle out, Handle self, Handle other) {
  return aten("aten::bmm", "out", out, self, other);
}
SHIM_EXPORT Err aoti_torch_addmm_out(Handle out, Handle self, Handle a, Handle b, float beta, float alpha) {
  return aten("aten::addmm", "out", out, self, a, b, beta, alpha);
}
SHIM_EXPORT Err aoti_torch__mm_plus_mm_out(Handle out, Handle a, Handle b, Handle c, Handle d) {
  if (Err e = aoti_torch_mm_out(out, a, b)) return e;
  return aten("aten::addmm_", "", out, c, d, 1.0, 1.0);
}
SHIM_EXPORT Err aoti_torch_nonzero(Handle self, Handle* result) { return aten("aten::nonzero", "", self, result); }
SHIM_EXPORT Err aoti_torch_repeat_interleave_Tensor(Handle repeats, int64_t* output_size, Handle* result) {
  return aten("aten::repeat_interleave", "Tensor", repeats, output_size, result);
}
SHIM_EXPORT Err aoti_torch__fft_c2c(
    Handle self, const int64_t* dim, int64_t n, int64_t normalization, int32_t forward, Handle* result) {
  return aten("aten::_fft_c2c", "", self, dim, n, normalization, forward, result);
}
SHIM_EXPORT Err aoti_torch_scatter_out(Handle out, Handle self, int64_t dim, Handle index, Handle source) {
  return aten("aten::scatter", "src_out", out, self, dim, index, source);
}
SHIM_EXPORT Err aoti_torch_scatter_reduce_out(
    Handle out, Handle self, int64_t dim, Handle index, Handle source, const char* reduce, int32_t include_self) {
  return aten("aten::scatter_reduce", "two_out", out, self, dim, index, source, reduce, include_self);
}
SHIM_EXPORT Err aoti_torch_index_put_out(
    Handle out, Handle self, const Handle* indices, uint32_t n, Handle values, bool accumulate) {
  std::vector<const Handle*> places(n);  // an index that is not given is a null handle here, a null pointer there
  for (uint32_t i = 0; i < n; ++i) places[i] = is_defined(indices[i]) ? &indices[i] : nullptr;
  Owned put;
  if (Err e = aten("aten::index_put", "", self, places.data(), int64_t(n), values, int32_t(accumulate), &put.h))
    return e;
  const int64_t* sizes = put.h->sizes_data();
  if (Err e = aten("aten::resize_", "", out, sizes, int64_t(put.h->dim()), static_cast<int32_t*>(nullptr))) return e;
  return aoti_torch_copy_(out, put.h, 0);
}
SHIM_EXPORT Err aoti_torch_convolution(Handle input, Handle weight, Handle bias, const int64_t* stride, int64_t strides,
    const int64_t* padding, int64_t paddings, const int64_t* dilation, int64_t dilations, int transposed,
    const int64_t* output_padding, int64_t output_paddings, int64_t groups, Handle* result) {
  return aten("aten::convolution", "", input, weight, &bias, stride, strides, padding, paddings, dilation, dilations,
      transposed, output_padding, output_paddings, groups, result);
}
SHIM_EXPORT Err aoti_torch__embedding_bag(Handle weight, Handle indices, Handle offsets, int32_t scale_grad_by_freq,
    int32_t mode, int32_t sparse, Handle per_sample_weights, int32_t include_last_offset, int32_t padding_idx,
    Handle* a, Handle* b, Handle* c, Handle* d) {
  return aten("aten::_embedding_bag", "", weight, indices, offsets, scale_grad_by_freq, mode, sparse,
      &per_sample_weights, include_last_offset, padding_idx, a, b, c, d);
}
SHIM_EXPORT Err aoti_torch__scaled_mm_v2(Handle self, Handle other, Handle scale_a, Handle scale_b, Handle bias,
    Handle scale_result, int32_t* out_dtype, int8_t use_fast_accum, Handle* result) {
  return aten(
      "aten::_scaled_mm", "", self, other, scale_a, scale_b, &bias, &scale_result, out_dtype, use_fast_accum, result);
}

// --- attention --------------------------------------------------------------------------------------------------------
SHIM_EXPORT Err aoti_torch__scaled_dot_product_flash_attention_v2(Handle query, Handle key, Handle value,
    double dropout, int is_causal, int debug_mask, double* scale, Handle* a, Handle* b, Handle* c, Handle* d,
    int64_t* e, int64_t* f, Handle* g, Handle* h, Handle* i) {
  return aten("aten::_scaled_dot_product_flash_attention", "", query, key, value, dropout, is_causal, debug_mask, scale,
      a, b, c, d, e, f, g, h, i);
}
SHIM_EXPORT Err aoti_torch__scaled_dot_product_flash_attention(Handle query, Handle key, Handle value, double dropout,
    bool is_causal, bool debug_mask, double scale, Handle* a, Handle* b, Handle* c, Handle* d, int64_t* e, int64_t* f,
    Handle* g, Handle* h, Handle* i) {
  return aoti_torch__scaled_dot_product_flash_attention_v2(
      query, key, value, dropout, is_causal, debug_mask, &scale, a, b, c, d, e, f, g, h, i);
}
SHIM_EXPORT Err aoti_torch__scaled_dot_product_efficient_attention(Handle query, Handle key, Handle value, Handle bias,
    int log_sumexp, double dropout, int is_causal, double* scale, Handle* a, Handle* b, Handle* c, Handle* d) {
  return aten("aten::_scaled_dot_product_efficient_attention", "", query, key, value, &bias, log_sumexp, dropout,
      is_causal, scale, a, b, c, d);
}
