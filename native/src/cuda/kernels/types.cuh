#pragma once
// What our kernels begin with: the element types and the cast between any two, as the CPU kernels cast.

typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
struct Bool {
  u8 v;
};
struct Half {
  u16 v;
};
struct Bf16 {
  u16 v;
};
struct E4m3 {
  u8 v;
};
struct E5m2 {
  u8 v;
};
struct E8m0 {  // powers of two
  u8 v;
};
struct alignas(16) Wide16 {
  u64 a, b;
};
template <class Part> struct alignas(2 * sizeof(Part)) Complex {
  Part real, imag;
  Complex() = default;
  __device__ Complex(Part re, Part im = Part(0)) : real(re), imag(im) {}
};
typedef Complex<float> Complex64;
typedef Complex<double> Complex128;

template <class A, class B> struct same_type {
  static constexpr bool value = false;
};
template <class A> struct same_type<A, A> {
  static constexpr bool value = true;
};
template <class T> constexpr bool is_float = same_type<T, float>::value || same_type<T, double>::value;
template <class T> constexpr bool is_complex = same_type<T, Complex64>::value || same_type<T, Complex128>::value;
template <class T> constexpr bool is_signed = T(-1) < T(0);
template <bool first, class A, class B> struct pick {
  typedef A type;
};
template <class A, class B> struct pick<false, A, B> {
  typedef B type;
};
template <class T> struct unsigned_of {
  typedef T type;
};
template <> struct unsigned_of<i8> {
  typedef u8 type;
};
template <> struct unsigned_of<short> {
  typedef u16 type;
};
template <> struct unsigned_of<int> {
  typedef u32 type;
};
template <> struct unsigned_of<i64> {
  typedef u64 type;
};

__device__ inline float widen(Half x) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.v));
  return r;
}
__device__ inline float widen(Bf16 x) { return __uint_as_float(u32(x.v) << 16); }
__device__ inline float widen(E5m2 x) { return widen(Half{u16(x.v << 8)}); }
__device__ inline float widen(E4m3 x) {
  u32 m = x.v & 0x7f, s = u32(x.v & 0x80) << 24;
  if (m == 0x7f) return __uint_as_float(0x7fc00000u | s);
  float magnitude = __uint_as_float(m << 20) * 1.329227995784916e+36f;  // 2**120: the exponents' biases differ by that
  return __uint_as_float(__float_as_uint(magnitude) | s);
}
__device__ inline float widen(E8m0 x) {
  return __uint_as_float(x.v == 255 ? 0x7fc00000u : x.v ? u32(x.v) << 23 : 0x00400000u);
}
__device__ inline void narrow(float x, Half& r) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.v) : "f"(x)); }
__device__ inline void narrow(float x, Bf16& r) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.v) : "f"(x));
  return;
#endif
  u32 u = __float_as_uint(x);
  r.v = x != x ? 0x7fc0 : u16((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
__device__ inline void narrow(float x, E5m2& r) {  // round to nearest even, overflow to infinity
  u32 u = __float_as_uint(x), s = (u >> 24) & 0x80, m = u & 0x7fffffff;
  if (m > 0x7f800000) {
    r.v = u8(0x7f | s);
    return;
  }
  if (m >= 0x47800000) {
    r.v = u8(0x7c | s);
    return;
  }
  if (m < 0x38800000) {
    float scaled = __uint_as_float(m) + 128.0f;  // aligns the subnormal's last bit
    r.v = u8((__float_as_uint(scaled) - __float_as_uint(128.0f)) | s);
    return;
  }
  m += 0xc8000000u + 0xfffffu + ((m >> 21) & 1);
  r.v = u8((m >> 21) | s);
}
__device__ inline void narrow(float x, E4m3& r) {  // round to nearest even, overflow saturates
  u32 u = __float_as_uint(x), s = (u >> 24) & 0x80, m = u & 0x7fffffff;
  if (m > 0x7f800000) {
    r.v = u8(0x7f | s);
    return;
  }
  if (m >= 0x43e80000) {
    r.v = u8(0x7e | s);
    return;
  }
  if (m < 0x3c800000) {
    float scaled = __uint_as_float(m) + 16384.0f;
    r.v = u8((__float_as_uint(scaled) - __float_as_uint(16384.0f)) | s);
    return;
  }
  m += 0xc4000000u + 0x7ffffu + ((m >> 20) & 1);
  u32 code = m >> 20;
  r.v = u8((code > 0x7e ? 0x7e : code) | s);
}
__device__ inline void narrow(float x, E8m0& r) {  // the nearest power of two, halves up; the sign is dropped
  const u32 u = __float_as_uint(x), exponent = (u >> 23) & 255, mantissa = u & 0x7fffff;
  const bool up = mantissa > 0x400000 || (mantissa == 0x400000 && exponent > 0);
  r.v = u8(exponent == 255 ? 255 : exponent + up);
}
template <class T> constexpr bool is_narrow = false;
template <> constexpr bool is_narrow<Half> = true;
template <> constexpr bool is_narrow<Bf16> = true;
template <> constexpr bool is_narrow<E4m3> = true;
template <> constexpr bool is_narrow<E5m2> = true;
template <> constexpr bool is_narrow<E8m0> = true;

template <class To, class From> __device__ inline To cast(From x) {
  if constexpr (same_type<To, From>::value)
    return x;
  else if constexpr (same_type<From, Bool>::value)
    return cast<To>(u8(x.v != 0));
  else if constexpr (is_complex<From> && is_complex<To>)
    return To(x.real, x.imag);
  else if constexpr (is_complex<From> && same_type<To, Bool>::value)
    return Bool{u8(x.real != 0 || x.imag != 0)};
  else if constexpr (is_complex<From>)
    return cast<To>(x.real);
  else if constexpr (is_complex<To>)
    return To(cast<decltype(To::real)>(x));
  else if constexpr (is_narrow<From>)
    return cast<To>(widen(x));
  else if constexpr (same_type<To, Bool>::value)
    return Bool{u8(x != From(0))};
  else if constexpr (is_narrow<To>) {
    To r;
    narrow(float(x), r);
    return r;
  } else if constexpr (is_float<From> && !is_float<To>) {
    if constexpr (sizeof(To) == 8 && !is_signed<To>)
      return x < 0 ? To(i64(x)) : To(x);
    else if constexpr (sizeof(To) >= 4 && is_signed<To>)
      return To(x);
    else
      return To(i64(x));  // wraps, as narrowing on the CPU does
  } else
    return To(x);
}

// Neighbouring elements that are read and written at once.
template <class X, int n> struct alignas(sizeof(X) * n) Pack {
  X v[n];
};
