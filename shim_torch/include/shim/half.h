#pragma once
// Half and BFloat16: two bytes, implicitly from and to float; rounding to nearest, ties to even.
#include <complex>

#include <shim/base.h>

namespace shim {

inline uint32_t bits_of(float x) {
  uint32_t b;
  std::memcpy(&b, &x, 4);
  return b;
}
inline float of_bits(uint32_t b) {
  float x;
  std::memcpy(&x, &b, 4);
  return x;
}
inline uint16_t to_half(float x) {
  const uint32_t b = bits_of(x), sign = b >> 16 & 0x8000u, magnitude = b & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return uint16_t(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return uint16_t(sign | 0x7c00u);  // rounds to what is beyond 65504
  if (magnitude < 0x38800000u)  // below 2^-14: the addition puts the rounding where the last bit of a subnormal is
    return uint16_t(sign | (bits_of(of_bits(magnitude) + 0.5f) - bits_of(0.5f)));
  return uint16_t(sign | ((magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13));
}
inline float from_half(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000u) << 16, rest = h & 0x7fffu;
  if (rest >= 0x7c00u) return of_bits(sign | 0x7f800000u | rest << 13);
  if (rest >= 0x0400u) return of_bits(sign | ((rest << 13) + 0x38000000u));
  return of_bits(sign | bits_of(float(rest) * 5.9604644775390625e-8f));
}
inline uint16_t to_bfloat16(float x) {
  const uint32_t b = bits_of(x);
  return uint16_t((b & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : (b + 0x7fffu + (b >> 16 & 1u)) >> 16);
}

}  // namespace shim

namespace c10 {

struct alignas(2) Half {
  uint16_t x;
  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return {}; }
  Half() = default;
  constexpr Half(uint16_t bits, from_bits_t) : x(bits) {}
  Half(float v) : x(shim::to_half(v)) {}
  operator float() const { return shim::from_half(x); }
};
struct alignas(2) BFloat16 {
  uint16_t x;
  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return {}; }
  BFloat16() = default;
  constexpr BFloat16(uint16_t bits, from_bits_t) : x(bits) {}
  BFloat16(float v) : x(shim::to_bfloat16(v)) {}
  operator float() const { return shim::of_bits(uint32_t(x) << 16); }
};
template <class T> using complex = std::complex<T>;

#define SHIM_HALF_OPERATOR(T, op)                                                      \
  inline T operator op(const T& a, const T& b) { return T(float(a) op float(b)); }     \
  inline float operator op(const T& a, float b) { return float(a) op b; }              \
  inline float operator op(float a, const T& b) { return a op float(b); }              \
  inline double operator op(const T& a, double b) { return double(float(a)) op b; }    \
  inline double operator op(double a, const T& b) { return a op double(float(b)); }    \
  inline T operator op(const T& a, int b) { return T(float(a) op float(b)); }          \
  inline T operator op(int a, const T& b) { return T(float(a) op float(b)); }          \
  inline T operator op(const T& a, int64_t b) { return T(float(a) op float(b)); }      \
  inline T operator op(int64_t a, const T& b) { return T(float(a) op float(b)); }      \
  inline T& operator op##=(T & a, const T & b) { return a = T(float(a) op float(b)); } \
  inline T& operator op##=(T & a, float b) { return a = T(float(a) op b); }
#define SHIM_HALF_OPERATORS(T)                                                                                \
  SHIM_HALF_OPERATOR(T, +)                                                                                    \
  SHIM_HALF_OPERATOR(T, -) SHIM_HALF_OPERATOR(T, *) SHIM_HALF_OPERATOR(T, /) inline T operator-(const T& a) { \
    return T(-float(a));                                                                                      \
  }
SHIM_HALF_OPERATORS(Half)
SHIM_HALF_OPERATORS(BFloat16)

}  // namespace c10

#define SHIM_HALF_LIMITS(T, digits_, digits10_, low, highest, smallest, eps, inf, nan) \
  template <> class std::numeric_limits<c10::T> : public std::numeric_limits<float> {  \
   public:                                                                             \
    static constexpr int digits = digits_, digits10 = digits10_;                       \
    static constexpr c10::T min() { return {smallest, c10::T::from_bits()}; }          \
    static constexpr c10::T lowest() { return {low, c10::T::from_bits()}; }            \
    static constexpr c10::T max() { return {highest, c10::T::from_bits()}; }           \
    static constexpr c10::T epsilon() { return {eps, c10::T::from_bits()}; }           \
    static constexpr c10::T infinity() { return {inf, c10::T::from_bits()}; }          \
    static constexpr c10::T quiet_NaN() { return {nan, c10::T::from_bits()}; }         \
  };
SHIM_HALF_LIMITS(Half, 11, 3, 0xfbff, 0x7bff, 0x0400, 0x1400, 0x7c00, 0x7e00)
SHIM_HALF_LIMITS(BFloat16, 8, 2, 0xff7f, 0x7f7f, 0x0080, 0x3c00, 0x7f80, 0x7fc0)
