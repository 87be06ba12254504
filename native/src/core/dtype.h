#pragma once
// Element types. The numbers are PyTorch's ScalarType numbers: pickles, DLPack tables and the stable C ABI share them.
#include <cstddef>
#include <cstdint>

namespace shim {

enum class DType : int8_t {
  u8 = 0,
  i8 = 1,
  i16 = 2,
  i32 = 3,
  i64 = 4,
  f16 = 5,
  f32 = 6,
  f64 = 7,
  c32 = 8,
  c64 = 9,
  c128 = 10,
  b8 = 11,
  qi8 = 12,
  qu8 = 13,
  qi32 = 14,
  bf16 = 15,
  qu4x2 = 16,
  qu2x4 = 17,
  f8e5m2 = 23,
  f8e4m3fn = 24,
  f8e5m2fnuz = 25,
  f8e4m3fnuz = 26,
  u16 = 27,
  u32 = 28,
  u64 = 29,
  f8e8m0fnu = 44,
  f4e2m1fn_x2 = 45,
  undefined = -1
};

constexpr int kDTypeSlots = 48;  // one more than the largest number, for tables

size_t itemsize(DType);
const char* dtype_name(DType);   // "float32": what str(dtype) prints after "torch."
const char* scalar_name(DType);  // "Float": what PyTorch's error texts print
bool is_floating(DType);         // float16, bfloat16, float8 ..., not complex
bool floating(DType);            // of these the ones that kernels compute on: float16, bfloat16, float32, float64
bool is_complex(DType);
bool is_quantized(DType);  // qint8, quint8, qint32, quint4x2, quint2x4
bool is_integral(DType, bool include_bool = false);
bool is_signed(DType);
DType promote(DType, DType);  // PyTorch's promotion lattice; throws for the unsupported pairs as PyTorch does
DType default_dtype();        // torch.get_default_dtype()
void set_default_dtype(DType);
DType to_real(DType);  // complex64 -> float32
DType to_complex(DType);
bool can_cast(DType from, DType to);  // torch.can_cast

}  // namespace shim
