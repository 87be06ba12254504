#pragma once
// Conversions between float32 and the narrow float formats, rounding to nearest even. Exact; no tables, no intrinsics.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/dtype.h"

namespace shim {

struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};
struct Float8E4M3 {
  uint8_t bits;
};
struct Float8E5M2 {
  uint8_t bits;
};
struct Float8E4M3Fnuz {
  uint8_t bits;
};
struct Float8E5M2Fnuz {
  uint8_t bits;
};
struct Float8E8M0 {
  uint8_t bits;
};

inline float to_float(Half h) {
  uint32_t sign = uint32_t(h.bits & 0x8000) << 16, exponent = (h.bits >> 10) & 31, mantissa = h.bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  float f = float(mantissa) * 0x1p-24f;
  return sign ? -f : f;
}

inline Half to_half(float f) {
  uint32_t x = std::bit_cast<uint32_t>(f), sign = (x >> 16) & 0x8000, a = x & 0x7fffffff;
  if (a > 0x7f800000) return {uint16_t(sign | 0x7e00)};
  if (a >= 0x477ff000) return {uint16_t(sign | 0x7c00)};  // rounds to infinity
  if (a < 0x38800000) {                                   // subnormal: let float addition round
    float r = std::bit_cast<float>(a) + 0.5f;
    return {uint16_t(sign | (std::bit_cast<uint32_t>(r) - 0x3f000000))};
  }
  uint32_t r = a + 0xfff + ((a >> 13) & 1);
  return {uint16_t(sign | ((r >> 13) - (112 << 10)))};
}

inline float to_float(BFloat16 b) { return std::bit_cast<float>(uint32_t(b.bits) << 16); }

inline BFloat16 to_bfloat16(float f) {
  uint32_t x = std::bit_cast<uint32_t>(f);
  if ((x & 0x7fffffff) > 0x7f800000) return {uint16_t(0x7fc0)};
  return {uint16_t((x + 0x7fff + ((x >> 16) & 1)) >> 16)};
}

// A narrow float of 1 sign bit, E exponent bits and M mantissa bits. Fnuz: one NaN (0x80), no negative zero, no infinity.
template <int E, int M, int Bias, bool Infinity, bool Fnuz> struct Narrow {
  static constexpr int kMaxExponent = (1 << E) - 1;

  static float decode(uint8_t bits) {
    uint32_t exponent = (bits >> M) & kMaxExponent, mantissa = bits & ((1 << M) - 1);
    bool negative = bits & 0x80;
    if (Fnuz && bits == 0x80) return std::numeric_limits<float>::quiet_NaN();
    if (Infinity && exponent == kMaxExponent)
      return mantissa ? std::copysign(std::numeric_limits<float>::quiet_NaN(), negative ? -1.f : 1.f)
                      : (negative ? -1.f : 1.f) * std::numeric_limits<float>::infinity();
    if (!Infinity && !Fnuz && exponent == kMaxExponent && mantissa == (1 << M) - 1)
      return std::copysign(std::numeric_limits<float>::quiet_NaN(), negative ? -1.f : 1.f);
    float f = exponent ? std::ldexp(float((1 << M) + mantissa), int(exponent) - Bias - M)
                       : std::ldexp(float(mantissa), 1 - Bias - M);
    return negative ? -f : f;
  }

  static constexpr bool kSaturates = !Infinity && !Fnuz;  // e4m3fn: too large numbers become the largest
  static constexpr uint8_t kNan = Fnuz ? 0x80 : 0x7f;
  static constexpr int kLargest = Infinity ? (kMaxExponent << M) - 1 : Fnuz ? (1 << (E + M)) - 1 : (1 << (E + M)) - 2;

  static uint8_t encode(float f) {
    uint8_t sign = std::signbit(f) ? 0x80 : 0;
    if (std::isnan(f)) return Fnuz ? kNan : uint8_t(sign | kNan);
    float a = std::fabs(f);
    if (std::isinf(f)) return kSaturates ? uint8_t(sign | kLargest) : overflow(sign);
    if (a == 0) return Fnuz ? 0 : sign;
    int exponent = std::max(std::ilogb(a), 1 - Bias);
    float scaled = std::nearbyint(std::ldexp(a, M - exponent));  // ties to even: the default rounding mode
    int64_t code = int64_t(scaled) + (int64_t(exponent + Bias - 1) << M);
    if (code > kLargest) return kSaturates ? uint8_t(sign | kLargest) : overflow(sign);
    if (code == 0) return Fnuz ? 0 : sign;
    return uint8_t(sign | code);
  }

  static uint8_t overflow(uint8_t sign) {
    return Infinity ? uint8_t(sign | kMaxExponent << M) : Fnuz ? kNan : uint8_t(sign | kNan);
  }
};

using E4M3 = Narrow<4, 3, 7, false, false>;
using E5M2 = Narrow<5, 2, 15, true, false>;
using E4M3Fnuz = Narrow<4, 3, 8, false, true>;
using E5M2Fnuz = Narrow<5, 2, 16, false, true>;

inline float to_float(Float8E4M3 v) { return E4M3::decode(v.bits); }
inline float to_float(Float8E5M2 v) { return E5M2::decode(v.bits); }
inline float to_float(Float8E4M3Fnuz v) { return E4M3Fnuz::decode(v.bits); }
inline float to_float(Float8E5M2Fnuz v) { return E5M2Fnuz::decode(v.bits); }
inline float to_float(Float8E8M0 v) {  // powers of two; 255 is NaN
  return v.bits == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.f, int(v.bits) - 127);
}

inline Float8E8M0 to_e8m0(float f) {  // nearest power of two; the sign is dropped
  uint32_t x = std::bit_cast<uint32_t>(f), exponent = (x >> 23) & 255, mantissa = x & 0x7fffff;
  if (exponent == 255) return {255};
  bool up = mantissa > 0x400000 || (mantissa == 0x400000 && exponent > 0);  // PyTorch rounds halves up
  return {uint8_t(exponent + (up ? 1 : 0))};
}

template <class T> struct FromFloat;
template <> struct FromFloat<Half> {
  static Half make(float f) { return to_half(f); }
};
template <> struct FromFloat<BFloat16> {
  static BFloat16 make(float f) { return to_bfloat16(f); }
};
template <> struct FromFloat<Float8E4M3> {
  static Float8E4M3 make(float f) { return {E4M3::encode(f)}; }
};
template <> struct FromFloat<Float8E5M2> {
  static Float8E5M2 make(float f) { return {E5M2::encode(f)}; }
};
template <> struct FromFloat<Float8E4M3Fnuz> {
  static Float8E4M3Fnuz make(float f) { return {E4M3Fnuz::encode(f)}; }
};
template <> struct FromFloat<Float8E5M2Fnuz> {
  static Float8E5M2Fnuz make(float f) { return {E5M2Fnuz::encode(f)}; }
};
template <> struct FromFloat<Float8E8M0> {
  static Float8E8M0 make(float f) { return to_e8m0(f); }
};

template <class T>
concept NarrowFloat = requires { FromFloat<T>::make(0.f); };

}  // namespace shim
