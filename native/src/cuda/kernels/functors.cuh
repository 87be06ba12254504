#pragma once
// What pointwise operators compute, compiled by NVRTC with macros:
//   OP the functor, C the compute type, RESULT its result, LOGIC 1 where operands count as truth values, T0 the output's element type,
//   N_IN how many inputs, EXTRA 1 where the functor also takes three numbers, K2 what its second input is (elementwise.cuh says).
#include "cuda/kernels/complex.cuh"
#include "ops/special/hurwitz_zeta.h"

using namespace shim::special;

// clang-format off: an expression in a macro's place would be taken for a declaration
// Functors that take complex numbers too.
#define COMPLEX(...)
COMPLEX(copy conj turned neg abs square sgn complex_angle reciprocal sigmoid exp exp2 log log2 log10 log1p sqrt rsqrt sin cos tan sinh cosh tanh isnan isinf isfinite complex add sub mul div pow eq ne add_scaled where addcmul addcdiv is_close);
#define UNARY(Name, expression) struct Name { template <class T> __device__ static T f(T x) { return expression; } }
struct copy_ { template <class T> __device__ static T f(T x) { return x; } };
UNARY(neg, T(-x));
UNARY(conj, T(x.real, -x.imag));
UNARY(turned, T(-x.imag, x.real));
struct complex_angle { template <class T> __device__ static auto f(T x) { return atan2(x.imag, x.real); } };
struct abs_ { template <class T> __device__ static auto f(T x) { if constexpr (is_complex<T>) return hypot(x.real, x.imag); else if constexpr (is_float<T>) return fabs(x); else if constexpr (is_signed<T>) return T(x < 0 ? -x : x); else return x; } };
UNARY(square, T(x * x));
struct sgn { template <class T> __device__ static T f(T x) {
  if constexpr (is_complex<T>) { const auto size = hypot(x.real, x.imag); return size == 0 ? T(0) : T(x.real / size, x.imag / size); }
  else return x > T(0) ? T(1) : x < T(0) ? T(-1) : T(0); } };
UNARY(relu, x < T(0) ? T(0) : x);
UNARY(sign, sgn::f(x));
// Functions of real numbers: whole ones count as the default dtype.
#define FUNCTION1(Name, expression) UNARY(Name, expression)
#define FUNCTION2(Name, expression) BINARY(Name, expression)
#define WHOLE(Name, function) struct Name { template <class T> __device__ static T f(T x) { if constexpr (is_float<T>) return function(x); else return x; } }
WHOLE(floor_, floor); WHOLE(ceil_, ceil); WHOLE(round_, nearbyint); WHOLE(trunc_, trunc);
UNARY(frac, x - trunc(x));
UNARY(reciprocal, T(1) / x);
UNARY(exp_, exp(x)); UNARY(exp2_, exp2(x)); UNARY(expm1_, expm1(x)); UNARY(log_, log(x)); UNARY(log2_, log2(x));
UNARY(log10_, log10(x)); UNARY(log1p_, log1p(x)); UNARY(sqrt_, sqrt(x)); UNARY(rsqrt_, rsqrt(x)); UNARY(sin_, sin(x));
UNARY(cos_, cos(x)); UNARY(tan_, tan(x)); UNARY(asin_, asin(x)); UNARY(acos_, acos(x)); UNARY(atan_, atan(x));
UNARY(sinh_, sinh(x)); UNARY(cosh_, cosh(x)); UNARY(tanh_, tanh(x)); UNARY(erf_, erf(x)); UNARY(erfc_, erfc(x));
UNARY(sigmoid, T(1) / (T(1) + exp(-x)));
// Results of 16 bits leave room for cheaper functions: these are right to 1e-5 of the value, also where it is small.
template <class T> constexpr bool rough = same_type<T, float>::value && is_narrow<T0>;
template <class T> __device__ inline T logistic(T x) { if constexpr (rough<T>) return __fdividef(1.0f, 1.0f + __expf(-x)); else return T(1) / (T(1) + exp(-x)); }
struct Normal { float cdf, bell; };                             // bell: exp(-x * x / 2)
__device__ inline Normal normal_of(float x) {
  const float bell = __expf(-0.5f * x * x), t = __fdividef(1.0f, 1.0f + 0.43f * 0.70710678f * fabsf(x));
  const float tail = 0.5f * bell * t * (0.24331477f + t * (0.23191409f + t * (0.28369235f + t * (-0.01506837f + t * (0.41078246f - t * 0.15463204f)))));
  return {x < 0.0f ? tail : 1.0f - tail, bell};
}
struct silu { template <class T> __device__ static T f(T x) { if constexpr (rough<T>) return __fdividef(x, 1.0f + __expf(-x)); else return x / (T(1) + exp(-x)); } };
struct gelu { template <class T> __device__ static T f(T x) {
  if constexpr (rough<T>) return x * normal_of(x).cdf; else return x * T(0.5) * (T(1) + erf(x * T(0.70710678118654752440))); } };
UNARY(gelu_tanh, T(0.5) * x * (T(1) + tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x))));
struct bitwise_not { template <class T> __device__ static T f(T x) { if constexpr (LOGIC) return T(!x); else return T(~x); } };
UNARY(logical_not, T(!x));
struct isnan_ { template <class T> __device__ static u8 f(T x) { return x != x; } };
struct signbit_ { template <class T> __device__ static u8 f(T x) { if constexpr (is_float<T>) return signbit(x) != 0; else return x < T(0); } };
struct isposinf { template <class T> __device__ static u8 f(T x) { if constexpr (is_float<T>) return isinf(x) && x > T(0); else return 0; } };
struct isneginf { template <class T> __device__ static u8 f(T x) { if constexpr (is_float<T>) return isinf(x) && x < T(0); else return 0; } };
struct isinf_ { template <class T> __device__ static u8 f(T x) { if constexpr (is_float<T> || is_complex<T>) return isinf(x); else return 0; } };
struct isfinite_ { template <class T> __device__ static u8 f(T x) { if constexpr (is_float<T> || is_complex<T>) return isfinite(x); else return 1; } };

#define BINARY(Name, expression) struct Name { template <class T> __device__ static T f(T a, T b) { return expression; } }
struct add { template <class T> __device__ static T f(T a, T b) { if constexpr (LOGIC) return T(a | b); else return T(a + b); } };
struct mul { template <class T> __device__ static T f(T a, T b) { if constexpr (LOGIC) return T(a & b); else return T(a * b); } };
BINARY(sub, T(a - b));
struct complex { template <class T> __device__ static Complex<T> f(T real, T imag) { return {real, imag}; } };
// A number divides as PyTorch's CUDA kernels do it: by its reciprocal.
BINARY(div_, is_float<T> && K2 == 2 ? a * (T(1) / b) : a / b);
BINARY(bitwise_and, T(a & b)); BINARY(bitwise_or, T(a | b)); BINARY(bitwise_xor, T(a ^ b));
FUNCTION2(real_atan2, atan2(a, b)); BINARY(real_hypot, hypot(a, b));
struct div_trunc { template <class T> __device__ static T f(T a, T b) {
  if constexpr (is_float<T>) return trunc(a / b);
  else { if (b == 0) return T(-1); if constexpr (is_signed<T>) if (b == T(-1)) return T(T(0) - a); return T(a / b); } } };
struct floor_divide { template <class T> __device__ static T f(T a, T b) {
  if constexpr (is_float<T>) {
    if (b == 0) return a / b;
    T mod = fmod(a, b), div = (a - mod) / b;
    if (mod != 0 && (b < 0) != (mod < 0)) div -= 1;
    if (div == 0) return copysign(T(0), a / b);
    T whole = floor(div);
    return div - whole > T(0.5) ? whole + 1 : whole;
  } else {
    if (b == 0) return T(-1);
    T q = div_trunc::f(a, b);
    if constexpr (is_signed<T>) if (T(q * b) != a && (a < 0) != (b < 0)) --q;
    return q;
  } } };
struct fmod_ { template <class T> __device__ static T f(T a, T b) {
  if constexpr (is_float<T>) return fmod(a, b);
  else { if (b == 0) return T(-1); if constexpr (is_signed<T>) if (b == T(-1)) return 0; return T(a % b); } } };
struct remainder_ { template <class T> __device__ static T f(T a, T b) {
  T mod = fmod_::f(a, b);
  if constexpr (is_float<T> || is_signed<T>) if (mod != 0 && (b < 0) != (mod < 0)) mod = T(mod + b);
  return mod; } };
struct pow_ { template <class T> __device__ static T f(T a, T b) {
  if constexpr (is_float<T> || is_complex<T>) return b == T(2) ? a * a : b == T(3) ? a * a * a : pow(a, b);
  else {
    if constexpr (is_signed<T>) if (b < 0) return a == 1 ? 1 : a == T(-1) ? (b % 2 ? T(-1) : T(1)) : 0;
    u64 result = 1, base = u64(typename unsigned_of<T>::type(a));
    for (auto e = typename unsigned_of<T>::type(b); e; e = decltype(e)(e >> 1), base *= base) if (e & 1) result *= base;
    return T(result);
  } } };
struct maximum { template <class T> __device__ static T f(T a, T b) { return a != a ? a : b != b ? b : a > b ? a : b; } };
struct minimum { template <class T> __device__ static T f(T a, T b) { return a != a ? a : b != b ? b : a < b ? a : b; } };
struct fmax_ { template <class T> __device__ static T f(T a, T b) { return a != a ? b : b != b ? a : a > b ? a : b; } };
struct fmin_ { template <class T> __device__ static T f(T a, T b) { return a != a ? b : b != b ? a : a < b ? a : b; } };
#define TEST(Name, expression) struct Name { template <class T> __device__ static u8 f(T a, T b) { return expression; } }
TEST(eq, a == b); TEST(ne, a != b); TEST(lt, a < b); TEST(le, a <= b); TEST(gt, a > b); TEST(ge, a >= b);
TEST(logical_and, a && b); TEST(logical_or, a || b); TEST(logical_xor, !a != !b);
struct bitwise_left_shift { template <class T> __device__ static T f(T a, T b) {
  typedef typename unsigned_of<T>::type U; return U(b) >= sizeof(T) * 8 ? T(0) : T(U(a) << U(b)); } };
struct bitwise_right_shift { template <class T> __device__ static T f(T a, T b) {
  typedef typename unsigned_of<T>::type U; constexpr U most = sizeof(T) * 8 - (is_signed<T> ? 1 : 0);
  if (U(b) >= most) return is_signed<T> ? T(a >> most) : T(0); return T(a >> b); } };

struct add_scaled { template <class T> __device__ static T f(T a, T b, T alpha) { return T(a + alpha * b); } };
struct where { template <class T> __device__ static T f(T c, T a, T b) { return c != T(0) ? a : b; } };
struct masked_scale { template <class T> __device__ static T f(T x, T keep, T scale) { return keep != T(0) ? x * scale : T(0); } };
// Gradients: of g and the input x, or of g and the result y.
BINARY(sigmoid_backward, a * (b * (T(1) - b)));
BINARY(tanh_backward, a * (T(1) - b * b));
BINARY(relu_backward, b <= T(0) ? T(0) : a);
struct silu_backward { template <class T> __device__ static T f(T g, T x) { const T s = logistic(x); return g * s * (T(1) + x * (T(1) - s)); } };
struct gelu_backward { template <class T> __device__ static T f(T g, T x) {
  if constexpr (rough<T>) { const Normal n = normal_of(x); return g * (n.cdf + x * n.bell * 0.39894228f); }
  else return g * (T(0.5) * (T(1) + erf(x * T(0.70710678118654752440))) + x * exp(T(-0.5) * x * x) * T(0.39894228040143267794)); } };
struct gelu_tanh_backward { template <class T> __device__ static T f(T g, T x) {
  const T c = T(0.79788456080286535588), t = tanh(c * (x + T(0.044715) * x * x * x));
  return g * (T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * c * (T(1) + T(3 * 0.044715) * x * x)); } };
struct mish_backward { template <class T> __device__ static T f(T g, T x) {
  const T e = exp(x < T(20) ? x : T(20)), n = e * (e + T(2)), t = n / (n + T(2));
  return x > T(20) ? g : g * (t + x * (T(1) - t * t) * (e / (T(1) + e))); } };
BINARY(hardswish_backward, b <= T(-3) ? T(0) : b < T(3) ? a * (b * T(1.0 / 3) + T(0.5)) : a);
BINARY(hardsigmoid_backward, b > T(-3) && b < T(3) ? a * T(1.0 / 6) : T(0));
BINARY(log_sigmoid_backward, a / (T(1) + exp(b)));
struct clamp { template <class T> __device__ static T f(T x, T least, T most) {
  if (x != x) return x; T low = x < least ? least : x; return low > most ? most : low; } };

// Numbers of any real dtype, promoted. A bound that is no number is the result.
#define PROMOTED3(Name, expression) struct Name { template <class T> __device__ static T f(T a, T b, T c) { return expression; } }
#define PROMOTED2(Name, expression) BINARY(Name, expression)
PROMOTED3(clamp_between, a != a ? a : b != b ? b : c != c ? c : clamp::f(a, b, c));

// Euclid's, of sizes: the smallest number has none of its own type.
template <class T> __device__ inline T gcd_of(T a, T b) {
  typedef typename unsigned_of<T>::type U;
  U x = a < T(0) ? U(U(0) - U(a)) : U(a), y = b < T(0) ? U(U(0) - U(b)) : U(b);
  while (y) { const U rest = U(x % y); x = y; y = rest; }
  return T(x); }
template <class T> __device__ inline T lcm_of(T a, T b) {
  const T most = gcd_of(a, b);
  if (most == T(0)) return T(0);
  const auto all = a / most * b;  // of small types an int's, as in C
  return T(all < 0 ? -all : all); }
PROMOTED2(gcd, gcd_of(a, b)); PROMOTED2(lcm, lcm_of(a, b));

struct lerp { template <class T> __device__ static T f(T a, T b, T w) { return fabs(w) < T(0.5) ? a + w * (b - a) : b - (b - a) * (T(1) - w); } };
UNARY(log_sigmoid, (x < T(0) ? x : T(0)) - log1p(exp(-fabs(x))));
UNARY(mish, x * tanh(log1p(exp(x))));
// Within bounds; NaN stays.
template <class T> __device__ inline T owned(T x, T least, T most) { return x < least ? least : x > most ? most : x; }
UNARY(hardswish, x * owned(x + T(3), T(0), T(6)) * T(1.0 / 6));
UNARY(hardsigmoid, owned(x + T(3), T(0), T(6)) * T(1.0 / 6));
BINARY(glu, a * logistic(b));
// Its gradients: by the half that is scaled it is glu of g; by the gate's, of g, the half and the gate.
struct glu_gate_backward { template <class T> __device__ static T f(T g, T a, T b) { const T s = logistic(b); return g * a * s * (T(1) - s); } };
// Cross entropies of a chance (PyTorch asserts that both are such) and of a logit with the target b.
#ifdef CHANCES
struct bce_each { template <class T> __device__ static T f(T a, T b) {
  if (!(a >= T(0) && a <= T(1) && b >= T(0) && b <= T(1)))
    assert_failed(AssertSite::chance, double(a >= T(0) && a <= T(1) ? b : a));
  const T yes = log(a), no = log1p(-a);
  return (b - T(1)) * (no > T(-100) ? no : T(-100)) - b * (yes > T(-100) ? yes : T(-100)); } };
#endif
BINARY(bce_logits_each, (T(1) - b) * a + (a < T(0) ? -a : T(0)) + log1p(exp(-fabs(a))));
BINARY(prelu, a > T(0) ? a : a * b);
// An angle's gradients, 0 at the origin.
template <class T> __device__ inline T inverse_square(T y, T x) { const T s = x * x + y * y; return s == T(0) ? T(0) : T(1) / s; }
struct atan2_backward { template <class T> __device__ static T f(T g, T y, T x) { return g * x * inverse_square(y, x); } };
struct atan2_other_backward { template <class T> __device__ static T f(T g, T y, T x) { return g * -y * inverse_square(y, x); } };
struct prelu_backward { template <class T> __device__ static T f(T g, T x, T w) { return x > T(0) ? g : g * w; } };
BINARY(prelu_weight_backward, b >= T(0) ? T(0) : a * b);
FUNCTION2(copysign_, copysign(a, b));
FUNCTION2(xlogy, b != b ? b : a == T(0) ? T(0) : a * log(b));
FUNCTION2(xlog1py, b != b ? b : a == T(0) ? T(0) : a * log1p(b));
struct logaddexp { template <class T> __device__ static T f(T a, T b) {
  if (isinf(a) && a == b) return a; const T most = a != a || b != b ? a + b : a > b ? a : b; return most + log1p(exp(-fabs(a - b))); } };
struct logaddexp2 { template <class T> __device__ static T f(T a, T b) {
  if (isinf(a) && a == b) return a; const T most = a != a || b != b ? a + b : a > b ? a : b; return most + log1p(exp2(-fabs(a - b))) * T(1.44269504088896340736); } };
FUNCTION1(asinh_, asinh(x)); FUNCTION1(acosh_, acosh(x)); FUNCTION1(atanh_, atanh(x)); FUNCTION1(lgamma_, lgamma(x)); FUNCTION1(erfinv_, erfinv(x));
// Far out by its asymptotic series, nearer by steps toward it, below zero by reflection.
__device__ inline double digamma_of(double x) {
  if (x == 0) return copysign(__longlong_as_double(0x7ff0000000000000ll), -x);
  double rest = 0;
  if (x < 0) {
    const double whole = trunc(x);
    if (whole == x) return __longlong_as_double(0x7ff8000000000000ll);
    rest = -3.14159265358979323846 / tan(3.14159265358979323846 * (x - whole));
    x = 1 - x;
  }
  double over = 0, under = 1;                                   // over / under: 1 / x + 1 / (x + 1) + ...
  while (x < 8) { over = over * x + under; under *= x; x += 1; }
  const double z = 1 / (x * x);
  const double tail = z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z * (1.0 / 12 - z * (3617.0 / 8160))))))));
  return log(x) - 0.5 / x - tail - over / under + rest;
}
FUNCTION1(digamma_, T(digamma_of(double(x))));
FUNCTION1(angle, x != x ? x : x < T(0) ? T(3.14159265358979323846) : T(0));
FUNCTION1(sinc, x == T(0) ? T(1) : sin(T(3.14159265358979323846) * x) / (T(3.14159265358979323846) * x));
FUNCTION1(deg2rad, x * T(0.01745329251994329577)); FUNCTION1(rad2deg, x * T(57.2957795130823208768));
PROMOTED2(heaviside, a == T(0) ? b : a > T(0) ? T(1) : T(0));
FUNCTION1(i0, cyl_bessel_i0(x)); FUNCTION1(i1, cyl_bessel_i1(x));
FUNCTION1(modified_bessel_i0, cyl_bessel_i0(x)); FUNCTION1(modified_bessel_i1, cyl_bessel_i1(x));
FUNCTION1(bessel_j0, j0(x)); FUNCTION1(bessel_j1, j1(x)); FUNCTION1(bessel_y0, x == T(0) ? -T(__int_as_float(0x7f800000)) : y0(x)); FUNCTION1(bessel_y1, x == T(0) ? -T(__int_as_float(0x7f800000)) : y1(x));
FUNCTION1(ndtr, normcdf(x)); FUNCTION1(ndtri, normcdfinv(x)); FUNCTION1(erfcx_, erfcx(x));
// exp(-|x|) times them: far out by their expansions, where the functions themselves overflow.
struct i0e { template <class T> __device__ static T f(T x) {
  const T a = fabs(x), z = T(1) / a;
  if (a > T(sizeof(T) == 8 ? 700 : 20)) return rsqrt(T(6.28318530717958647693) * a) * (T(1) + z * (T(0.125) + z * (T(0.0703125) + z * (T(0.0732421875) + z * T(0.112152099609375)))));
  return exp(-a) * cyl_bessel_i0(a); } };
struct i1e { template <class T> __device__ static T f(T x) {
  const T a = fabs(x), z = T(1) / a;
  const T r = a > T(sizeof(T) == 8 ? 700 : 20) ? rsqrt(T(6.28318530717958647693) * a) * (T(1) - z * (T(0.375) + z * (T(0.1171875) + z * (T(0.1025390625) + z * T(0.144195556640625)))))
                                               : exp(-a) * cyl_bessel_i1(a);
  return x < T(0) ? -r : r; } };
BINARY(zeta, hurwitz_zeta(a, b));
#ifdef GAMMA
struct igamma { template <class T> __device__ static T f(T a, T x) { return T(incomplete_gamma(a, x, false, sizeof(T) == 8 ? 1e-17 : 1e-9)); } };
struct igammac { template <class T> __device__ static T f(T a, T x) { return T(incomplete_gamma(a, x, true, sizeof(T) == 8 ? 1e-17 : 1e-9)); } };
#endif
// The neighbour of a on b's side, of the tensors' own type.
template <class N, class T> __device__ inline T next_narrow(T a, T b) {
  if (a != a || b != b) return a + b;
  if (a == b) return b;
  N n = cast<N>(a);
  if (a == T(0)) n.v = b > T(0) ? 1 : 0x8001;
  else n.v = (a < b) == (a > T(0)) ? n.v + 1 : n.v - 1;
  return cast<T>(n);
}
struct nextafter_ { template <class T> __device__ static T f(T a, T b) {
  if constexpr (is_narrow<T0>) return next_narrow<T0>(a, b); else return nextafter(a, b); } };
template <class T> __device__ inline auto length_of(T x) { if constexpr (is_complex<T>) return hypot(x.real, x.imag); else return fabs(x); }
// With numbers p, q, r.
#define NUMBERS1(Name, expression) struct Name { template <class T> __device__ static T f(T x, T p, T q, T r) { return expression; } }
#define NUMBERS3(Name, expression) struct Name { template <class T> __device__ static T f(T a, T b, T c, T p, T q, T r) { return expression; } }
NUMBERS3(addcmul, a + p * b * c);
NUMBERS3(addcdiv, a + p * (b / c));
NUMBERS1(logit, log((p < T(0) ? x : owned(x, p, T(1) - p)) / (T(1) - (p < T(0) ? x : owned(x, p, T(1) - p)))));
NUMBERS1(polygamma, p == T(1) && x == T(__int_as_float(0x7f800000)) ? T(0) : (int(p) % 2 ? T(1) : T(-1)) * tgamma(p + T(1)) * hurwitz_zeta(p + T(1), x));
// Gradients: of g, the input, and (not used) c.
NUMBERS3(leaky_relu_backward, b > T(0) ? a : a * p);
NUMBERS3(elu_backward, b <= T(0) ? a * (p * q * r) * exp(b * r) : a * q);
NUMBERS3(softplus_backward, b * p > q ? a : a / (T(1) + exp(-b * p)));
NUMBERS3(hardtanh_backward, b <= p || b >= q ? T(0) : a);
// Of two numbers, and c that is not used: whether they are as near as p + |q b|, or the same; where r is not 0, also not a number both.
NUMBERS3(is_close, a == b || (isfinite(a) && isfinite(b) && length_of(a - b) <= length_of(p) + length_of(q * b)) || (r != T(0) && a != a && b != b) ? T(1) : T(0));
NUMBERS1(renorm_factor, x > p ? p / (x + T(1e-7)) : T(1));
NUMBERS1(leaky_relu, x > T(0) ? x : x * p);
NUMBERS1(elu, x > T(0) ? x * q : x != x ? x : p * q * expm1(x * r));
NUMBERS1(softplus, x * p > q ? x : log1p(exp(x * p)) / p);
NUMBERS1(threshold, x <= p ? q : x);
NUMBERS1(hardtanh, owned(x, p, q));
NUMBERS1(hardshrink, fabs(x) <= p ? T(0) : x);
NUMBERS1(softshrink, x > p ? x - p : x < -p ? x + p : x != x ? x : T(0));
NUMBERS1(round_to, q == T(0) ? nearbyint(x * p) / p : nearbyint(x / q) * q);
NUMBERS1(nan_to_num, x != x ? p : isinf(x) ? (x > T(0) ? q : r) : x);

// An operand in the compute type; truth values where that is bool.
template <class T> __device__ inline C take(T x) { if constexpr (LOGIC) return C(cast<Bool>(x).v); else return cast<C>(x); }

#ifndef EXTRA
#define EXTRA 0
#endif
struct Extra { C p, q, r; };

__device__ inline T0 compute(C a, C b, C c, const Extra& e) {
#if EXTRA && N_IN == 1
  return cast<T0>(cast<RESULT>(OP::f(a, e.p, e.q, e.r)));
#elif EXTRA
  return cast<T0>(cast<RESULT>(OP::f(a, b, c, e.p, e.q, e.r)));
#elif N_IN == 1
  return cast<T0>(cast<RESULT>(OP::f(a)));
#elif N_IN == 2
  return cast<T0>(cast<RESULT>(OP::f(a, b)));
#else
  return cast<T0>(cast<RESULT>(OP::f(a, b, c)));
#endif
}
