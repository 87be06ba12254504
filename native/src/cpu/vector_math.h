#pragma once
// Functions of float32, some of float64, that the compiler can turn into vector code: no branches, no tables. The coefficients are
// fits of least maximal relative error to the series named beside them; results are off by about one unit in the last place.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace shim {

// A polynomial from its highest coefficient down; written out, so that loops around it become vector code.
template <class T> __attribute__((always_inline)) inline T polynomial(T, T p) { return p; }
template <class T, class... More> __attribute__((always_inline)) inline T polynomial(T x, T p, T c, More... more) {
  return polynomial(x, p * x + c, T(more)...);
}

// exp(r) = 1 + r + r^2 P(r) on |r| <= ln(2)/2.
inline float exp_series(float r) {
  float p = polynomial(r, 1.381455788e-03f, 8.368735994e-03f, 4.166838992e-02f, 1.666652047e-01f, 4.999999344e-01f);
  return p * r * r + r + 1.f;
}

// 2^k, for k where the result is a normal float32.
inline float power_of_two(int32_t k) { return std::bit_cast<float>((k + 127) << 23); }

// x + kRound rounds x to an integer, which then stands in the low bits of the sum: |x| < 2^22. Of NaN the integer is any.
constexpr float kRound = 12582912.f;  // 1.5 * 2^23
inline int32_t integer_in(float sum) { return std::bit_cast<int32_t>(sum) - std::bit_cast<int32_t>(kRound); }

inline float exp_of(float x) {
  float c = x > 89.f ? 89.f : x < -104.f ? -104.f : x;  // NaN passes both tests
  float sum = c * 1.44269504088896f + kRound, n = sum - kRound;
  float r = (c - n * 0.693359375f) - n * -2.12194440054690583e-4f;  // ln 2 in two parts; the first is exact in few bits
  int32_t k = integer_in(sum), half = k >> 1;                       // in two factors: 2^k alone may be no float32
  return exp_series(r) * power_of_two(half) * power_of_two(k - half);
}
// In double as in float; integers stand in the low bits of sums with 1.5 * 2^52.
constexpr double kRoundDouble = 6755399441055744.0;
inline double power_of_two_in(double sum) {
  return std::bit_cast<double>((std::bit_cast<int64_t>(sum) - std::bit_cast<int64_t>(kRoundDouble) + 1023) << 52);
}
inline double exp_of(double x) {
  double c = x > 710 ? 710 : x < -746 ? -746 : x;  // NaN passes both tests
  double n = (c * 1.44269504088896340736 + kRoundDouble) - kRoundDouble;
  double r = (c - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  double p = polynomial(r, 2.51004947889050417e-08, 2.76202305675069002e-07, 2.75572682299632275e-06,
      2.48015209968256970e-05, 1.98412698632018282e-04, 1.38888889174064467e-03, 8.33333333333003204e-03,
      4.16666666666237404e-02, 1.66666666666666685e-01, 5.00000000000000111e-01);
  double half = n * 0.5 + kRoundDouble,
         rest = (n - (half - kRoundDouble)) + kRoundDouble;  // in two factors: 2^n alone may be no double
  return (1 + (r + r * r * p)) * power_of_two_in(half) * power_of_two_in(rest);
}

// exp where the argument is not above 0 and results below 2^-125 may be 0.
inline float exp_below(float x) {
  float c = x < -87.f ? -87.f : x;
  float sum = c * 1.44269504088896f + kRound, n = sum - kRound;
  float r = (c - n * 0.693359375f) - n * -2.12194440054690583e-4f;
  float e = exp_series(r) * power_of_two(integer_in(sum));
  return x < -87.f ? 0.f : e;
}
inline double exp_below(double x) { return exp_of(x); }

inline float exp2_of(float x) {
  float c = x > 129.f ? 129.f : x < -151.f ? -151.f : x;
  float sum = c + kRound, n = sum - kRound;
  int32_t k = integer_in(sum), half = k >> 1;
  return exp_series((c - n) * 0.693147180559945f) * power_of_two(half) * power_of_two(k - half);
}

// exp(x) - 1 = 2^n (exp(r) - 1) + (2^n - 1), r as in exp.
inline float expm1_of(float x) {
  float c = x > 89.f ? 89.f : x < -80.f ? -80.f : x;  // NaN passes both tests
  float sum = c * 1.44269504088896f + kRound, n = sum - kRound;
  float r = (c - n * 0.693359375f) - n * -2.12194440054690583e-4f;
  float p = polynomial(
      r, 1.979031797e-04f, 1.394468963e-03f, 8.333497246e-03f, 4.166629455e-02f, 1.666666587e-01f, 5.000000068e-01f);
  float power = power_of_two(integer_in(sum) - 1), small = p * r * r + r;  // half of 2^n, which alone may be no float32
  float large = 2.f * (power * small + (power - 0.5f));
  return n == 0.f ? (x == 0.f ? x : small) : large;
}

// The same in double, for a float: right to its last place, and not much more.
inline double expm1_in_double(double x) {
  double c = x > 130 ? 130 : x < -130 ? -130 : x;  // beyond float32 on both sides; NaN passes both tests
  double sum = c * 1.44269504088896340736 + kRoundDouble, n = sum - kRoundDouble;
  double r = (c - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  double p = polynomial(r, 2.48015209968256970e-05, 1.98412698632018282e-04, 1.38888889174064467e-03,
      8.33333333333003204e-03, 4.16666666666237404e-02, 1.66666666666666685e-01, 5.00000000000000111e-01);
  double power = power_of_two_in(sum), small = r + r * r * p;
  return power * small + (power - 1);  // of n = 0 the small part alone: 2^0 - 1 is 0
}

// x = 2^e * m with m in [sqrt(1/2), sqrt(2)); log(m) = f - f^2/2 + f^3 P(f), f = m - 1.
struct Logarithm {
  float e, m;
};
inline Logarithm log_parts(float x) {
  bool tiny = x < 1.17549435e-38f;
  int32_t u = std::bit_cast<int32_t>(tiny ? x * 8388608.f : x);
  int32_t e = (u - 0x3f3504f3) >> 23;
  float f = std::bit_cast<float>(u - (e << 23)) - 1.f, z = f * f;
  float p = polynomial(f, 6.746607911e-02f, -1.167565306e-01f, 1.188817809e-01f, -1.240558986e-01f, 1.421955027e-01f,
      -1.666799572e-01f, 2.000211876e-01f, -2.500000960e-01f, 3.333331260e-01f);
  return {float(e - (tiny ? 23 : 0)), f - (0.5f * z - f * z * p)};
}
inline float log_limits(float x, float inside) {  // outside of (0, inf)
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  float beyond = x == 0.f ? -kInfinity : std::numeric_limits<float>::quiet_NaN();
  return x > 0.f ? (x < kInfinity ? inside : x) : beyond;
}
inline float log_of(float x) {
  Logarithm l = log_parts(x);
  return log_limits(x, l.e * 0.693359375f + (l.e * -2.12194440054690583e-4f + l.m));
}
// f - f^2/2 + s (f^2/2 + s^2 P(s^2)), s = f / (2 + f).
inline double log_of(double x) {
  bool tiny = x < 2.2250738585072014e-308;
  int64_t u = std::bit_cast<int64_t>(tiny ? x * 18014398509481984.0 : x) + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
  double e = std::bit_cast<double>(int64_t(uint64_t(u) >> 52 | 0x4330000000000000)) -
             (tiny ? 4503599627370496.0 + 1077 : 4503599627370496.0 + 1023);
  double f = std::bit_cast<double>((u & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd) - 1, s = f / (2 + f), z = s * s,
         h = 0.5 * f * f;
  double p = polynomial(z, 1.46178071534173254e-01, 1.53316117220550080e-01, 1.81828924325368707e-01,
      2.22222110893794955e-01, 2.85714286262538364e-01, 3.99999999998988887e-01, 6.66666666666666963e-01);
  double inside = e * 6.93147180369123816490e-01 - ((h - (s * (h + z * p) + e * 1.90821492927058770002e-10)) - f);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double beyond = x == 0 ? -kInfinity : std::numeric_limits<double>::quiet_NaN();
  return x > 0 ? (x < kInfinity ? inside : x) : beyond;
}
inline float log2_of(float x) {
  Logarithm l = log_parts(x);
  return log_limits(x, l.e + l.m * 1.44269504088896f);
}
inline float log10_of(float x) {
  Logarithm l = log_parts(x);
  return log_limits(x, l.e * 0.30078125f + (l.e * 2.4874566398119509e-4f + l.m * 0.43429448190325f));
}
inline float log1p_of(float x) {
  float u = 1.f + x, l = log_of(u), lost = (x - (u - 1.f)) / u;  // what the addition rounded away
  float inside = u > 0.f && u < std::numeric_limits<float>::infinity() ? l + lost : l;
  return u == 1.f ? x : inside;
}

// tanh(x) = x + x^3 P(x^2) for small x, else 1 - 2 / (exp(2x) + 1).
inline float tanh_of(float x) {
  float t = std::fabs(x), z = x * x, c = t > 10.f ? 20.f : t + t;  // tanh(10) is 1; NaN passes the test
  float p = polynomial(
      z, 2.147535344e-03f, -8.182672262e-03f, 2.170296649e-02f, -5.394720416e-02f, 1.333320976e-01f, -3.333333091e-01f);
  float sum = c * 1.44269504088896f + kRound,
        n = sum - kRound;  // exp(c), which needs no care for what is no normal number
  float r = (c - n * 0.693359375f) - n * -2.12194440054690583e-4f;
  float large = 1.f - 2.f / (exp_series(r) * power_of_two(integer_in(sum)) + 1.f);
  return std::copysign(t < 0.625f ? t + t * z * p : large, x);
}

inline double tanh_of(double x) {
  double t = std::fabs(x), z = x * x;
  double p = polynomial(z, -2.06027653763663402e-05, 8.51131368557767076e-05, -2.34634741088723703e-04,
      5.88936052007405734e-04, -1.45566183010071605e-03, 3.59211037868902407e-03, -8.86323439781435546e-03,
      2.18694884936669436e-02, -5.39682539674340156e-02, 1.33333333333327142e-01, -3.33333333333333315e-01);
  double large = 1 - 2 / (exp_of(t + t) + 1);
  return std::copysign(t < 0.55 ? t + t * z * p : large, x);
}

inline float sigmoid_of(float x) { return 1.f / (1.f + exp_of(-x)); }
inline double sigmoid_of(double x) { return 1 / (1 + exp_of(-x)); }

// erf(x) = x + x P(x^2) for |x| < 1, else 1 - exp(-Q(|x|)); from 4.1 on it is 1.
inline float erf_of(float x) {
  float t = std::fabs(x), z = x * x;
  float p = polynomial(z, 7.853857974e-05f, -8.010192844e-04f, 5.188327631e-03f, -2.685381193e-02f, 1.128358515e-01f,
      -3.761262582e-01f, 1.283791657e-01f);
  float c = t > 4.1f ? 4.1f : t;
  float q = polynomial(c, 2.144557342e-05f, -4.385299946e-04f, 4.190855906e-03f, -2.517180877e-02f, 1.083615520e-01f,
      6.332724145e-01f, 1.129552041e+00f, -1.824600311e-04f);
  return t < 1.f ? x + x * p : std::copysign(1.f - exp_below(-q), x);
}

// gelu(x) = x Phi(x), with Phi from 1 - 2^Q(|x|) alone: small differences of erf do not show beside 1.
inline float gelu_of(float x) {
  float t = std::fabs(x) * 0.70710678118654752440f, c = t > 4.1f ? 4.1f : t;
  float q = polynomial(c, -4.435232058e-05f, 4.369406788e-04f, -1.460372354e-03f, -8.251769809e-04f, 2.830189410e-02f,
      -1.485066494e-01f, -9.184098145e-01f, -1.627909325e+00f, 2.171510420e-08f);
  float sum = q + kRound, s = q - (sum - kRound);  // q is in [-28, 0]: no limits to watch
  // exp_series in powers of s = r / ln 2.
  float p = polynomial(s, 1.532109328e-04f, 1.339020336e-03f, 9.618526895e-03f, 5.550362179e-02f, 2.402264754e-01f);
  float e = (p * s * s + s * 0.693147180559945f + 1.f) * power_of_two(integer_in(sum));
  return x * 0.5f * (1.f + std::copysign(1.f - e, x));
}

// sin(r) and cos(r) on |r| <= pi/4, r = x - n pi/2 with pi/2 in four parts, the first three exact in few bits: for |x| <= kReducible.
constexpr float kReducible = 4096.f;
inline float sine_in(float r, int32_t quarter) {
  float z = r * r;
  float s = polynomial(z, -1.950906140e-04f, 8.332118495e-03f, -1.666665402e-01f);
  float c = polynomial(z, 2.442362274e-05f, -1.388723341e-03f, 4.166664400e-02f);
  float value = quarter & 1 ? c * z * z - 0.5f * z + 1.f : s * z * r + r;
  return quarter & 2 ? -value : value;
}
struct Quarter {
  float r;
  int32_t turn;
};
inline Quarter quarter_of(float x) {
  float sum = x * 0.636619772367581f + kRound, n = sum - kRound;
  float r =
      (((x - n * 1.5703125f) - n * 4.837512969970703e-4f) - n * 7.549533620476723e-8f) - n * 2.5632829192545614e-12f;
  return {r, integer_in(sum)};
}
inline float sine_at(float x, int32_t turn) {
  const Quarter q = quarter_of(x);
  return sine_in(q.r, q.turn + turn);
}
// The same in double, pi/2 in three parts, for |x| <= 2^19.
constexpr double kReducibleDouble = 524288;
inline double sine_at(double x, int64_t turn) {
  double sum = x * 0.63661977236758134308 + kRoundDouble, n = sum - kRoundDouble;
  int64_t quarter = std::bit_cast<int64_t>(sum) - std::bit_cast<int64_t>(kRoundDouble) + turn;
  double r = ((x - n * 1.5707963267341256) - n * 6.077100506303966e-11) - n * 2.0222662487959506e-21, z = r * r;
  double s = polynomial(z, 1.59178485248082617e-10, -2.50511279440141876e-08, 2.75573160838163581e-06,
      -1.98412698367224182e-04, 8.33333333333092542e-03, -1.66666666666666657e-01);
  double c = polynomial(z, -1.13824567780613059e-11, 2.08761438279931326e-09, -2.75573172600088370e-07,
      2.48015872987430700e-05, -1.38888888888873824e-03, 4.16666666666666644e-02);
  double value = quarter & 1 ? 1 - (0.5 * z - c * z * z) : r + s * z * r;
  return quarter & 2 ? -value : value;
}
inline double sin_of(double x) { return x == 0 ? x : sine_at(x, int64_t(0)); }
inline double cos_of(double x) { return sine_at(x, int64_t(1)); }
inline float sin_of(float x) { return x == 0.f ? x : sine_at(x, 0); }
inline float cos_of(float x) { return sine_at(x, 1); }

}  // namespace shim
