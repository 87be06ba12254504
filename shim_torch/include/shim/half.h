#pragma once
// Half and BFloat16: two bytes, implicitly from and to float; rounding to nearest, ties to even. On the device by its own instructions.
#include <complex>

#include <shim/base.h>
#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace shim {

C10_HOST_DEVICE inline uint32_t bits_of(float x) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(x);
#else
  uint32_t b;
  std::memcpy(&b, &x, 4);
  return b;
#endif
}
C10_HOST_DEVICE inline float of_bits(uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(b);
#else
  float x;
  std::memcpy(&x, &b, 4);
  return x;
#endif
}
C10_HOST_DEVICE inline uint16_t to_half(float x) {
#if defined(__CUDA_ARCH__)
  return __half_as_ushort(__float2half_rn(x));
#else
  const uint32_t b = bits_of(x), sign = b >> 16 & 0x8000u, magnitude = b & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return uint16_t(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return uint16_t(sign | 0x7c00u);  // rounds to what is beyond 65504
  if (magnitude < 0x38800000u)  // below 2^-14: the addition puts the rounding where the last bit of a subnormal is
    return uint16_t(sign | (bits_of(of_bits(magnitude) + 0.5f) - bits_of(0.5f)));
  return uint16_t(sign | ((magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13));
#endif
}
C10_HOST_DEVICE inline float from_half(uint16_t h) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(h));
#else
  const uint32_t sign = uint32_t(h & 0x8000u) << 16, rest = h & 0x7fffu;
  if (rest >= 0x7c00u) return of_bits(sign | 0x7f800000u | rest << 13);
  if (rest >= 0x0400u) return of_bits(sign | ((rest << 13) + 0x38000000u));
  return of_bits(sign | bits_of(float(rest) * 5.9604644775390625e-8f));
#endif
}
C10_HOST_DEVICE inline uint16_t to_bfloat16(float x) {
#if defined(__CUDA_ARCH__)
  return __bfloat16_as_ushort(__float2bfloat16_rn(x));
#else
  const uint32_t b = bits_of(x);
  return uint16_t((b & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : (b + 0x7fffu + (b >> 16 & 1u)) >> 16);
#endif
}

}  // namespace shim

namespace c10 {

struct alignas(2) Half {
  uint16_t x;
  struct from_bits_t {};
  C10_HOST_DEVICE static constexpr from_bits_t from_bits() { return {}; }
  Half() = default;
  C10_HOST_DEVICE constexpr Half(uint16_t bits, from_bits_t) : x(bits) {}
  C10_HOST_DEVICE Half(float v) : x(shim::to_half(v)) {}
  C10_HOST_DEVICE operator float() const { return shim::from_half(x); }
#if defined(__CUDACC__)
  C10_HOST_DEVICE Half(const __half& v) : x(reinterpret_cast<const uint16_t&>(v)) {}
  C10_HOST_DEVICE operator __half() const { return reinterpret_cast<const __half&>(*this); }
#endif
};
struct alignas(2) BFloat16 {
  uint16_t x;
  struct from_bits_t {};
  C10_HOST_DEVICE static constexpr from_bits_t from_bits() { return {}; }
  BFloat16() = default;
  C10_HOST_DEVICE constexpr BFloat16(uint16_t bits, from_bits_t) : x(bits) {}
  C10_HOST_DEVICE BFloat16(float v) : x(shim::to_bfloat16(v)) {}
  C10_HOST_DEVICE operator float() const { return shim::of_bits(uint32_t(x) << 16); }
#if defined(__CUDACC__)
  C10_HOST_DEVICE BFloat16(const __nv_bfloat16& v) : x(reinterpret_cast<const uint16_t&>(v)) {}
  C10_HOST_DEVICE explicit operator __nv_bfloat16() const { return reinterpret_cast<const __nv_bfloat16&>(*this); }
#endif
};

#define SHIM_HALF_OPERATOR(T, op)                                                                      \
  C10_HOST_DEVICE inline T operator op(const T& a, const T& b) { return T(float(a) op float(b)); }     \
  C10_HOST_DEVICE inline float operator op(const T& a, float b) { return float(a) op b; }              \
  C10_HOST_DEVICE inline float operator op(float a, const T& b) { return a op float(b); }              \
  C10_HOST_DEVICE inline double operator op(const T& a, double b) { return double(float(a)) op b; }    \
  C10_HOST_DEVICE inline double operator op(double a, const T& b) { return a op double(float(b)); }    \
  C10_HOST_DEVICE inline T operator op(const T& a, int b) { return T(float(a) op float(b)); }          \
  C10_HOST_DEVICE inline T operator op(int a, const T& b) { return T(float(a) op float(b)); }          \
  C10_HOST_DEVICE inline T operator op(const T& a, int64_t b) { return T(float(a) op float(b)); }      \
  C10_HOST_DEVICE inline T operator op(int64_t a, const T& b) { return T(float(a) op float(b)); }      \
  C10_HOST_DEVICE inline T& operator op##=(T & a, const T & b) { return a = T(float(a) op float(b)); } \
  C10_HOST_DEVICE inline T& operator op##=(T & a, float b) { return a = T(float(a) op b); }
#define SHIM_HALF_OPERATORS(T)                                                                       \
  SHIM_HALF_OPERATOR(T, +)                                                                           \
  SHIM_HALF_OPERATOR(T, -)                                                                           \
  SHIM_HALF_OPERATOR(T, *) SHIM_HALF_OPERATOR(T, /) C10_HOST_DEVICE inline T operator-(const T& a) { \
    return T(-float(a));                                                                             \
  }
SHIM_HALF_OPERATORS(Half)
SHIM_HALF_OPERATORS(BFloat16)
#if defined(__CUDACC__)
#define SHIM_HALF_LDG(T)                                                           \
  __device__ inline T __ldg(const T* p) {                                          \
    return T(::__ldg(reinterpret_cast<const unsigned short*>(p)), T::from_bits()); \
  }
SHIM_HALF_LDG(Half)
SHIM_HALF_LDG(BFloat16)
#undef SHIM_HALF_LDG
#endif

}  // namespace c10

#define SHIM_HALF_LIMITS(T, digits_, digits10_, low, highest, smallest, eps, inf, nan)         \
  template <> class std::numeric_limits<c10::T> : public std::numeric_limits<float> {          \
   public:                                                                                     \
    static constexpr int digits = digits_, digits10 = digits10_;                               \
    C10_HOST_DEVICE static constexpr c10::T min() { return {smallest, c10::T::from_bits()}; }  \
    C10_HOST_DEVICE static constexpr c10::T lowest() { return {low, c10::T::from_bits()}; }    \
    C10_HOST_DEVICE static constexpr c10::T max() { return {highest, c10::T::from_bits()}; }   \
    C10_HOST_DEVICE static constexpr c10::T epsilon() { return {eps, c10::T::from_bits()}; }   \
    C10_HOST_DEVICE static constexpr c10::T infinity() { return {inf, c10::T::from_bits()}; }  \
    C10_HOST_DEVICE static constexpr c10::T quiet_NaN() { return {nan, c10::T::from_bits()}; } \
  };
SHIM_HALF_LIMITS(Half, 11, 3, 0xfbff, 0x7bff, 0x0400, 0x1400, 0x7c00, 0x7e00)
SHIM_HALF_LIMITS(BFloat16, 8, 2, 0xff7f, 0x7f7f, 0x0080, 0x3c00, 0x7f80, 0x7fc0)
