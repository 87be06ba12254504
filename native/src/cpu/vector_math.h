#pragma once
// Functions that the compiler can turn into vector code.
#include <bit>
#include <cmath>
#include <cstdint>

namespace shim {

// exp in float32 to about one unit in the last place: 2^n * exp(r) with |r| <= ln(2)/2 and Taylor's series of degree 7.
inline float exp_of(float x) {
  float c = x > 89.f ? 89.f : x < -104.f ? -104.f : x;               // NaN passes both tests
  float n = (c * 1.44269504088896f + 12582912.f) - 12582912.f;       // adding 1.5 * 2^23 rounds to an integer
  float r = (c - n * 0.693359375f) - n * -2.12194440054690583e-4f;   // ln 2 in two parts; the first is exact in few bits
  float p = 1.f / 5040;
  p = p * r + 1.f / 720;
  p = p * r + 1.f / 120;
  p = p * r + 1.f / 24;
  p = p * r + 1.f / 6;
  p = p * r + 0.5f;
  p = p * r * r + r + 1.f;
  int32_t k = int32_t(n == n ? n : 0.f), half = k >> 1;              // in two factors: 2^k alone may be no float32
  return p * std::bit_cast<float>((half + 127) << 23) * std::bit_cast<float>((k - half + 127) << 23);
}
inline double exp_of(double x) { return std::exp(x); }

}  // namespace shim
