#pragma once
// The loops that convert elements, one after the other, and those that move them at any distance.
#include <cstring>

#include "cpu/instructions.h"
#include "cpu/kernel_table.h"
#include "cpu/types.h"

namespace shim {

namespace {

using Packed = Conversion::Packed;

// --- the loops: elements one after the other ----------------------------------------------------------------------------------

template <class From, class To> SHIM_CLONES void convert_packed(const char* from, char* to, int64_t n) {
  auto* x = reinterpret_cast<const From*>(from);
  auto* y = reinterpret_cast<To*>(to);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = cast_element<To>(x[i]);
}

// What is seldom converted, or by functions that no vector has: one build is enough.
template <class From, class To> void convert_rare(const char* from, char* to, int64_t n) {
  auto* x = reinterpret_cast<const From*>(from);
  auto* y = reinterpret_cast<To*>(to);
  for (int64_t i = 0; i < n; ++i) y[i] = cast_element<To>(x[i]);
}

// bfloat16 is the upper half of a float32.
SHIM_MATH_CLONES void widen_bfloat16(const char* from, char* to, int64_t n) {
  auto* x = reinterpret_cast<const BFloat16*>(from);
  auto* y = reinterpret_cast<float*>(to);
  for (int64_t i = 0; i < n; ++i) y[i] = to_float(x[i]);
}
SHIM_MATH_CLONES void narrow_bfloat16(const char* from, char* to, int64_t n) {
  auto* x = reinterpret_cast<const float*>(from);
  auto* y = reinterpret_cast<BFloat16*>(to);
  for (int64_t i = 0; i < n; ++i) y[i] = to_bfloat16(x[i]);
}

#ifdef SHIM_F16C
// float16 by the processor's own conversion, eight at a time.
inline __attribute__((target("avx,f16c"))) void widen_f16c(const char* from, char* to, int64_t n) {
  auto* x = reinterpret_cast<const Half*>(from);
  auto* y = reinterpret_cast<float*>(to);
  for (int64_t i = 0; i + 8 <= n; i += 8)
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  for (int64_t i = n / 8 * 8; i < n; ++i) y[i] = to_float(x[i]);
}
inline __attribute__((target("avx,f16c"))) void narrow_f16c(const char* from, char* to, int64_t n) {
  auto* x = reinterpret_cast<const float*>(from);
  auto* y = reinterpret_cast<Half*>(to);
  for (int64_t i = 0; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i),
        _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  for (int64_t i = n / 8 * 8; i < n; ++i) y[i] = to_half(x[i]);
}
#endif

// Between integers and from them to bool, bits are enough: the sign of the source says what fills a wider result.
template <class From> Packed widen(size_t to) {
  if constexpr (sizeof(From) < 2)
    if (to == 2) return convert_packed<From, uint16_t>;
  if constexpr (sizeof(From) < 4)
    if (to == 4) return convert_packed<From, uint32_t>;
  return convert_packed<From, uint64_t>;
}
template <class From> Packed narrow(size_t to) {
  if constexpr (sizeof(From) > 4)
    if (to == 4) return convert_packed<From, uint32_t>;
  if constexpr (sizeof(From) > 2)
    if (to == 2) return convert_packed<From, uint16_t>;
  return convert_packed<From, uint8_t>;
}
inline Packed between_integers(size_t from, bool sign, size_t to) {
  if (from > to) return from == 8 ? narrow<uint64_t>(to) : from == 4 ? narrow<uint32_t>(to) : narrow<uint16_t>(to);
  if (sign) return from == 1 ? widen<int8_t>(to) : from == 2 ? widen<int16_t>(to) : widen<int32_t>(to);
  return from == 1 ? widen<uint8_t>(to) : from == 2 ? widen<uint16_t>(to) : widen<uint32_t>(to);
}
inline Packed to_bool(size_t from) {
  return from == 1   ? convert_packed<uint8_t, Bool>
         : from == 2 ? convert_packed<uint16_t, Bool>
         : from == 4 ? convert_packed<uint32_t, Bool>
                     : convert_packed<uint64_t, Bool>;
}

inline Packed half_to_float() {
#ifdef SHIM_F16C
  if (has_f16c()) return widen_f16c;
#endif
  return convert_packed<Half, float>;
}
inline Packed float_to_half() {
#ifdef SHIM_F16C
  if (has_f16c()) return narrow_f16c;
#endif
  return convert_packed<float, Half>;
}

struct Loop {
  DType from, to;
  Packed run;
};

// The loops of the other pairs; null: there is none.
inline Packed loop(DType from, DType to) {
  using C64 = std::complex<float>;
  using C128 = std::complex<double>;
  using D = DType;
  static const Loop all[] = {
      {D::b8, D::u8, convert_packed<Bool, uint8_t>},
      {D::b8, D::i8, convert_packed<Bool, uint8_t>},
      {D::b8, D::i64, convert_packed<Bool, uint64_t>},
      {D::b8, D::f32, convert_packed<Bool, float>},
      {D::u8, D::f32, convert_packed<uint8_t, float>},
      {D::i32, D::f32, convert_packed<int32_t, float>},
      {D::i64, D::f32, convert_packed<int64_t, float>},
      {D::u64, D::f32, convert_packed<uint64_t, float>},
      {D::i32, D::f64, convert_packed<int32_t, double>},
      {D::i64, D::f64, convert_packed<int64_t, double>},
      {D::u64, D::f64, convert_packed<uint64_t, double>},
      {D::f32, D::u8, convert_packed<float, uint8_t>},
      {D::f32, D::i32, convert_packed<float, int32_t>},
      {D::f32, D::i64, convert_packed<float, int64_t>},
      {D::f32, D::u64, convert_packed<float, uint64_t>},
      {D::f64, D::i32, convert_packed<double, int32_t>},
      {D::f64, D::i64, convert_packed<double, int64_t>},
      {D::f64, D::u64, convert_packed<double, uint64_t>},
      {D::f32, D::b8, convert_packed<float, Bool>},
      {D::f64, D::b8, convert_packed<double, Bool>},
      {D::f32, D::f64, convert_packed<float, double>},
      {D::f64, D::f32, convert_packed<double, float>},
      {D::f16, D::f32, half_to_float()},
      {D::f32, D::f16, float_to_half()},
      {D::bf16, D::f32, widen_bfloat16},
      {D::f32, D::bf16, narrow_bfloat16},
      {D::f8e4m3fn, D::f32, convert_rare<Float8E4M3, float>},
      {D::f32, D::f8e4m3fn, convert_rare<float, Float8E4M3>},
      {D::f8e5m2, D::f32, convert_rare<Float8E5M2, float>},
      {D::f32, D::f8e5m2, convert_rare<float, Float8E5M2>},
      {D::f8e4m3fnuz, D::f32, convert_rare<Float8E4M3Fnuz, float>},
      {D::f32, D::f8e4m3fnuz, convert_rare<float, Float8E4M3Fnuz>},
      {D::f8e5m2fnuz, D::f32, convert_rare<Float8E5M2Fnuz, float>},
      {D::f32, D::f8e5m2fnuz, convert_rare<float, Float8E5M2Fnuz>},
      {D::f8e8m0fnu, D::f32, convert_rare<Float8E8M0, float>},
      {D::f32, D::f8e8m0fnu, convert_rare<float, Float8E8M0>},
      {D::c32, D::c64, convert_rare<ComplexHalf, C64>},
      {D::c64, D::c32, convert_rare<C64, ComplexHalf>},
      {D::c64, D::c128, convert_rare<C64, C128>},
      {D::c128, D::c64, convert_rare<C128, C64>},
      {D::c64, D::f32, convert_rare<C64, float>},
      {D::c128, D::f64, convert_rare<C128, double>},
      {D::f32, D::c64, convert_rare<float, C64>},
      {D::f64, D::c128, convert_rare<double, C128>},
      {D::c64, D::b8, convert_rare<C64, Bool>},
      {D::c128, D::b8, convert_rare<C128, Bool>},
  };
  for (const Loop& l : all)
    if (l.from == from && l.to == to) return l.run;
  return nullptr;
}

struct Sixteen {
  uint64_t a, b;
};

template <class T> void moved(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t n) {
  if (from_step == int64_t(sizeof(T)) && to_step == int64_t(sizeof(T))) {
    std::memmove(to, from, size_t(n) * sizeof(T));
    return;
  }
  if (from_step == 0 && to_step == int64_t(sizeof(T)) && n) {
    const T element = *reinterpret_cast<const T*>(from);
    return fill_packed(&element, to, sizeof(T), n);
  }
  if (to_step == int64_t(sizeof(T))) {
    auto* y = reinterpret_cast<T*>(to);
    for (int64_t i = 0; i < n; ++i) y[i] = *reinterpret_cast<const T*>(from + i * from_step);
  } else if (from_step == int64_t(sizeof(T))) {
    auto* x = reinterpret_cast<const T*>(from);
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(to + i * to_step) = x[i];
  } else {
    for (int64_t i = 0; i < n; ++i)
      *reinterpret_cast<T*>(to + i * to_step) = *reinterpret_cast<const T*>(from + i * from_step);
  }
}

using Move = void (*)(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t n);

inline Move mover(size_t size) {
  return size == 1   ? moved<uint8_t>
         : size == 2 ? moved<uint16_t>
         : size == 4 ? moved<uint32_t>
         : size == 8 ? moved<uint64_t>
                     : moved<Sixteen>;
}

}  // namespace

}  // namespace shim
