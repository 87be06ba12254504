// The pointwise operators of torch.special: functions in double, and polynomials by recurrences in the values' own type.
#include <cmath>
#include <limits>

#include "cpu/parallel.h"
#include "cpu/special_functions.h"

namespace shim {
namespace {

using namespace special;

template <class F, class T> void of_one(char* out, const char* const* in, int64_t n) {
  for (int64_t i = 0; i < n; ++i) reinterpret_cast<T*>(out)[i] = T(F::f(double(reinterpret_cast<const T*>(in[0])[i])));
}
template <class F, class T> void of_two(char* out, const char* const* in, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    reinterpret_cast<T*>(out)[i] =
        T(F::f(double(reinterpret_cast<const T*>(in[0])[i]), double(reinterpret_cast<const T*>(in[1])[i])));
}
template <class F, class T> void of_degree(char* out, const char* const* in, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    reinterpret_cast<T*>(out)[i] =
        F::template f<T>(reinterpret_cast<const T*>(in[0])[i], reinterpret_cast<const T*>(in[1])[i]);
}

#define ONE(Name, expression)                        \
  struct Name {                                      \
    static double f(double x) { return expression; } \
  }
#define TWO(Name, expression)                                  \
  struct Name {                                                \
    static double f(double x, double y) { return expression; } \
  }
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
ONE(I0, modified_i(x, 0, false));
ONE(I0e, modified_i(x, 0, true));
ONE(I1, std::isinf(x) ? kNan : modified_i(x, 1, false));  // PyTorch multiplies an infinite exponential by zero there
ONE(I1e, modified_i(x, 1, true));
ONE(ModifiedI0, std::isinf(x) ? kNan : modified_i(x, 0, false));
ONE(K0, modified_k(x, 0, false));
ONE(K1, modified_k(x, 1, false));
ONE(ScaledK0, modified_k(x, 0, true));
ONE(ScaledK1, modified_k(x, 1, true));
ONE(J0, bessel_j(x, 0));
ONE(J1, bessel_j(x, 1));
ONE(Y0, bessel_y(x, 0));
ONE(Y1, bessel_y(x, 1));
ONE(SphericalJ0, x == 0 ? 1 : std::isinf(x) ? 0 : std::sin(x) / x);
ONE(Airy, airy_ai(x));
ONE(Erfcx, erfcx(x));
ONE(Ndtr, 0.5 * std::erfc(-x * 0.70710678118654752440));
ONE(LogNdtr, log_ndtr(x));
ONE(Ndtri, ndtri(x));
ONE(Entropy, std::isnan(x) ? x : x > 0 ? -x * std::log(x) : x == 0 ? 0 : -std::numeric_limits<double>::infinity());
TWO(Igamma, gamma_incomplete(x, y, false));
TWO(Igammac, gamma_incomplete(x, y, true));
TWO(Zeta, zeta(x, y));

// p(k + 1) = next(x, k, p(k), p(k - 1)) from p(0) = 1 and p(1); a value that is no number any more stays so.
template <class T, class Next> T recurrence(T degree, T first, Next next) {
  if (degree < 1) return degree == 0 ? T(1) : T(0);
  T before = 1, now = first;
  for (T k = 1; k < degree && !std::isnan(now); k += 1) {
    const T after = next(k, now, before);
    before = now;
    now = after;
  }
  return now;
}
// A degree as PyTorch reads it: an integer, none where no int64 holds it.
template <class T> T degree_of(T n) { return std::fabs(n) < T(9223372036854775808.0) ? std::trunc(n) : T(-1); }
template <class T> bool even(T n) { return std::fmod(n, T(2)) == 0; }

enum Kind { t, u, v, w };
// A closed form beyond the degree `above` inside (-1, 1).
template <Kind kind, bool shifted, int above> struct Chebyshev {
  template <class T> static T f(T given, T n) {
    const T degree = degree_of(n), x = shifted ? given + given - T(1) : given;
    if (degree < 0) return T(0);
    const bool high = shifted ? given == T(1) : x == T(1), low = shifted ? given == T(0) : x == T(-1);
    if (high || low) return end(degree, high);
    if (degree > above && std::fabs(x) < T(1)) return closed(x, degree);
    const T first = kind == t ? x : kind == u ? x + x : kind == v ? x + x - T(1) : x + x + T(1);
    return recurrence(degree, first, [x](T, T now, T before) { return (x + x) * now - before; });
  }
  template <class T> static T end(T n, bool high) {
    const T sign = high || even(n) ? T(1) : T(-1), many = n + n + T(1);
    if (kind == t) return sign;
    if (kind == u) return sign * (n + T(1));
    return kind == v ? (high ? T(1) : sign * many) : (high ? many : sign);
  }
  template <class T> static T closed(T x, T n) {
    const T angle = std::acos(x), half = T(0.5);
    if (kind == t) return std::cos(n * angle);
    if (kind == u) return std::sin((n + T(1)) * angle) / std::sin(angle);
    if (kind == v) return std::cos((n + half) * angle) / std::cos(angle * half);
    return std::sin((n + half) * angle) / std::sin(angle * half);
  }
};
template <bool probabilists> struct Hermite {
  template <class T> static T f(T x, T n) {
    const T degree = degree_of(n);
    if (degree > (sizeof(T) == 4 ? 128 : 512)) return std::numeric_limits<T>::quiet_NaN();  // PyTorch gives up
    if (probabilists) return recurrence(degree, x, [x](T k, T now, T before) { return x * now - k * before; });
    return recurrence(degree, x + x, [x](T k, T now, T before) { return (x + x) * now - (k + k) * before; });
  }
};
struct Legendre {
  template <class T> static T f(T x, T n) {
    const T degree = degree_of(n);
    if (degree < 0) return T(0);
    if (std::fabs(x) == T(1)) return x > 0 || even(degree) ? T(1) : T(-1);
    return recurrence(
        degree, x, [x](T k, T now, T before) { return ((k + k + T(1)) * x * now - k * before) / (k + T(1)); });
  }
};
struct Laguerre {
  template <class T> static T f(T x, T n) {
    const T degree = degree_of(n);
    if (x == T(0)) return degree < 0 ? T(0) : T(1);
    return recurrence(degree, T(1) - x,
        [x](T k, T now, T before) { return (((k + k) + (T(1) - x)) * now - k * before) / (k + T(1)); });
  }
};

struct NextAfter {
  template <class T> static T f(T x, T to) { return std::nextafter(x, to); }
};

template <class F> constexpr PointwiseFormula one(const char* name) {
  return {name, 1, 0, of_one<F, float>, of_one<F, double>};
}
template <class F> constexpr PointwiseFormula two(const char* name) {
  return {name, 2, 0, of_two<F, float>, of_two<F, double>};
}
template <class F> constexpr PointwiseFormula polynomial(const char* name) {
  return {name, 2, 0, of_degree<F, float>, of_degree<F, double>};
}

// With a vector loop for float32.
#define FAST(F, name, kernel)                                       \
  PointwiseFormula {                                                \
    name, 1, 0,                                                     \
        [](char* out, const char* const* in, int64_t n) {           \
          static const BlockKernel f = special_math_kernel(kernel); \
          f(out, in, n);                                            \
        },                                                          \
        of_one<F, double>                                           \
  }

constexpr PointwiseFormula kSpecial[] = {
    FAST(I0, "i0", "i0"),
    FAST(I0e, "i0e", "i0e"),
    FAST(I1, "i1", "i1"),
    FAST(I1e, "i1e", "i1e"),
    FAST(ModifiedI0, "modified_bessel_i0", "modified_bessel_i0"),
    FAST(I1, "modified_bessel_i1", "i1"),
    one<K0>("modified_bessel_k0"),
    one<K1>("modified_bessel_k1"),
    one<ScaledK0>("scaled_modified_bessel_k0"),
    one<ScaledK1>("scaled_modified_bessel_k1"),
    one<J0>("bessel_j0"),
    one<J1>("bessel_j1"),
    one<Y0>("bessel_y0"),
    one<Y1>("bessel_y1"),
    one<SphericalJ0>("spherical_bessel_j0"),
    one<Airy>("airy_ai"),
    one<Erfcx>("erfcx"),
    FAST(Ndtr, "ndtr", "ndtr"),
    one<LogNdtr>("log_ndtr"),
    FAST(Ndtri, "ndtri", "ndtri"),
    one<Entropy>("entr"),
    two<Igamma>("igamma"),
    two<Igammac>("igammac"),
    two<Zeta>("zeta"),
    polynomial<Chebyshev<t, false, 6>>("chebyshev_polynomial_t"),
    polynomial<Chebyshev<u, false, 8>>("chebyshev_polynomial_u"),
    polynomial<Chebyshev<v, false, 8>>("chebyshev_polynomial_v"),
    polynomial<Chebyshev<w, false, 8>>("chebyshev_polynomial_w"),
    polynomial<Chebyshev<t, true, 6>>("shifted_chebyshev_polynomial_t"),
    polynomial<Chebyshev<u, true, 6>>("shifted_chebyshev_polynomial_u"),
    polynomial<Chebyshev<v, true, 6>>("shifted_chebyshev_polynomial_v"),
    polynomial<Chebyshev<w, true, 4>>("shifted_chebyshev_polynomial_w"),
    polynomial<Hermite<false>>("hermite_polynomial_h"),
    polynomial<Hermite<true>>("hermite_polynomial_he"),
    polynomial<Legendre>("legendre_polynomial_p"),
    polynomial<Laguerre>("laguerre_polynomial_l"),
    polynomial<NextAfter>("nextafter"),
};

// (-1)^(n + 1) n! zeta(n + 1, x), x beside n + 1 and its factor.
struct Polygamma {
  template <class T> static T f(T x, T n, T factor) {
    if (n == T(1) && x == std::numeric_limits<T>::infinity()) return T(0);
    return T(double(factor) * zeta(double(n) + 1, double(x)));
  }
};
template <class T> void polygamma_loop(char* out, const char* const* in, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    reinterpret_cast<T*>(out)[i] = Polygamma::f(reinterpret_cast<const T*>(in[0])[i],
        reinterpret_cast<const T*>(in[1])[i], reinterpret_cast<const T*>(in[2])[i]);
}
constexpr PointwiseFormula kPolygamma{"polygamma_of", 1, 2, nullptr, polygamma_loop<double>};

}  // namespace

std::span<const PointwiseFormula> special_formulas() { return kSpecial; }

Outcome<Tensor> polygamma(int64_t n, const Tensor& x) {
  if (n < 1 || n > 150) return NotMine{"an order of less than 1 or more than 150"};
  if (x->dtype() != DType::f32 && x->dtype() != DType::f64) return NotMine{"dtypes other than float32 and float64"};
  return unlocked(x->numel(), [&] {
    const Tensor wide = x->dtype() == DType::f64 ? x : to_dtype(x, DType::f64);
    const TensorOrScalar inputs[3] = {{wide.get(), {}}, {nullptr, Scalar{Scalar::Int, n}},
        {nullptr, Scalar{Scalar::Float, 0, (n % 2 ? 1 : -1) * std::tgamma(double(n) + 1)}}};
    const Tensor found = run_formula(kPolygamma, inputs);
    return x->dtype() == DType::f64 ? found : to_dtype(found, x->dtype());
  });
}

}  // namespace shim
