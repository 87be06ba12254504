// The constant getters: PyTorch's numbers of device types, element types, layouts, memory formats and tags.
#include "abi/abi.h"

#define SHIM_CONSTANT(name, number) \
  SHIM_EXPORT int32_t name() { return number; }
#define SHIM_DTYPE(name, dtype) SHIM_CONSTANT(aoti_torch_dtype_##name, int32_t(shim::DType::dtype))
#define SHIM_DEVICE(name) SHIM_CONSTANT(aoti_torch_device_type_##name, int32_t(shim::DeviceType::name))
#define SHIM_LAYOUT(name, number) SHIM_CONSTANT(aoti_torch_layout_##name, number)
#define SHIM_FORMAT(name, number) SHIM_CONSTANT(aoti_torch_memory_format_##name, number)

SHIM_DEVICE(cpu)
SHIM_DEVICE(cuda)
SHIM_DEVICE(xpu)
SHIM_DEVICE(mps)
SHIM_DEVICE(meta)
SHIM_DEVICE(privateuse1)

SHIM_DTYPE(uint8, u8)
SHIM_DTYPE(int8, i8)
SHIM_DTYPE(int16, i16)
SHIM_DTYPE(int32, i32)
SHIM_DTYPE(int64, i64)
SHIM_DTYPE(float16, f16)
SHIM_DTYPE(float32, f32)
SHIM_DTYPE(float64, f64)
SHIM_DTYPE(complex32, c32)
SHIM_DTYPE(complex64, c64)
SHIM_DTYPE(complex128, c128)
SHIM_DTYPE(bool, b8)
SHIM_DTYPE(bfloat16, bf16)
SHIM_DTYPE(float8_e5m2, f8e5m2)
SHIM_DTYPE(float8_e4m3fn, f8e4m3fn)
SHIM_DTYPE(float8_e5m2fnuz, f8e5m2fnuz)
SHIM_DTYPE(float8_e4m3fnuz, f8e4m3fnuz)
SHIM_DTYPE(uint16, u16)
SHIM_DTYPE(uint32, u32)
SHIM_DTYPE(uint64, u64)
SHIM_DTYPE(float8_e8m0fnu, f8e8m0fnu)
SHIM_DTYPE(float4_e2m1fn_x2, f4e2m1fn_x2)
SHIM_CONSTANT(torch_dtype_float8_e8m0fnu, int32_t(shim::DType::f8e8m0fnu))
SHIM_CONSTANT(torch_dtype_float4_e2m1fn_x2, int32_t(shim::DType::f4e2m1fn_x2))

SHIM_LAYOUT(strided, 0)
SHIM_LAYOUT(sparse_coo, 1)
SHIM_LAYOUT(sparse_csr, 2)
SHIM_LAYOUT(_mkldnn, 3)
SHIM_LAYOUT(sparse_csc, 4)
SHIM_LAYOUT(sparse_bsr, 5)
SHIM_LAYOUT(sparse_bsc, 6)
SHIM_LAYOUT(jagged, 7)

SHIM_FORMAT(contiguous_format, 0)
SHIM_FORMAT(preserve_format, 1)
SHIM_FORMAT(channels_last, 2)
SHIM_FORMAT(channels_last_3d, 3)

// clang-format off: several in a line
#define SHIM_TAGS(X)                                                                                                         \
  X(core, 0) X(cudagraph_unsafe, 1) X(data_dependent_output, 2) X(dynamic_output_shape, 3) X(flexible_layout, 4)             \
  X(generated, 5) X(inplace_view, 7) X(maybe_aliasing_or_mutating, 8) X(needs_contiguous_strides, 9)                         \
  X(needs_exact_strides, 10) X(needs_fixed_stride_order, 11) X(nondeterministic_bitwise, 12) X(nondeterministic_seeded, 13)  \
  X(out_variant, 15) X(pointwise, 16) X(pt2_compliant_tag, 17) X(reduction, 18) X(view_copy, 19)
// clang-format on
#define SHIM_TAG(name, number) SHIM_CONSTANT(torch_tag_##name, number)
SHIM_TAGS(SHIM_TAG)

const char* shim::abi::tag_name(int32_t tag) noexcept {
  switch (tag) {
#define SHIM_TAG_NAME(name, number) \
  case number: return #name;
    SHIM_TAGS(SHIM_TAG_NAME)
  }
  return "";
}

SHIM_EXPORT size_t aoti_torch_dtype_element_size(int32_t dtype) { return shim::itemsize(shim::DType(dtype)); }

// PyTorch's packing of a version: major, minor, patch in the three highest bytes.
SHIM_EXPORT uint64_t aoti_torch_abi_version() { return uint64_t(2) << 56 | uint64_t(13) << 48; }
