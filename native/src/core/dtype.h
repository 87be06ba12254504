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

// What kernels ask of dtypes at every call, by their numbers; the first row is undefined's. dtype.cpp fills the tables.
struct DTypeTable {
  enum Flag : uint8_t { floating = 1, complex = 2, integer = 4, boolean = 8, has_sign = 16 };
  uint8_t itemsizes[kDTypeSlots + 1], flags[kDTypeSlots + 1];
  bool has(DType t, int flag) const { return flags[int(t) + 1] & flag; }
};
extern const DTypeTable dtype_table;

inline size_t itemsize(DType t) { return dtype_table.itemsizes[int(t) + 1]; }
const char* dtype_name(DType);   // "float32": what str(dtype) prints after "torch."
const char* scalar_name(DType);  // "Float": what PyTorch's error texts print
// float16, bfloat16, float8 ..., not complex
inline bool is_floating(DType t) { return dtype_table.has(t, DTypeTable::floating); }
inline bool is_complex(DType t) { return dtype_table.has(t, DTypeTable::complex); }
bool is_quantized(DType);  // qint8, quint8, qint32, quint4x2, quint2x4
inline bool is_integral(DType t, bool include_bool = false) {
  return dtype_table.has(t, DTypeTable::integer | (include_bool ? DTypeTable::boolean : 0));
}
inline bool is_signed(DType t) { return dtype_table.has(t, DTypeTable::has_sign); }
DType promote(DType, DType);  // PyTorch's promotion lattice; throws for the unsupported pairs as PyTorch does
DType default_dtype();        // torch.get_default_dtype()
void set_default_dtype(DType);
DType to_real(DType);  // complex64 -> float32
DType to_complex(DType);
bool can_cast(DType from, DType to);  // torch.can_cast

}  // namespace shim
