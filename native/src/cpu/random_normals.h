#pragma once
// Normal numbers in blocks of 16, and uniform ones between bounds, rounded as PyTorch's CPU rounds them: products that are added to
// something are not rounded by themselves, and float32 takes its logarithm, sine and cosine from Cephes' single-precision polynomials
// (S. L. Moshier), whose coefficients these are.
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "cpu/instructions.h"

#define SHIM_INLINE __attribute__((always_inline)) inline

namespace shim::normals {

constexpr int64_t kBlock = 16, kHalf = kBlock / 2;

SHIM_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
SHIM_INLINE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
SHIM_INLINE float fused_series(float, float p) { return p; }
template <class... More> SHIM_INLINE float fused_series(float x, float p, float c, More... more) {
  return fused_series(x, fused(p, x, c), more...);
}

// log x of a normal number above 0, from its mantissa between sqrt(1/2) and sqrt(2).
SHIM_INLINE float logarithm(float x) {
  const int32_t bits = std::bit_cast<int32_t>(x);
  const float fraction = std::bit_cast<float>((bits & 0x007fffff) | 0x3f000000);  // in [1/2, 1)
  const bool low = fraction < std::numbers::sqrt2_v<float> / 2;
  const float exponent = float((bits >> 23) - 126 - (low ? 1 : 0)), m = (fraction - 1.f) + (low ? fraction : 0.f);
  const float square = m * m;
  const float cubic =
      m * fused_series(m, 7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f,
              -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f);
  const float tail = fused(-square, 0.5f, fused(cubic, square, exponent * -2.12194440e-4f));
  return fused(exponent, 0.693359375f, m + tail);  // ln 2 in two parts
}

struct Turn {
  float sine, cosine;
};

// Of an angle from 0 to 2 pi: eighths of a turn are taken off, in pairs, by pi/4 in three parts.
SHIM_INLINE Turn turned(float angle) {
  const int32_t eighths = (int32_t(angle * 1.27323954473516f) + 1) & ~1;
  const float count = float(eighths);
  float r = fused(count, -0.78515625f, angle);
  r = fused(count, -2.4187564849853515625e-4f, r);
  r = fused(count, -3.77489497744594108e-8f, r);
  const float square = r * r;
  const float even =
      square * fused_series(square, 2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f);
  const float odd = square * fused_series(square, -1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f);
  const float c = fused(even, square, -(square * 0.5f)) + 1.f, s = fused(odd, r, r);
  const bool quarter = eighths & 2;
  const float sine = quarter ? c : s, cosine = quarter ? s : c;
  return {eighths & 4 ? -sine : sine, (eighths + 2) & 4 ? -cosine : cosine};
}

// Box-Muller: the first half of the uniform numbers are lengths, the second turns.
SHIM_INLINE void block(float* x, float mean, float deviation) {
  float cosines[kHalf], sines[kHalf];
  for (int64_t i = 0; i < kHalf; ++i) {
    const float length = __builtin_sqrtf(-2.f * logarithm(1.f - x[i]));
    const Turn turn = turned(2 * std::numbers::pi_v<float> * x[i + kHalf]);
    cosines[i] = fused(length * turn.cosine, deviation, mean);
    sines[i] = fused(length * turn.sine, deviation, mean);
  }
  for (int64_t i = 0; i < kHalf; ++i) x[i] = cosines[i], x[i + kHalf] = sines[i];
}
SHIM_INLINE void block(double* x, double mean, double deviation) {
  for (int64_t i = 0; i < kHalf; ++i) {
    const double length = std::sqrt(-2.0 * std::log(1.0 - x[i])), angle = 2 * std::numbers::pi * x[i + kHalf];
    x[i] = fused(length * std::cos(angle), deviation, mean);
    x[i + kHalf] = fused(length * std::sin(angle), deviation, mean);
  }
}

template <class T> SHIM_INLINE void all_blocks(T* x, int64_t n, T mean, T deviation) {
  for (int64_t i = 0; i + kBlock <= n; i += kBlock) block(x + i, mean, deviation);
}
template <class T> SHIM_INLINE void all_between(T* x, int64_t n, T low, T span) {
  for (int64_t i = 0; i < n; ++i) x[i] = fused(x[i], span, low);
}

#ifdef SHIM_VECTOR_TARGETS
template <class T> __attribute__((target("avx2,fma"))) void blocks_avx2(T* x, int64_t n, T mean, T deviation) {
  all_blocks(x, n, mean, deviation);
}
template <class T> __attribute__((target("avx2,fma"))) void between_avx2(T* x, int64_t n, T low, T span) {
  all_between(x, n, low, span);
}
#endif

// Uniform numbers of [0, 1) in place of which are normal ones, in whole blocks.
template <class T> void from_uniform(T* x, int64_t n, T mean, T deviation) {
#ifdef SHIM_VECTOR_TARGETS
  if (has_avx2()) return blocks_avx2(x, n, mean, deviation);
#endif
  all_blocks(x, n, mean, deviation);
}
// And in place of which are uniform ones from `low` on.
template <class T> void between(T* x, int64_t n, T low, T span) {
#ifdef SHIM_VECTOR_TARGETS
  if (has_avx2()) return between_avx2(x, n, low, span);
#endif
  all_between(x, n, low, span);
}

}  // namespace shim::normals

#undef SHIM_INLINE
