// Elements as numbers, whatever their dtype.
#include <cstring>

#include "cpu/convert.h"
#include "ops/elements.h"

namespace shim {
namespace {
template <class T> T read_element(const void* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T> void write_element(void* p, T v) { std::memcpy(p, &v, sizeof v); }
template <class T> void write_narrow_element(void* p, float f) { write_element(p, FromFloat<T>::make(f)); }
}  // namespace

double load_as_double(const void* p, DType t) {
  switch (t) {
    case DType::b8: return read_element<uint8_t>(p) != 0;
    case DType::u8: return read_element<uint8_t>(p);
    case DType::i8: return read_element<int8_t>(p);
    case DType::u16: return read_element<uint16_t>(p);
    case DType::i16: return read_element<int16_t>(p);
    case DType::u32: return read_element<uint32_t>(p);
    case DType::i32: return read_element<int32_t>(p);
    case DType::u64: return double(read_element<uint64_t>(p));
    case DType::i64: return double(read_element<int64_t>(p));
    case DType::f16:
    case DType::c32: return to_float(read_element<Half>(p));
    case DType::bf16: return to_float(read_element<BFloat16>(p));
    case DType::f32:
    case DType::c64: return read_element<float>(p);
    case DType::f64:
    case DType::c128: return read_element<double>(p);
    case DType::f8e4m3fn: return to_float(read_element<Float8E4M3>(p));
    case DType::f8e5m2: return to_float(read_element<Float8E5M2>(p));
    case DType::f8e4m3fnuz: return to_float(read_element<Float8E4M3Fnuz>(p));
    case DType::f8e5m2fnuz: return to_float(read_element<Float8E5M2Fnuz>(p));
    case DType::f8e8m0fnu: return to_float(read_element<Float8E8M0>(p));
    default: fail(Kind::NotImplemented, "\"item\" not implemented for '", scalar_name(t), "'");
  }
}

Scalar load_number(const void* p, DType t) {
  if (t == DType::b8) return {Scalar::Bool, read_element<uint8_t>(p) != 0};
  if (t == DType::i64 || t == DType::u64) {
    const auto i = read_element<int64_t>(p);
    return {.type = Scalar::Int, .i = i, .big = t == DType::u64 && i < 0};
  }
  const double d = load_as_double(p, t);
  if (is_integral(t)) return {Scalar::Int, int64_t(d)};
  if (!is_complex(t)) return {Scalar::Float, 0, d};
  return {Scalar::Complex, 0, d, load_as_double(static_cast<const char*>(p) + itemsize(t) / 2, t)};
}

void store_number(void* p, DType t, Scalar n) {
  double d = n.to_double();
  bool integer = n.type == Scalar::Int || n.type == Scalar::Bool;
  int64_t i = integer ? n.i : int64_t(d);
  switch (t) {
    case DType::b8: write_element<uint8_t>(p, integer ? n.i != 0 : d != 0 || n.imag != 0); break;
    case DType::u8:
    case DType::i8: write_element<uint8_t>(p, uint8_t(i)); break;
    case DType::u16:
    case DType::i16: write_element<uint16_t>(p, uint16_t(i)); break;
    case DType::u32:
    case DType::i32: write_element<uint32_t>(p, uint32_t(i)); break;
    case DType::u64: write_element<uint64_t>(p, integer ? uint64_t(n.i) : uint64_t(d)); break;
    case DType::i64: write_element<int64_t>(p, i); break;
    case DType::f16: write_narrow_element<Half>(p, float(d)); break;
    case DType::bf16: write_narrow_element<BFloat16>(p, float(d)); break;
    case DType::f32: write_element(p, float(d)); break;
    case DType::f64: write_element(p, d); break;
    case DType::c32:
      write_narrow_element<Half>(p, float(d));
      write_narrow_element<Half>(static_cast<char*>(p) + 2, float(n.imag));
      break;
    case DType::c64:
      write_element(p, float(d));
      write_element(static_cast<char*>(p) + 4, float(n.imag));
      break;
    case DType::c128:
      write_element(p, d);
      write_element(static_cast<char*>(p) + 8, n.imag);
      break;
    case DType::f8e4m3fn: write_narrow_element<Float8E4M3>(p, float(d)); break;
    case DType::f8e5m2: write_narrow_element<Float8E5M2>(p, float(d)); break;
    case DType::f8e4m3fnuz: write_narrow_element<Float8E4M3Fnuz>(p, float(d)); break;
    case DType::f8e5m2fnuz: write_narrow_element<Float8E5M2Fnuz>(p, float(d)); break;
    case DType::f8e8m0fnu: write_narrow_element<Float8E8M0>(p, float(d)); break;
    default:
      if (d == 0 && n.imag == 0) {
        std::memset(p, 0, itemsize(t));
        break;
      }  // zeros are the same bits in every dtype
      fail(Kind::NotImplemented, "\"fill_\" not implemented for '", scalar_name(t), "'");
  }
}

}  // namespace shim
