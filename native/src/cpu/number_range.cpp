// Whether a number fits a dtype, with PyTorch's answer where it does not.
#include <cmath>
#include <limits>

#include "core/error.h"
#include "ops/kernels.h"

namespace shim {
namespace {

struct Range {
  const char* name;  // of the C++ type, as PyTorch's text has it
  double low, high;  // for integers these bound the double before its fraction is cut
  bool integral, infinite;
};

constexpr Range integer(const char* name, double low, double high) { return {name, low, high, true, false}; }
constexpr Range floating(const char* name, double high, bool infinite = true) {
  return {name, -high, high, false, infinite};
}

bool range_of(DType dtype, Range* out) {
  switch (dtype) {
    case DType::u8: *out = integer("uint8_t", 0, 255); return true;
    case DType::i8: *out = integer("int8_t", -128, 127); return true;
    case DType::i16: *out = integer("int16_t", -32768, 32767); return true;
    case DType::u16: *out = integer("uint16_t", 0, 65535); return true;
    case DType::i32: *out = integer("int", -2147483648.0, 2147483647.0); return true;
    case DType::u32: *out = integer("uint32_t", 0, 4294967295.0); return true;
    case DType::i64: *out = integer("int64_t", -9223372036854775808.0, 9223372036854775807.0); return true;
    case DType::u64: *out = integer("uint64_t", 0, 18446744073709551615.0); return true;
    case DType::f16: *out = floating("c10::Half", 65504); return true;
    case DType::bf16: *out = floating("c10::BFloat16", 3.3895313892515355e38); return true;
    case DType::f32: *out = floating("float", double(std::numeric_limits<float>::max())); return true;
    case DType::f64: *out = floating("double", std::numeric_limits<double>::max()); return true;
    case DType::c64: *out = floating("c10::complex<float>", double(std::numeric_limits<float>::max())); return true;
    case DType::c128: *out = floating("c10::complex<double>", std::numeric_limits<double>::max()); return true;
    case DType::f8e5m2: *out = floating("c10::Float8_e5m2", 57344); return true;
    case DType::f8e5m2fnuz: *out = floating("c10::Float8_e5m2fnuz", 57344, false); return true;
    case DType::f8e4m3fn: *out = floating("c10::Float8_e4m3fn", 448, false); return true;
    case DType::f8e4m3fnuz: *out = floating("c10::Float8_e4m3fnuz", 240, false); return true;
    default: return false;
  }
}

bool real_fits(double f, const Range& r) {
  if (std::isnan(f)) return !r.integral;
  if (std::isinf(f)) return r.infinite;
  return f >= r.low && f <= r.high;
}

// Negative integers wrap into unsigned dtypes while their size fits.
bool integer_fits(Scalar n, const Range& r) {
  if (!r.integral) return real_fits(n.to_double(), r);
  if (n.big) return r.high >= 18446744073709551615.0;
  if (r.low == 0 && n.i < 0) return r.high >= 9223372036854775808.0 || -double(n.i) <= r.high;
  if (r.high >= 9223372036854775807.0) return true;
  return double(n.i) >= r.low && double(n.i) <= r.high;
}

}  // namespace

void check_fits(Scalar n, DType dtype) {
  Range r{};
  if (n.type == Scalar::Bool || !range_of(dtype, &r)) return;
  bool fits = n.type == Scalar::Int ? integer_fits(n, r) : real_fits(n.f, r);
  if (n.type == Scalar::Complex) fits = fits && (is_complex(dtype) ? real_fits(n.imag, r) : n.imag == 0);
  CHECK(Kind::Runtime, fits, "value cannot be converted to type ", r.name, " without overflow");
}

}  // namespace shim
