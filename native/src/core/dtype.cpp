#include "core/dtype.h"

#include <array>

#include "core/error.h"

namespace shim {
namespace {

enum Flags : uint8_t { kFloat = 1, kComplex = 2, kInt = 4, kBool = 8, kSigned = 16 };

struct Row {
  DType dtype;
  const char* name;
  const char* scalar;
  uint8_t size;
  uint8_t flags;
};

constexpr Row kRows[] = {
    {DType::u8, "uint8", "Byte", 1, kInt},
    {DType::i8, "int8", "Char", 1, kInt | kSigned},
    {DType::i16, "int16", "Short", 2, kInt | kSigned},
    {DType::i32, "int32", "Int", 4, kInt | kSigned},
    {DType::i64, "int64", "Long", 8, kInt | kSigned},
    {DType::f16, "float16", "Half", 2, kFloat | kSigned},
    {DType::f32, "float32", "Float", 4, kFloat | kSigned},
    {DType::f64, "float64", "Double", 8, kFloat | kSigned},
    {DType::c32, "complex32", "ComplexHalf", 4, kComplex | kSigned},
    {DType::c64, "complex64", "ComplexFloat", 8, kComplex | kSigned},
    {DType::c128, "complex128", "ComplexDouble", 16, kComplex | kSigned},
    {DType::b8, "bool", "Bool", 1, kBool},
    {DType::bf16, "bfloat16", "BFloat16", 2, kFloat | kSigned},
    {DType::f8e5m2, "float8_e5m2", "Float8_e5m2", 1, kFloat | kSigned},
    {DType::f8e4m3fn, "float8_e4m3fn", "Float8_e4m3fn", 1, kFloat | kSigned},
    {DType::f8e5m2fnuz, "float8_e5m2fnuz", "Float8_e5m2fnuz", 1, kFloat | kSigned},
    {DType::f8e4m3fnuz, "float8_e4m3fnuz", "Float8_e4m3fnuz", 1, kFloat | kSigned},
    {DType::u16, "uint16", "UInt16", 2, kInt},
    {DType::u32, "uint32", "UInt32", 4, kInt},
    {DType::u64, "uint64", "UInt64", 8, kInt},
    // Quantized types are names that libraries compare dtypes with: no tensor is made of them (see `empty`).
    {DType::qi8, "qint8", "QInt8", 1, 0},
    {DType::qu8, "quint8", "QUInt8", 1, 0},
    {DType::qi32, "qint32", "QInt32", 4, 0},
    {DType::qu4x2, "quint4x2", "QUInt4x2", 1, 0},
    {DType::qu2x4, "quint2x4", "QUInt2x4", 1, 0},
    // Integers of 1 to 7 bits and bare bits, each in a byte or more: they are made, viewed and copied, and that is all.
    {DType(18), "bits1x8", "Bits1x8", 1, 0},
    {DType(19), "bits2x4", "Bits2x4", 1, 0},
    {DType(20), "bits4x2", "Bits4x2", 1, 0},
    {DType(21), "bits8", "Bits8", 1, 0},
    {DType(22), "bits16", "Bits16", 2, 0},
    {DType(30), "uint1", "UInt1", 1, kInt},
    {DType(31), "uint2", "UInt2", 1, kInt},
    {DType(32), "uint3", "UInt3", 1, kInt},
    {DType(33), "uint4", "UInt4", 1, kInt},
    {DType(34), "uint5", "UInt5", 1, kInt},
    {DType(35), "uint6", "UInt6", 1, kInt},
    {DType(36), "uint7", "UInt7", 1, kInt},
    {DType(37), "int1", "Int1", 1, kInt | kSigned},
    {DType(38), "int2", "Int2", 1, kInt | kSigned},
    {DType(39), "int3", "Int3", 1, kInt | kSigned},
    {DType(40), "int4", "Int4", 1, kInt | kSigned},
    {DType(41), "int5", "Int5", 1, kInt | kSigned},
    {DType(42), "int6", "Int6", 1, kInt | kSigned},
    {DType(43), "int7", "Int7", 1, kInt | kSigned},
    {DType::f8e8m0fnu, "float8_e8m0fnu", "Float8_e8m0fnu", 1, kFloat},
    {DType::f4e2m1fn_x2, "float4_e2m1fn_x2", "Float4_e2m1fn_x2", 1, kFloat | kSigned},
};

constexpr std::array<Row, kDTypeSlots> rows() {
  std::array<Row, kDTypeSlots> t{};
  for (auto& row : t) row = {DType::undefined, "undefined", "Undefined", 0, 0};
  for (const Row& row : kRows) t[size_t(row.dtype)] = row;
  return t;
}
constexpr auto kTable = rows();

const Row& row(DType t) { return t == DType::undefined ? kTable[46] : kTable[size_t(t)]; }

DType default_ = DType::f32;

// Where two dtypes of one category meet. Floats by width, bfloat16 and float16 meet in float32.
DType promote_floats(DType a, DType b) {
  auto rank = [](DType t) {
    return t == DType::f64 ? 3 : t == DType::f32 ? 2 : t == DType::f16 || t == DType::bf16 ? 1 : 0;
  };
  if (rank(a) == 0 || rank(b) == 0)
    fail(Kind::Runtime, "Promotion for Float8 Types is not supported, attempted to promote ", scalar_name(a), " and ",
        scalar_name(b));
  if (rank(a) == 1 && rank(b) == 1) return DType::f32;  // not equal: float16 with bfloat16
  return rank(a) >= rank(b) ? a : b;
}

bool is_bare(DType t) { return (t >= DType(18) && t <= DType(22)) || (t >= DType(30) && t <= DType(43)); }

DType promote_integers(DType a, DType b) {
  if (is_bare(a) || is_bare(b))
    fail(Kind::Runtime, "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote ",
        scalar_name(a), " and ", scalar_name(b));
  auto wide_unsigned = [](DType t) { return t == DType::u16 || t == DType::u32 || t == DType::u64; };
  if (wide_unsigned(a) || wide_unsigned(b)) {
    bool a_signed = is_signed(a), b_signed = is_signed(b);
    if (!a_signed && !b_signed) return itemsize(a) >= itemsize(b) ? a : b;
    DType s = a_signed ? a : b, u = a_signed ? b : a;
    if (itemsize(s) > itemsize(u)) return s;
    fail(Kind::Runtime, "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote ",
        scalar_name(a), " and ", scalar_name(b));
  }
  if (itemsize(a) != itemsize(b)) return itemsize(a) > itemsize(b) ? a : b;
  return DType::i16;  // uint8 with int8
}

}  // namespace

size_t itemsize(DType t) { return row(t).size; }
const char* dtype_name(DType t) { return row(t).name; }
const char* scalar_name(DType t) { return row(t).scalar; }
bool is_floating(DType t) { return row(t).flags & kFloat; }
bool floating(DType t) { return t == DType::f16 || t == DType::bf16 || t == DType::f32 || t == DType::f64; }
bool is_complex(DType t) { return row(t).flags & kComplex; }
bool is_quantized(DType t) { return t >= DType::qi8 && t <= DType::qu2x4 && t != DType::bf16; }
bool is_integral(DType t, bool include_bool) { return row(t).flags & (kInt | (include_bool ? kBool : 0)); }
bool is_signed(DType t) { return row(t).flags & kSigned; }
DType default_dtype() { return default_; }
void set_default_dtype(DType t) { default_ = t; }

DType to_real(DType t) {
  return t == DType::c32 ? DType::f16 : t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t;
}

DType to_complex(DType t) {
  if (is_complex(t)) return t;
  if (t == DType::f16) return DType::c32;
  if (t == DType::f64) return DType::c128;
  if (t == DType::f32 || t == DType::bf16 || is_integral(t, true)) return DType::c64;
  fail(Kind::Runtime, "Unknown Complex ScalarType for ", scalar_name(t));
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::undefined) return b;
  if (b == DType::undefined) return a;
  if (a == DType::f4e2m1fn_x2 || b == DType::f4e2m1fn_x2)
    fail(Kind::Runtime, "promoteTypes with bits or float4 types is not supported, attempted to promote ",
        scalar_name(a), " and ", scalar_name(b));
  if ((a >= DType(18) && a <= DType(22)) || (b >= DType(18) && b <= DType(22)))
    fail(Kind::Runtime, "Promotion from ", scalar_name(a), " and ", scalar_name(b), " is unsupported.");
  if (is_complex(a) || is_complex(b)) {
    DType real_a = to_real(a), real_b = to_real(b);
    if (is_integral(real_a, true)) return b;
    if (is_integral(real_b, true)) return a;
    DType real = real_a == real_b ? real_a : promote_floats(real_a, real_b);
    return real == DType::bf16 ? DType::c64 : to_complex(real);
  }
  if (is_floating(a) && is_floating(b)) return promote_floats(a, b);
  if (is_floating(a) || is_floating(b)) {
    DType f = is_floating(a) ? a : b;
    if (itemsize(f) == 1)
      fail(Kind::Runtime, "Promotion for Float8 Types is not supported, attempted to promote ", scalar_name(a), " and ",
          scalar_name(b));
    return f;
  }
  if (a == DType::b8) return b;
  if (b == DType::b8) return a;
  return promote_integers(a, b);
}

bool can_cast(DType from, DType to) {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating(from) && is_integral(to, true)) return false;
  return to != DType::b8 || from == DType::b8;
}

}  // namespace shim
