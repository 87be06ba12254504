#pragma once
// Functions of one float, for vectors: hyperbolas, angles, and error, gamma and Bessel functions. Coefficients are fits
// of least maximal error.
#include <bit>
#include <cmath>

#include "cpu/kernel_table.h"
#include "cpu/vector_math.h"

namespace shim {

namespace {

#define SHIM_ALWAYS_INLINE inline __attribute__((always_inline))

constexpr double kHalfPi = 1.57079632679489661923, kPi = 3.14159265358979323846;

// Angles and hyperbolas are worked out in double and rounded once.
// e = exp(|x|) - 1: sinh is (e + e / (e + 1)) / 2, without a difference that loses digits.
SHIM_ALWAYS_INLINE float sinh_of(float x) {
  const double e = expm1_in_double(std::fabs(double(x)));
  return std::copysign(float(0.5 * (e + e / (e + 1))), x);
}
SHIM_ALWAYS_INLINE float cosh_of(float x) {
  const double e = expm1_in_double(std::fabs(double(x)));
  return float(1 + 0.5 * e * (e / (e + 1)));
}
// atan(y) = y + y^3 P(y^2) on [0, 1], beyond which the axis is turned; t >= 0.
SHIM_ALWAYS_INLINE double atan_in_double(double t) {
  const bool far = t > 1;
  const double y = far ? 1 / t : t, z = y * y;
  const double p = polynomial(z, -1.793622295e-03, 1.091460846e-02, -3.117785109e-02, 5.795759904e-02, -8.403450660e-02,
      1.095218589e-01, -1.426424170e-01, 1.999854829e-01, -3.333329909e-01);
  const double angle = y + y * z * p;
  return far ? kHalfPi - angle : angle;
}
SHIM_ALWAYS_INLINE float atan_of(float x) { return std::copysign(float(atan_in_double(std::fabs(double(x)))), x); }
SHIM_ALWAYS_INLINE double asin_near(double x) {  // |x| <= 1/2
  const double z = x * x;
  const double p = polynomial(
      z, 3.380570512e-02, 1.707788905e-02, 3.111614902e-02, 4.459803304e-02, 7.500098759e-02, 1.666666632e-01);
  return x + x * z * p;
}
SHIM_ALWAYS_INLINE float asin_of(float x) {
  const double t = std::fabs(double(x)), s = std::sqrt(0.5 * (1 - t));  // NaN beyond 1
  const double y = asin_near(t <= 0.5 ? t : s);
  return std::copysign(float(t <= 0.5 ? y : kHalfPi - 2 * y), x);
}
SHIM_ALWAYS_INLINE float acos_of(float x) {
  const double t = std::fabs(double(x)), s = std::sqrt(0.5 * (1 - t)), y = asin_near(t <= 0.5 ? double(x) : s);
  return float(t <= 0.5 ? kHalfPi - y : x > 0.f ? 2 * y : kPi - 2 * y);
}
// tan(r) = r + r^3 P(r^2) on |r| <= pi/4, r = x - n pi/2; in every other quarter its negative reciprocal.
SHIM_ALWAYS_INLINE float tan_of(float x) {
  const double sum = double(x) * 0.63661977236758134308 + kRoundDouble, n = sum - kRoundDouble;
  const double r = (double(x) - n * 1.5707963267341256) - n * 6.077100506303966e-11, z = r * r;
  const double p = polynomial(z, 4.387079457e-03, 6.819752070e-05, 1.085218442e-02, 2.127605600e-02, 5.406106679e-02,
      1.333265353e-01, 3.333335003e-01);
  const double t = r + r * z * p;
  const bool odd = (std::bit_cast<int64_t>(sum) & 1) != 0;
  return x == 0.f ? x : float(odd ? -1 / t : t);
}
// x * f(w), w = -log(1 - x^2): in w, and where it is large in its root.
SHIM_ALWAYS_INLINE float erfinv_of(float x) {
  const float w = -log_of((1.f - x) * (1.f + x)), a = w - 2.5f, b = std::sqrt(w) - 3.f;
  const float p = polynomial(a, -8.739829826e-09f, 2.328584309e-08f, 4.654287162e-07f, -3.463356150e-06f,
      -4.959743436e-06f, 2.183469146e-04f, -1.252748417e-03f, -4.177389759e-03f, 2.466402894e-01f, 1.501409360e+00f);
  const float q = polynomial(b, -1.363909200e-04f, 5.349363319e-05f, 1.267379239e-03f, -3.624142265e-03f,
      5.774279380e-03f, -7.636678572e-03f, 9.433860207e-03f, 1.001675068e+00f, 2.832977038e+00f);
  const float inside = x * (w < 5.f ? p : q);
  return std::fabs(x) == 1.f ? std::copysign(std::numeric_limits<float>::infinity(), x)
                             : inside;  // NaN beyond 1: the logarithm's
}

// 2^n e^r, |r| <= ln(2) / 2, of a double between -700 and 700. n is a sum's last bits.
SHIM_ALWAYS_INLINE double exp_in_double(double x) {
  const double sum = x * 1.44269504088896340736 + kRoundDouble, n = sum - kRoundDouble;
  const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  const double p = polynomial(r, 2.48015209968256970e-05, 1.98412698632018282e-04, 1.38888889174064467e-03,
      8.33333333333003204e-03, 4.16666666666237404e-02, 1.66666666666666685e-01, 5.00000000000000111e-01);
  return power_of_two_in(sum) * (1 + (r + r * r * p));
}

// The complementary error function and the logarithm of gamma of a float, in double to 1e-10 of the value, so that one rounding makes
// them floats. erfc(t) = e^(-t^2) u P(u - 1/2), u = 1 / (1 + t / 2), of t up to 11, where a float is 0; of t below zero 2 less it.
SHIM_ALWAYS_INLINE double erfc_in_double(double x) {
  const double most = std::fabs(x), t = most > 11 ? 11 : most, u = 1 / (1 + 0.5 * t);
  const double p = polynomial(u - 0.5, 3.04334898759116949e-02, -3.82181421314045575e-02, -2.65019386582010241e-02,
      7.16827529725107687e-02, -9.82194551361640668e-03, -8.45664748451086662e-02, 5.36544260464573361e-02,
      9.88801364686671402e-02, -1.03669361561692097e-01, -1.72084728701231759e-01, 1.45768966768231173e-01,
      5.58944179052201839e-01, 6.87160684193673599e-01, 5.10791352631391971e-01);
  const double tail = u * p * exp_in_double(-t * t);
  return x < 0 ? 2 - tail : tail;
}

SHIM_ALWAYS_INLINE float erfc_of(float x) { return float(erfc_in_double(x)); }
// The normal distribution's function.
SHIM_ALWAYS_INLINE float ndtr_of(float x) { return float(0.5 * erfc_in_double(x * -0.70710678118654752440)); }
// (2 p - 1) f(w), w = -log(4 p (1 - p)): in w, and where it is large, in its root.
SHIM_ALWAYS_INLINE float ndtri_of(float p) {
  const float w = -log_of(4.f * p * (1.f - p)), root = std::sqrt(w), a = w - 2.5f, b = root - 3.f, c = root - 7.f;
  const float near = polynomial(a, -1.243243128e-08f, 3.285592068e-08f, 6.592648752e-07f, -4.897004032e-06f,
      -7.019233850e-06f, 3.087856675e-04f, -1.771644555e-03f, -5.907717041e-03f, 3.488020377e-01f, 2.123313479e+00f);
  const float tail =
      polynomial(b, -3.726270402e-05f, 2.245883382e-04f, -4.002988987e-04f, -1.666381392e-04f, 2.091145025e-03f,
          -5.045845173e-03f, 8.042281163e-03f, -1.080835520e-02f, 1.335780046e-02f, 1.416582702e+00f, 4.006434213e+00f);
  const float far = polynomial(c, -3.767272633e-09f, 2.186556424e-08f, -5.207760783e-08f, 3.552709508e-07f,
      -2.421499384e-06f, 8.878282666e-06f, 9.183045282e-06f, -7.253807199e-04f, 1.426369415e+00f, 9.714260822e+00f);
  const float x = 2.f * p - 1.f, inside = x * (w < 5.f ? near : root < 4.f ? tail : far);
  return p == 0.f || p == 1.f ? x * std::numeric_limits<float>::infinity()
                              : inside;  // NaN beyond them: the logarithm's
}

// Modified Bessel functions of the first kind: a polynomial in x^2 up to 8, beyond e^x / sqrt(x) times one in 1 / x.
template <int order, bool scaled> SHIM_ALWAYS_INLINE float bessel_i_of(float x) {
  const float t = std::fabs(x), z = t < 8.f ? x * x : 64.f, r = 1.f / (t < 8.f ? 8.f : t),
              e = exp_of(scaled ? -t : 0.5f * t);
  const float near =
      order ? x * polynomial(z, 2.750443758e-18f, 3.504555090e-16f, 1.617822633e-13f, 3.318283119e-11f,
                      5.662105961e-09f, 6.780216022e-07f, 5.425457657e-05f, 2.604162677e-03f, 6.250000522e-02f, 0.5f)
            : polynomial(z, 5.716075158e-17f, 5.815640195e-15f, 2.634186734e-12f, 4.623521016e-10f, 6.800496622e-08f,
                  6.779313811e-06f, 4.340438215e-04f, 1.562494926e-02f, 2.500000560e-01f, 1.f);
  const float far =
      std::sqrt(r) * (order ? polynomial(r, -2.076166940e+00f, 3.376526867e-01f, -1.034086320e-01f, -3.865887962e-02f,
                                  -4.680184413e-02f, -1.496029310e-01f, 3.989422798e-01f)
                            : polynomial(r, 1.827748810e+00f, -3.056589301e-01f, 8.513036190e-02f, 2.725058322e-02f,
                                  2.809482794e-02f, 4.986741888e-02f, 3.989422809e-01f));
  const float beyond = order ? std::copysign(far, x) : far;
  return t < 8.f ? (scaled ? near * e : near) : scaled ? beyond : beyond * e * e;  // NaN goes on in e
}

// log2 x by the series of log((1 + s) / (1 - s)); of 0, infinity and NaN it is any number.
SHIM_ALWAYS_INLINE double log2_in_double(double x) {
  const int64_t bits = std::bit_cast<int64_t>(x), e = (bits - 0x3fe6a09e667f3bcd) >> 52;
  const double m = std::bit_cast<double>(bits - (e << 52)), s = (m - 1) / (m + 1);
  const double p = polynomial(s * s, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0);
  return double(int32_t(e)) + 2.885390081777927 * s * p;
}
SHIM_ALWAYS_INLINE double log_in_double(double x) { return 0.69314718055994530942 * log2_in_double(x); }

// Stirling's series, below 8 of t + 8 less the logarithm of t (t + 1) ... (t + 7), reflected from the left: log(pi / (t |sin(pi t)|)).
// Around its zeros 1 and 2 that is a difference of large numbers: there it is (x - 2) P(x - 2), one step to the left less log x.
SHIM_ALWAYS_INLINE float lgamma_of(float given) {
  const double x = given, t = std::fabs(x), u = t * t + 7 * t, v = t < 8 ? t + 8 : t, r = 1 / v, rr = r * r;
  const double whole = (t + kRoundDouble) - kRoundDouble, f = 3.14159265358979323846 * std::fabs(t - whole);
  const double sine = f * polynomial(f * f, -1.0 / 121645100408832000, 1.0 / 355687428096000, -1.0 / 1307674368000,
                              1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1.0);
  const double product = t < 8 ? u * (u + 6) * (u + 10) * (u + 12) : 1,
               below = x < 0 ? product * 3.14159265358979323846 / (t * sine) : product;
  const double rest =
      polynomial(rr, 1.0 / 156, -691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12) * r;
  const double far = ((v - 0.5) * log_in_double(v) - log_in_double(below)) - v + 0.91893853320467274178 + rest;
  const bool left = t < 1.5;
  const double d = left ? t - 1 : t - 2;
  const double near = d * polynomial(d, 2.41545953812786883e-05, -5.27872185845486695e-05, 9.83969764319086873e-05,
                              -2.20869826024256322e-04, 5.09809158031352717e-04, -1.19305470504067063e-03,
                              2.89050208214398962e-03, -7.38553326128800827e-03, 2.05808086052377444e-02,
                              -6.73523014354150684e-02, 3.22467033423496585e-01, 4.22784335099795294e-01) -
                      (left ? log_in_double(t) : 0.0);
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const bool pole = t == 0 || t == infinite || (x < 0 && (f == 0 || t >= 8388608));
  const double found = x < 0 ? -far : t >= 0.5 && t < 2.5 ? near : far;
  return float(pole ? infinite : found);
}

}  // namespace

}  // namespace shim
