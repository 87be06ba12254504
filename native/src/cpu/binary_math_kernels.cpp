// Float32 loops of functions of two numbers: remainders, powers, hypotenuses and angles. Coefficients are fits of least
// maximal error.
#include <algorithm>
#include <bit>
#include <cmath>

#include "cpu/kernel_table.h"
#include "cpu/math_kernels.h"
#include "cpu/special_math.h"
#include "cpu/vector_math.h"

namespace shim {

namespace {

// a - trunc(a / b) b is exact in double where the quotient has few bits; rounded up, it is one too many.
SHIM_ALWAYS_INLINE float fmod_near(float a, float b) {
  const double x = a, y = b, r = x - std::trunc(x / y) * y, s = std::fabs(y);
  const double inside = (a < 0.f) == (r < 0) || r == 0 ? r : r + (r < 0 ? s : -s);
  return std::copysign(float(inside), a);
}
SHIM_ALWAYS_INLINE bool few_bits(float a, float b) {
  return std::fabs(a) < std::fabs(b) * 268435456.f && std::fabs(b) < std::numeric_limits<float>::infinity();
}

struct Fmod {
  SHIM_ALWAYS_INLINE static float f(float a, float b) { return fmod_near(a, b); }
  static float beyond(float a, float b) { return std::fmod(a, b); }
  SHIM_ALWAYS_INLINE static bool fits(float a, float b) { return few_bits(a, b); }
};
struct Remainder {
  SHIM_ALWAYS_INLINE static float with(float mod, float b) {
    return mod != 0.f && (b < 0.f) != (mod < 0.f) ? mod + b : mod;
  }
  SHIM_ALWAYS_INLINE static float f(float a, float b) { return with(fmod_near(a, b), b); }
  static float beyond(float a, float b) { return with(std::fmod(a, b), b); }
  SHIM_ALWAYS_INLINE static bool fits(float a, float b) { return few_bits(a, b); }
};
struct FloorDivide {
  SHIM_ALWAYS_INLINE static float with(float mod, float a, float b) {
    float div = (a - mod) / b;
    div = mod != 0.f && (b < 0.f) != (mod < 0.f) ? div - 1.f : div;
    const float whole = std::floor(div), near = div - whole > 0.5f ? whole + 1.f : whole;
    return div == 0.f ? std::copysign(0.f, a / b) : near;
  }
  SHIM_ALWAYS_INLINE static float f(float a, float b) { return with(fmod_near(a, b), a, b); }
  static float beyond(float a, float b) { return b == 0.f ? a / b : with(std::fmod(a, b), a, b); }
  SHIM_ALWAYS_INLINE static bool fits(float a, float b) { return few_bits(a, b); }
};
struct Hypot {
  SHIM_ALWAYS_INLINE static float f(float a, float b) { return float(std::sqrt(double(a) * a + double(b) * b)); }
  static float beyond(float a, float b) { return std::hypot(a, b); }
  SHIM_ALWAYS_INLINE static bool fits(float a, float b) {
    return std::fabs(a) + std::fabs(b) < std::numeric_limits<float>::infinity();
  }
};
struct Atan2 {
  SHIM_ALWAYS_INLINE static float f(float y, float x) {
    const double a = std::fabs(double(y)), b = std::fabs(double(x)), most = a > b ? a : b, least = a > b ? b : a;
    const double near = atan_in_double(most == 0 ? 0 : least / most), turned = a > b ? kHalfPi - near : near;
    return std::copysign(float(std::copysign(1.f, x) < 0.f ? kPi - turned : turned), y);
  }
  static float beyond(float y, float x) { return float(std::atan2(double(y), double(x))); }
  SHIM_ALWAYS_INLINE static bool fits(float y, float x) {
    return std::fabs(y) + std::fabs(x) < std::numeric_limits<float>::infinity();
  }
};
// 2^(b log2 a) in double, for a positive a.
struct Pow {
  SHIM_ALWAYS_INLINE static float f(float a, float b) {
    double t = double(b) * log2_in_double(a);
    t = t < -200 ? -200 : t > 200 ? 200 : t;
    const double sum = t + kRoundDouble, n = sum - kRoundDouble, r = t - n;
    const double q = polynomial(r, 1.531008141e-05, 1.546973200e-04, 1.333345056e-03, 9.618025603e-03, 5.550410941e-02,
        2.402265121e-01, 6.931471805e-01, 1.0);
    const int64_t k = std::bit_cast<int64_t>(sum) - std::bit_cast<int64_t>(kRoundDouble);
    return float(q * std::bit_cast<double>((k + 1023) << 52));
  }
  static float beyond(float a, float b) { return std::pow(a, b); }
  SHIM_ALWAYS_INLINE static bool fits(float a, float b) {
    return a > 0.f && a < std::numeric_limits<float>::infinity() &&
           std::fabs(b) < std::numeric_limits<float>::infinity();
  }
};

template <class F> SHIM_MATH_CLONES void binary_block(const float* a, const float* b, float* y, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = F::f(a[i], b[i]);
}
template <class F> SHIM_CLONES bool all_fit(const float* a, const float* b, int64_t n) {
  int bad = 0;
  for (int64_t i = 0; i < n; ++i) bad |= !F::fits(a[i], b[i]);
  return !bad;
}
template <class F> void binary(char* out, const char* const* in, int64_t n) {
  auto *a = reinterpret_cast<const float*>(in[0]), *b = reinterpret_cast<const float*>(in[1]);
  auto* y = reinterpret_cast<float*>(out);
  constexpr int64_t kStep = 64;  // what does not fit is worked out one by one: of a few neighbours only
  for (int64_t at = 0; at < n; at += kStep) {
    const int64_t m = std::min(kStep, n - at);
    if (all_fit<F>(a + at, b + at, m))
      binary_block<F>(a + at, b + at, y + at, m);
    else
      for (int64_t i = at; i < at + m; ++i) y[i] = F::fits(a[i], b[i]) ? F::f(a[i], b[i]) : F::beyond(a[i], b[i]);
  }
}

}  // namespace

BlockKernel binary_math_kernel(const char* name) {
  static const NamedKernel all[] = {{"fmod", binary<Fmod>}, {"remainder", binary<Remainder>},
      {"floor_divide", binary<FloorDivide>}, {"hypot", binary<Hypot>}, {"atan2", binary<Atan2>}, {"pow", binary<Pow>}};
  return kernel_named(name, all);
}

}  // namespace shim
