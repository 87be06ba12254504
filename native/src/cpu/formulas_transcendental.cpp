// Pointwise formulas with exponentials and the like: multiplications and additions are fused where the processor can.
#include <cmath>

#include "cpu/formula_macros.h"
#include "cpu/formulas.h"
#include "cpu/vector_math.h"

namespace shim {
namespace {

inline float e_of(float x) { return exp_of(x); }
inline double e_of(double x) { return std::exp(x); }
inline float e1_of(float x) { return expm1_of(x); }
inline double e1_of(double x) { return std::expm1(x); }
inline float l_of(float x) { return log_of(x); }
inline double l_of(double x) { return std::log(x); }
inline float l1_of(float x) { return log1p_of(x); }
inline double l1_of(double x) { return std::log1p(x); }
inline float th_of(float x) { return tanh_of(x); }
inline double th_of(double x) { return std::tanh(x); }
inline float phi_of(float x) { return erf_of(x); }
inline double phi_of(double x) { return std::erf(x); }

// log(1 + x) for x in [0, 1], which has no limits to watch.
inline float log1p_near(float x) {
  const float u = 1.f + x;
  const Logarithm l = log_parts(u);
  return l.e * 0.693359375f + (l.e * -2.12194440054690583e-4f + l.m) + (x - (u - 1.f)) / u;
}
inline double log1p_near(double x) { return std::log1p(x); }

// log(1 + exp(x)) without overflow.
template <class T> T softplus_of(T x) { return (x > T(0) ? x : T(0)) + log1p_near(e_of(-std::fabs(x))); }
template <class T> T logistic(T x) { return T(1) / (T(1) + e_of(-x)); }

FORMULA1(LogSigmoid, (x < T(0) ? x : T(0)) - log1p_near(e_of(-std::fabs(x))));
FORMULA3(Softplus, x* p > q ? x : softplus_of(x * p) / p);
FORMULA2(Xlogy, p != p ? p : x == T(0) ? T(0) : x * l_of(p));
FORMULA2(Xlog1py, p != p ? p : x == T(0) ? T(0) : x * l1_of(p));
struct Elu {
  template <class T> static T f(T x, T alpha, T scale, T input_scale) {
    return x > T(0) ? x * scale : alpha * scale * e1_of((x < T(0) ? x : x != x ? x : T(0)) * input_scale);
  }
};
// x tanh(log(1 + e)) = x (e^2 + 2 e) / (e^2 + 2 e + 2), e = exp(x); from 20 on it is x.
struct Mish {
  template <class T> static T f(T x) {
    const T e = e_of(x > T(20) ? T(20) : x), n = e * (e + T(2));
    return x > T(20) ? x : x * (n / (n + T(2)));
  }
};
struct LogAddExp {
  template <class T> static T f(T a, T b) {
    const T most = a > b ? a : b, least = a > b ? b : a;
    return most == least && std::fabs(most) == std::numeric_limits<T>::infinity() ? most
           : a != a                                                               ? a
                    : most + log1p_near(e_of(least - most));
  }
};
// log2(2^a + 2^b) by way of log(e^(a ln 2) + e^(b ln 2))
struct LogAddExp2 {
  template <class T> static T f(T a, T b) {
    constexpr T ln2 = T(0.69314718055994530942);
    const T most = a > b ? a : b, least = a > b ? b : a;
    return most == least && std::fabs(most) == std::numeric_limits<T>::infinity() ? most
           : a != a                                                               ? a
                    : most + log1p_near(e_of((least - most) * ln2)) / ln2;
  }
};
// The least and greatest chances are p and q; p below zero: none are.
struct Logit {
  template <class T> static T f(T x, T p, T q) {
    const T y = p < T(0) || x != x ? x : x < p ? p : x > q ? q : x;
    return l_of(y / (T(1) - y));
  }
};
template <float (*rounded)(float)> struct LogitInSteps {
  static float f(float x, float p, float q) {
    const float y = p < 0 || x != x ? x : x < p ? p : x > q ? q : x;
    return l_of(rounded(y / rounded(1 - y)));
  }
};
template <float (*rounded)(float)> struct XlogyInSteps {
  static float f(float x, float p) { return p != p ? p : x == 0 ? 0 : x * rounded(l_of(p)); }
};

// Slopes: g is the gradient.
struct SiluSlope {
  template <class T> static T f(T g, T x) {
    const T s = logistic(x);
    return g * s * (T(1) + x * (T(1) - s));
  }
};
struct GeluSlope {
  template <class T> static T f(T g, T x) {
    const T cdf = T(0.5) * (T(1) + phi_of(x * T(0.70710678118654752440)));
    return g * (cdf + x * e_of(T(-0.5) * x * x) * T(0.39894228040143267794));
  }
};
struct GeluTanhSlope {
  template <class T> static T f(T g, T x) {
    const T c = T(0.79788456080286535588), k = T(0.044715), t = th_of(c * (x + k * x * x * x));
    return g * (T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * c * (T(1) + T(3) * k * x * x));
  }
};
struct SoftplusSlope {
  template <class T> static T f(T g, T x, T beta, T threshold) {
    return x * beta > threshold ? g : g * logistic(x * beta);
  }
};
FORMULA2(LogSigmoidSlope, x* logistic(-p));
struct MishSlope {
  template <class T> static T f(T g, T x) {
    const T e = e_of(x > T(20) ? T(20) : x), n = e * (e + T(2)), t = n / (n + T(2));
    return x > T(20) ? g : g * (t + x * (T(1) - t * t) * logistic(x));
  }
};
#if defined(__GLIBC__)
inline double log_gamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}
#else
inline double log_gamma(double x) { return std::lgamma(x); }
#endif
FORMULA1(Lgamma, log_gamma(x));
// Reflected from the left, moved to where the asymptotic series of log x - 1 / 2x holds.
struct Digamma {
  template <class T> static T f(T given) {
    double x = double(given), sum = 0;
    if (x == 0) return std::copysign(std::numeric_limits<T>::infinity(), -given);
    if (x < 0) {
      const double part = x - std::trunc(x);
      if (part == 0) return std::numeric_limits<T>::quiet_NaN();
      sum = -3.14159265358979323846 / std::tan(3.14159265358979323846 * part);
      x = 1 - x;
    }
    for (; x < 10; x += 1) sum -= 1 / x;
    const double z = 1 / (x * x);
    double p = 1.0 / 12;
    for (double c : {-691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12}) p = p * z + c;
    return T(sum + std::log(x) - 0.5 / x - z * p);
  }
};

// Binary cross entropy of a chance x in [0, 1] and a target p.
template <class T> T no_less(T x) { return x < T(-100) ? T(-100) : x; }
FORMULA2(Bce, (p - T(1)) * no_less(l1_of(-x)) - p * no_less(l_of(x)));
struct Hypot {
  template <class T> static T f(T a, T b) { return std::hypot(a, b); }
};
struct Sinc {
  template <class T> static T f(T x) {
    const T turns = T(3.14159265358979323846) * x;
    return x == T(0) ? T(1) : std::sin(turns) / turns;
  }
};

// Binary cross entropy of a logit x and a target p.
FORMULA2(BceLogits, x*(T(1) - p) + softplus_of(-x));
FORMULA3(BceLogitsSlope, x*(logistic(p) - q));  // x: the gradient

template <class Op, int tensors, int numbers> constexpr PointwiseFormula curved_of(const char* name) {
  return {name, tensors, numbers, formula_loop<Op, float, tensors + numbers>,
      narrow_formula_loop<Op, double, tensors + numbers>};
}

constexpr PointwiseFormula kCurved[] = {
    curved_of<LogSigmoid, 1, 0>("log_sigmoid"),
    curved_of<Softplus, 1, 2>("softplus"),
    curved_of<Elu, 1, 3>("elu"),
    curved_of<Mish, 1, 0>("mish"),
    {"xlogy", 2, 0, formula_loop<Xlogy, float, 2>, narrow_formula_loop<Xlogy, double, 2>,
        formula_loop<XlogyInSteps<rounded_half>, float, 2>, formula_loop<XlogyInSteps<rounded_bfloat16>, float, 2>},
    curved_of<Xlog1py, 2, 0>("xlog1py"),
    curved_of<LogAddExp, 2, 0>("logaddexp"),
    curved_of<LogAddExp2, 2, 0>("logaddexp2"),
    {"logit_of", 1, 2, formula_loop<Logit, float, 3>, narrow_formula_loop<Logit, double, 3>,
        formula_loop<LogitInSteps<rounded_half>, float, 3>, formula_loop<LogitInSteps<rounded_bfloat16>, float, 3>},
    curved_of<SiluSlope, 2, 0>("silu_backward"),
    curved_of<GeluSlope, 2, 0>("gelu_backward"),
    curved_of<GeluTanhSlope, 2, 0>("gelu_tanh_backward"),
    curved_of<SoftplusSlope, 2, 2>("softplus_backward"),
    curved_of<LogSigmoidSlope, 2, 0>("log_sigmoid_backward"),
    curved_of<MishSlope, 2, 0>("mish_backward"),
    curved_of<BceLogits, 2, 0>("bce_with_logits"),
    curved_of<Bce, 2, 0>("binary_cross_entropy"),
    {"lgamma", 1, 0, [](char* out, const char* const* in, int64_t n) { special_math_kernel("lgamma")(out, in, n); },
        narrow_formula_loop<Lgamma, double, 1>},
    {"digamma", 1, 0, narrow_formula_loop<Digamma, float, 1>, narrow_formula_loop<Digamma, double, 1>},
    {"sinc", 1, 0, narrow_formula_loop<Sinc, float, 1>, narrow_formula_loop<Sinc, double, 1>},
    {"real_atan2", 2, 0, [](char* out, const char* const* in, int64_t n) { binary_math_kernel("atan2")(out, in, n); },
        nullptr},
    {"real_hypot", 2, 0, [](char* out, const char* const* in, int64_t n) { binary_math_kernel("hypot")(out, in, n); },
        narrow_formula_loop<Hypot, double, 2>},
    {"erfinv", 1, 0, [](char* out, const char* const* in, int64_t n) { special_math_kernel("erfinv")(out, in, n); },
        nullptr},
    curved_of<BceLogitsSlope, 3, 0>("bce_with_logits_backward"),
};

}  // namespace

std::span<const PointwiseFormula> curved_formulas() { return kCurved; }

}  // namespace shim
