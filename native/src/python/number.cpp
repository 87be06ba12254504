// Elements as numbers, whatever their dtype.
#include <complex>
#include <cstring>

#include "cpu/convert.h"
#include "ops/kernels.h"
#include "python/tensor_type.h"

namespace shim {
namespace {
template <class T> T read(const void* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T> void write(void* p, T v) { std::memcpy(p, &v, sizeof v); }
template <class T> void write_narrow(void* p, float f) { write(p, FromFloat<T>::make(f)); }
}  // namespace

double load_as_double(const void* p, DType t) {
  switch (t) {
    case DType::b8: return read<uint8_t>(p) != 0;
    case DType::u8: return read<uint8_t>(p);
    case DType::i8: return read<int8_t>(p);
    case DType::u16: return read<uint16_t>(p);
    case DType::i16: return read<int16_t>(p);
    case DType::u32: return read<uint32_t>(p);
    case DType::i32: return read<int32_t>(p);
    case DType::u64: return double(read<uint64_t>(p));
    case DType::i64: return double(read<int64_t>(p));
    case DType::f16:
    case DType::c32: return to_float(read<Half>(p));
    case DType::bf16: return to_float(read<BFloat16>(p));
    case DType::f32:
    case DType::c64: return read<float>(p);
    case DType::f64:
    case DType::c128: return read<double>(p);
    case DType::f8e4m3fn: return to_float(read<Float8E4M3>(p));
    case DType::f8e5m2: return to_float(read<Float8E5M2>(p));
    case DType::f8e4m3fnuz: return to_float(read<Float8E4M3Fnuz>(p));
    case DType::f8e5m2fnuz: return to_float(read<Float8E5M2Fnuz>(p));
    case DType::f8e8m0fnu: return to_float(read<Float8E8M0>(p));
    default: fail(Kind::NotImplemented, "\"item\" not implemented for '", scalar_name(t), "'");
  }
}

void store_number(void* p, DType t, Scalar n) {
  double d = n.to_double();
  bool integer = n.type == Scalar::Int || n.type == Scalar::Bool;
  int64_t i = integer ? n.i : int64_t(d);
  switch (t) {
    case DType::b8: write<uint8_t>(p, integer ? n.i != 0 : d != 0 || n.imag != 0); break;
    case DType::u8:
    case DType::i8: write<uint8_t>(p, uint8_t(i)); break;
    case DType::u16:
    case DType::i16: write<uint16_t>(p, uint16_t(i)); break;
    case DType::u32:
    case DType::i32: write<uint32_t>(p, uint32_t(i)); break;
    case DType::u64: write<uint64_t>(p, integer ? uint64_t(n.i) : uint64_t(d)); break;
    case DType::i64: write<int64_t>(p, i); break;
    case DType::f16: write_narrow<Half>(p, float(d)); break;
    case DType::bf16: write_narrow<BFloat16>(p, float(d)); break;
    case DType::f32: write(p, float(d)); break;
    case DType::f64: write(p, d); break;
    case DType::c32:
      write_narrow<Half>(p, float(d));
      write_narrow<Half>(static_cast<char*>(p) + 2, float(n.imag));
      break;
    case DType::c64:
      write(p, float(d));
      write(static_cast<char*>(p) + 4, float(n.imag));
      break;
    case DType::c128:
      write(p, d);
      write(static_cast<char*>(p) + 8, n.imag);
      break;
    case DType::f8e4m3fn: write_narrow<Float8E4M3>(p, float(d)); break;
    case DType::f8e5m2: write_narrow<Float8E5M2>(p, float(d)); break;
    case DType::f8e4m3fnuz: write_narrow<Float8E4M3Fnuz>(p, float(d)); break;
    case DType::f8e5m2fnuz: write_narrow<Float8E5M2Fnuz>(p, float(d)); break;
    case DType::f8e8m0fnu: write_narrow<Float8E8M0>(p, float(d)); break;
    default:
      if (d == 0 && n.imag == 0) {
        std::memset(p, 0, itemsize(t));
        break;
      }  // zeros are the same bits in every dtype
      fail(Kind::NotImplemented, "\"fill_\" not implemented for '", scalar_name(t), "'");
  }
}

PyObject* number_object(const void* p, DType t) {
  if (t == DType::b8) return PyBool_FromLong(read<uint8_t>(p) != 0);
  if (t == DType::u64) return PyLong_FromUnsignedLongLong(read<uint64_t>(p));
  if (t == DType::i64) return PyLong_FromLongLong(read<int64_t>(p));
  if (t == DType::c64 || t == DType::c128 || t == DType::c32) {
    size_t half = itemsize(t) / 2;
    return PyComplex_FromDoubles(load_as_double(p, t), load_as_double(static_cast<const char*>(p) + half, t));
  }
  return guarded([&]() -> PyObject* {
    double v = load_as_double(p, t);
    return is_integral(t) ? PyLong_FromLongLong(int64_t(v)) : PyFloat_FromDouble(v);
  });
}

}  // namespace shim
