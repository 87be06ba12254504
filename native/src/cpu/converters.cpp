// The table of element conversions.
#include <algorithm>
#include <array>
#include <cstring>

#include "cpu/kernel_table.h"
#include "cpu/types.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define SHIM_F16C
#endif

namespace shim {
namespace {

template <class From, class To>
SHIM_CLONES void convert_packed(const From* x, To* y, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = cast_element<To>(x[i]);
}

// bfloat16 is the upper half of a float32.
template <>
SHIM_MATH_CLONES void convert_packed(const BFloat16* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = to_float(x[i]);
}
template <>
SHIM_MATH_CLONES void convert_packed(const float* x, BFloat16* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = to_bfloat16(x[i]);
}

#ifdef SHIM_F16C
// float16 by the processor's own conversion, eight at a time.
__attribute__((target("avx,f16c"))) void widen_f16c(const Half* x, float* y, int64_t n) {
  for (int64_t i = 0; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  for (int64_t i = n / 8 * 8; i < n; ++i) y[i] = to_float(x[i]);
}
__attribute__((target("avx,f16c"))) void narrow_f16c(const float* x, Half* y, int64_t n) {
  for (int64_t i = 0; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  for (int64_t i = n / 8 * 8; i < n; ++i) y[i] = to_half(x[i]);
}
bool has_f16c() {
  static const bool has = __builtin_cpu_supports("f16c");
  return has;
}
#endif

// --- elements one after the other ---------------------------------------------------------------------------------------------

using Packed = void (*)(const char* from, char* to, int64_t n);

constexpr int64_t kBlock = 256;                 // elements between two steps of a conversion

// The types in daily use are converted directly, any to any. The others pass by the wide type that holds them exactly: a direct
// conversion of every pair would be four times the code, for the same values.
template <class T, class... All> constexpr bool one_of = (std::is_same_v<T, All> || ...);
template <class T> constexpr bool kDaily = one_of<T, Bool, uint8_t, int8_t, int16_t, int32_t, int64_t, Half, BFloat16, float, double>;
template <class T> constexpr bool kWide = one_of<T, int64_t, uint64_t, float, double, std::complex<float>, std::complex<double>>;
template <class T>
using Wide = std::conditional_t<kWide<T>, T, std::conditional_t<std::is_same_v<T, ComplexHalf>, std::complex<float>,
             std::conditional_t<std::is_integral_v<T> || std::is_same_v<T, Bool>, int64_t, float>>>;

template <class From, class To>
void packed(const char* from, char* to, int64_t n) {
  auto* x = reinterpret_cast<const From*>(from);
  auto* y = reinterpret_cast<To*>(to);
  if constexpr (kDaily<From> && kDaily<To>) {
#ifdef SHIM_F16C
    if constexpr (std::is_same_v<From, Half> && std::is_same_v<To, float>)
      if (has_f16c()) return widen_f16c(x, y, n);
    if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Half>)
      if (has_f16c()) return narrow_f16c(x, y, n);
#endif
    convert_packed(x, y, n);
  } else if constexpr (kWide<From> || std::is_same_v<Wide<From>, To>) {
    for (int64_t i = 0; i < n; ++i) y[i] = cast_element<To>(x[i]);
  } else {
    Wide<From> block[kBlock];
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t m = std::min(kBlock, n - i);
      packed<From, Wide<From>>(reinterpret_cast<const char*>(x + i), reinterpret_cast<char*>(block), m);
      packed<Wide<From>, To>(reinterpret_cast<const char*>(block), reinterpret_cast<char*>(y + i), m);
    }
  }
}

// --- elements at any distance -------------------------------------------------------------------------------------------------

struct Sixteen { uint64_t a, b; };

template <class T>
void moved(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t n) {
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
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(to + i * to_step) = *reinterpret_cast<const T*>(from + i * from_step);
  }
}

ConvertFn mover(size_t size) {
  return size == 1 ? moved<uint8_t> : size == 2 ? moved<uint16_t> : size == 4 ? moved<uint32_t> : size == 8 ? moved<uint64_t> : moved<Sixteen>;
}

void spread(Packed f, int64_t from_size, int64_t to_size, const char* from, int64_t from_step, char* to, int64_t to_step, int64_t n) {
  if (from_step == from_size && to_step == to_size) return f(from, to, n);
  alignas(16) char before[16 * kBlock], after[16 * kBlock];
  if (from_step == 0 && n > 1) {
    f(from, after, 1);
    return mover(size_t(to_size))(after, 0, to, to_step, n);
  }
  if (n < 8) {                                  // too few to be gathered first
    for (int64_t i = 0; i < n; ++i) f(from + i * from_step, to + i * to_step, 1);
    return;
  }
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = std::min(kBlock, n - i);
    const char* source = from + i * from_step;
    if (from_step != from_size) mover(size_t(from_size))(source, from_step, before, from_size, m), source = before;
    if (to_step == to_size) {
      f(source, to + i * to_step, m);
    } else {
      f(source, after, m);
      mover(size_t(to_size))(after, to_size, to + i * to_step, to_step, m);
    }
  }
}

template <class From, class To>
void convert(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t n) {
  spread(packed<From, To>, sizeof(From), sizeof(To), from, from_step, to, to_step, n);
}

// --- the table ----------------------------------------------------------------------------------------------------------------

using Row = std::array<ConvertFn, kDTypeSlots>;

template <class... T> struct Types {};
using All = Types<Bool, uint8_t, int8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, Half, BFloat16, float, double, ComplexHalf,
                  std::complex<float>, std::complex<double>, Float8E4M3, Float8E5M2, Float8E4M3Fnuz, Float8E5M2Fnuz, Float8E8M0>;
constexpr DType kDTypes[] = {DType::b8, DType::u8, DType::i8, DType::i16, DType::u16, DType::i32, DType::u32, DType::i64, DType::u64, DType::f16,
                             DType::bf16, DType::f32, DType::f64, DType::c32, DType::c64, DType::c128, DType::f8e4m3fn, DType::f8e5m2,
                             DType::f8e4m3fnuz, DType::f8e5m2fnuz, DType::f8e8m0fnu};

template <class From, class... To>
Row row(Types<To...>) {
  static constexpr ConvertFn to[] = {convert<From, To>...};
  Row r{};
  for (size_t i = 0; i < sizeof...(To); ++i) r[size_t(kDTypes[i])] = to[i];
  return r;
}

template <class... From>
std::array<Row, kDTypeSlots> table(Types<From...> all) {
  std::array<Row, kDTypeSlots> t{};
  size_t i = 0;
  ((t[size_t(kDTypes[i++])] = row<From>(all)), ...);
  for (DType d : kDTypes) t[size_t(d)][size_t(d)] = mover(itemsize(d));
  t[size_t(DType::f4e2m1fn_x2)][size_t(DType::f4e2m1fn_x2)] = mover(1);
  for (size_t d = 18; d < 44; ++d)              // bare bits and integers of 1 to 7 bits: bytes are copied
    if (d < 23 || d > 29) t[d][d] = mover(itemsize(DType(d)) == 2 ? 2 : 1);
  return t;
}

}  // namespace

ConvertFn converter(DType from, DType to) {
  static const std::array<Row, kDTypeSlots> all = table(All{});
  ConvertFn f = from == DType::undefined || to == DType::undefined ? nullptr : all[size_t(from)][size_t(to)];
  CHECK(Kind::NotImplemented, f, "\"copy_\" not implemented for '", scalar_name(to == DType::f4e2m1fn_x2 ? to : from), "'");
  return f;
}

}  // namespace shim
