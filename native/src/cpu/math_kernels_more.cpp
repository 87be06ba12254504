// More float32 loops of functions: those of angles and hyperbolas, remainders and powers. Coefficients are fits of least maximal error.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "cpu/kernel_table.h"
#include "cpu/vector_math.h"

namespace shim {
namespace {

#define INLINE inline __attribute__((always_inline))

// A polynomial from its highest coefficient down; written out, so that loops around it become vector code.
template <class T> INLINE T polynomial(T, T p) { return p; }
template <class T, class... More> INLINE T polynomial(T x, T p, T c, More... more) { return polynomial(x, p * x + c, T(more)...); }

constexpr float kHalfPi = 1.57079632679489662f, kPi = 3.14159265358979324f;

// |x| below about 1: the series; beyond, e = exp(|x| / 2) squared, which overflows where the result does.
INLINE float sinh_of(float x) {
  const float t = std::fabs(x), z = x * x, e = exp_of(0.5f * t);
  const float p = ((2.755731922e-6f * z + 1.984126984e-4f) * z + 8.333333333e-3f) * z + 1.666666667e-1f;
  const float large = 0.5f * e * e - 0.5f / (e * e);
  return t < 1.f ? x + x * z * p : std::copysign(large, x);
}
INLINE float cosh_of(float x) {
  const float e = exp_of(0.5f * std::fabs(x));
  return 0.5f * e * e + 0.5f / (e * e);
}
// atan on [0, tan(pi / 8)], to where the other parts of the axis are turned.
INLINE float atan_of(float x) {
  const float t = std::fabs(x);
  const bool far = t > 2.414213562373095f, middle = t > 0.4142135623730950f;
  const float y = far ? -1.f / t : middle ? (t - 1.f) / (t + 1.f) : t, turn = far ? kHalfPi : middle ? 0.5f * kHalfPi : 0.f, z = y * y;
  float p = -6.459376516e-02f;
  p = p * z + 1.074629853e-01f;
  p = p * z + -1.426423256e-01f;
  p = p * z + 1.999955008e-01f;
  p = p * z + -3.333333181e-01f;
  return std::copysign(turn + (y + y * z * p), x);
}
INLINE float asin_near(float x) {                      // |x| <= 1/2
  const float z = x * x;
  float p = 3.380570512e-02f;
  p = p * z + 1.707788905e-02f;
  p = p * z + 3.111614902e-02f;
  p = p * z + 4.459803304e-02f;
  p = p * z + 7.500098759e-02f;
  p = p * z + 1.666666632e-01f;
  return x + x * z * p;
}
INLINE float asin_of(float x) {
  const float t = std::fabs(x), s = std::sqrt(0.5f * (1.f - t));     // NaN beyond 1
  const float y = asin_near(t <= 0.5f ? t : s);
  return std::copysign(t <= 0.5f ? y : kHalfPi - 2.f * y, x);
}
INLINE float acos_of(float x) {
  const float t = std::fabs(x), s = std::sqrt(0.5f * (1.f - t)), y = asin_near(t <= 0.5f ? x : s);
  return t <= 0.5f ? kHalfPi - y : x > 0.f ? 2.f * y : kPi - 2.f * y;
}
INLINE float tan_of(float x) { return x == 0.f ? x : sine_at(x, 0) / sine_at(x, 1); }
// x * f(w), w = -log(1 - x^2): in w, and where it is large in its root.
INLINE float erfinv_of(float x) {
  const float w = -log_of((1.f - x) * (1.f + x)), a = w - 2.5f, b = std::sqrt(w) - 3.f;
  const float p = polynomial(a, -8.739829826e-09f, 2.328584309e-08f, 4.654287162e-07f, -3.463356150e-06f, -4.959743436e-06f, 2.183469146e-04f, -1.252748417e-03f, -4.177389759e-03f, 2.466402894e-01f,
                             1.501409360e+00f);
  const float q = polynomial(b, -1.363909200e-04f, 5.349363319e-05f, 1.267379239e-03f, -3.624142265e-03f, 5.774279380e-03f, -7.636678572e-03f, 9.433860207e-03f, 1.001675068e+00f,
                             2.832977038e+00f);
  const float inside = x * (w < 5.f ? p : q);
  return std::fabs(x) == 1.f ? std::copysign(std::numeric_limits<float>::infinity(), x) : inside;      // NaN beyond 1: the logarithm's
}

// e^(-z^2) t times a polynomial's e-th power, t = 1 / (1 + z / 2): the exponent in double, of which a float is taken and what it leaves.
INLINE float erfc_of(float x) {
  const float t = std::fabs(x);
  const double z = t > 11.f ? 11.0 : double(t), u = 1 / (1 + 0.5 * z);
  const double e = polynomial(u, -1.3642960860e-01, 9.3926517828e-01, -2.7025241613e+00, 4.1109329537e+00, -3.4330852903e+00, 1.5943045744e+00, -6.8197362854e-01, 2.1760599409e-01,
                              3.5592660790e-01, 1.0015435382e+00, -1.2655661542e+00) - z * z;
  const float most = float(e), tail = float(u) * exp_of(most) * (1.f + float(e - double(most)));
  return x < 0.f ? 2.f - tail : tail;
}

#define UNARY(Name, function, limit, exact) \
  struct Name { INLINE static float f(float x) { return function(x); } static float beyond(float x) { return exact(x); } INLINE static bool fits([[maybe_unused]] float x) { return limit; } }
UNARY(Sinh, sinh_of, true, std::sinh);
UNARY(Cosh, cosh_of, true, std::cosh);
UNARY(Atan, atan_of, true, std::atan);
UNARY(Asin, asin_of, true, std::asin);
UNARY(Acos, acos_of, true, std::acos);
UNARY(Erfc, erfc_of, true, std::erfc);
UNARY(Erfinv, erfinv_of, true, erfinv_of);
UNARY(Tan, tan_of, std::fabs(x) <= kReducible, std::tan);
#undef UNARY

template <class F>
SHIM_MATH_CLONES void unary_block(const float* x, float* y, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = F::f(x[i]);
}
template <class F>
SHIM_CLONES bool all_fit(const float* x, int64_t n) {
  int bad = 0;
  for (int64_t i = 0; i < n; ++i) bad |= !F::fits(x[i]);
  return !bad;
}
template <class F>
void unary(char* out, const char* const* in, int64_t n) {
  auto* x = reinterpret_cast<const float*>(in[0]);
  auto* y = reinterpret_cast<float*>(out);
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t m = std::min(kBlock, n - at);
    if (all_fit<F>(x + at, m)) unary_block<F>(x + at, y + at, m);
    else for (int64_t i = at; i < at + m; ++i) y[i] = F::f(x[i]), y[i] = F::fits(x[i]) ? y[i] : F::beyond(x[i]);
  }
}

// --- of two ------------------------------------------------------------------------------------------------------------

// a - trunc(a / b) b is exact in double where the quotient has few bits; rounded up, it is one too many.
INLINE float fmod_near(float a, float b) {
  const double x = a, y = b, r = x - std::trunc(x / y) * y, s = std::fabs(y);
  const double inside = (a < 0.f) == (r < 0) || r == 0 ? r : r + (r < 0 ? s : -s);
  return std::copysign(float(inside), a);
}
INLINE bool few_bits(float a, float b) { return std::fabs(a) < std::fabs(b) * 268435456.f && std::fabs(b) < std::numeric_limits<float>::infinity(); }

struct Fmod {
  INLINE static float f(float a, float b) { return fmod_near(a, b); }
  static float beyond(float a, float b) { return std::fmod(a, b); }
  INLINE static bool fits(float a, float b) { return few_bits(a, b); }
};
struct Remainder {
  INLINE static float with(float mod, float b) { return mod != 0.f && (b < 0.f) != (mod < 0.f) ? mod + b : mod; }
  INLINE static float f(float a, float b) { return with(fmod_near(a, b), b); }
  static float beyond(float a, float b) { return with(std::fmod(a, b), b); }
  INLINE static bool fits(float a, float b) { return few_bits(a, b); }
};
struct FloorDivide {
  INLINE static float with(float mod, float a, float b) {
    float div = (a - mod) / b;
    div = mod != 0.f && (b < 0.f) != (mod < 0.f) ? div - 1.f : div;
    const float whole = std::floor(div), near = div - whole > 0.5f ? whole + 1.f : whole;
    return div == 0.f ? std::copysign(0.f, a / b) : near;
  }
  INLINE static float f(float a, float b) { return with(fmod_near(a, b), a, b); }
  static float beyond(float a, float b) { return b == 0.f ? a / b : with(std::fmod(a, b), a, b); }
  INLINE static bool fits(float a, float b) { return few_bits(a, b); }
};
struct Hypot {
  INLINE static float f(float a, float b) { return float(std::sqrt(double(a) * a + double(b) * b)); }
  static float beyond(float a, float b) { return std::hypot(a, b); }
  INLINE static bool fits(float a, float b) { return std::fabs(a) + std::fabs(b) < std::numeric_limits<float>::infinity(); }
};
struct Atan2 {
  INLINE static float f(float y, float x) {
    const float a = std::fabs(y), b = std::fabs(x), most = a > b ? a : b, least = a > b ? b : a;
    const float near = atan_of(most == 0.f ? 0.f : least / most), turned = a > b ? kHalfPi - near : near;
    return std::copysign(std::copysign(1.f, x) < 0.f ? kPi - turned : turned, y);
  }
  static float beyond(float y, float x) { return std::atan2(y, x); }
  INLINE static bool fits(float y, float x) { return std::fabs(y) + std::fabs(x) < std::numeric_limits<float>::infinity(); }
};
// 2^(b log2 a) in double, for a positive a: log2 by the series of log((1 + s) / (1 - s)).
struct Pow {
  INLINE static float f(float a, float b) {
    const double x = a;
    const int64_t bits = std::bit_cast<int64_t>(x), e = (bits - 0x3fe6a09e667f3bcd) >> 52;
    const double m = std::bit_cast<double>(bits - (e << 52)), s = (m - 1) / (m + 1), z = s * s;
    const double p = polynomial(z, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0);
    double t = double(b) * (double(int32_t(e)) + 2.885390081777927 * s * p);
    t = t < -200 ? -200 : t > 200 ? 200 : t;
    const double sum = t + 6755399441055744.0, n = sum - 6755399441055744.0, r = t - n;            // 1.5 * 2^52: rounds to an integer
    const double q = polynomial(r, 1.531008141e-05, 1.546973200e-04, 1.333345056e-03, 9.618025603e-03, 5.550410941e-02, 2.402265121e-01, 6.931471805e-01, 1.0);
    const int64_t k = std::bit_cast<int64_t>(sum) - std::bit_cast<int64_t>(6755399441055744.0);
    return float(q * std::bit_cast<double>((k + 1023) << 52));
  }
  static float beyond(float a, float b) { return std::pow(a, b); }
  INLINE static bool fits(float a, float b) { return a > 0.f && a < std::numeric_limits<float>::infinity() && std::fabs(b) < std::numeric_limits<float>::infinity(); }
};

template <class F>
SHIM_MATH_CLONES void binary_block(const float* a, const float* b, float* y, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = F::f(a[i], b[i]);
}
template <class F>
SHIM_CLONES bool all_fit(const float* a, const float* b, int64_t n) {
  int bad = 0;
  for (int64_t i = 0; i < n; ++i) bad |= !F::fits(a[i], b[i]);
  return !bad;
}
template <class F>
void binary(char* out, const char* const* in, int64_t n) {
  auto *a = reinterpret_cast<const float*>(in[0]), *b = reinterpret_cast<const float*>(in[1]);
  auto* y = reinterpret_cast<float*>(out);
  constexpr int64_t kStep = 64;                 // what does not fit is worked out one by one: of a few neighbours only
  for (int64_t at = 0; at < n; at += kStep) {
    const int64_t m = std::min(kStep, n - at);
    if (all_fit<F>(a + at, b + at, m)) binary_block<F>(a + at, b + at, y + at, m);
    else for (int64_t i = at; i < at + m; ++i) y[i] = F::fits(a[i], b[i]) ? F::f(a[i], b[i]) : F::beyond(a[i], b[i]);
  }
}

#undef INLINE

struct Named { const char* name; BlockKernel kernel; };
template <size_t n>
BlockKernel find(const Named (&all)[n], const char* name) {
  for (const Named& k : all)
    if (!std::strcmp(k.name, name)) return k.kernel;
  return nullptr;
}

}  // namespace

BlockKernel more_math_kernel(const char* name) {
  static const Named all[] = {{"sinh", unary<Sinh>}, {"cosh", unary<Cosh>}, {"atan", unary<Atan>}, {"asin", unary<Asin>}, {"acos", unary<Acos>}, {"tan", unary<Tan>},
                              {"erfinv", unary<Erfinv>}, {"erfc", unary<Erfc>}};
  return find(all, name);
}

BlockKernel binary_math_kernel(const char* name) {
  static const Named all[] = {{"fmod", binary<Fmod>}, {"remainder", binary<Remainder>}, {"floor_divide", binary<FloorDivide>}, {"hypot", binary<Hypot>}, {"atan2", binary<Atan2>}, {"pow", binary<Pow>}};
  return find(all, name);
}

}  // namespace shim
