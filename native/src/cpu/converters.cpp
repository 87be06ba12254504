// The table of element conversions.
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

template <class From, class To>
void convert(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t n) {
  if (from_step == int64_t(sizeof(From)) && to_step == int64_t(sizeof(To))) {
    if constexpr (std::is_same_v<From, To>) {
      std::memmove(to, from, size_t(n) * sizeof(To));
    } else {
#ifdef SHIM_F16C
      if constexpr (std::is_same_v<From, Half> && std::is_same_v<To, float>)
        if (has_f16c()) return widen_f16c(reinterpret_cast<const From*>(from), reinterpret_cast<To*>(to), n);
      if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Half>)
        if (has_f16c()) return narrow_f16c(reinterpret_cast<const From*>(from), reinterpret_cast<To*>(to), n);
#endif
      convert_packed(reinterpret_cast<const From*>(from), reinterpret_cast<To*>(to), n);
    }
    return;
  }
  if (from_step == 0) {
    const To value = cast_element<To>(*reinterpret_cast<const From*>(from));
    if (to_step == int64_t(sizeof(To))) return fill_packed(&value, to, sizeof(To), n);
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<To*>(to + i * to_step) = value;
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    *reinterpret_cast<To*>(to + i * to_step) = cast_element<To>(*reinterpret_cast<const From*>(from + i * from_step));
}

using Row = std::array<ConvertFn, kDTypeSlots>;

template <class From>
Row row() {
  Row r{};
  auto put = [&](DType t, ConvertFn f) { r[size_t(t)] = f; };
  put(DType::b8, convert<From, Bool>);
  put(DType::u8, convert<From, uint8_t>);
  put(DType::i8, convert<From, int8_t>);
  put(DType::i16, convert<From, int16_t>);
  put(DType::u16, convert<From, uint16_t>);
  put(DType::i32, convert<From, int32_t>);
  put(DType::u32, convert<From, uint32_t>);
  put(DType::i64, convert<From, int64_t>);
  put(DType::u64, convert<From, uint64_t>);
  put(DType::f16, convert<From, Half>);
  put(DType::bf16, convert<From, BFloat16>);
  put(DType::f32, convert<From, float>);
  put(DType::f64, convert<From, double>);
  put(DType::c32, convert<From, ComplexHalf>);
  put(DType::c64, convert<From, std::complex<float>>);
  put(DType::c128, convert<From, std::complex<double>>);
  put(DType::f8e4m3fn, convert<From, Float8E4M3>);
  put(DType::f8e5m2, convert<From, Float8E5M2>);
  put(DType::f8e4m3fnuz, convert<From, Float8E4M3Fnuz>);
  put(DType::f8e5m2fnuz, convert<From, Float8E5M2Fnuz>);
  put(DType::f8e8m0fnu, convert<From, Float8E8M0>);
  return r;
}

std::array<Row, kDTypeSlots> table() {
  std::array<Row, kDTypeSlots> t{};
  auto put = [&](DType d, const Row& r) { t[size_t(d)] = r; };
  put(DType::b8, row<Bool>());
  put(DType::u8, row<uint8_t>());
  put(DType::i8, row<int8_t>());
  put(DType::i16, row<int16_t>());
  put(DType::u16, row<uint16_t>());
  put(DType::i32, row<int32_t>());
  put(DType::u32, row<uint32_t>());
  put(DType::i64, row<int64_t>());
  put(DType::u64, row<uint64_t>());
  put(DType::f16, row<Half>());
  put(DType::bf16, row<BFloat16>());
  put(DType::f32, row<float>());
  put(DType::f64, row<double>());
  put(DType::c32, row<ComplexHalf>());
  put(DType::c64, row<std::complex<float>>());
  put(DType::c128, row<std::complex<double>>());
  put(DType::f8e4m3fn, row<Float8E4M3>());
  put(DType::f8e5m2, row<Float8E5M2>());
  put(DType::f8e4m3fnuz, row<Float8E4M3Fnuz>());
  put(DType::f8e5m2fnuz, row<Float8E5M2Fnuz>());
  put(DType::f8e8m0fnu, row<Float8E8M0>());
  t[size_t(DType::f4e2m1fn_x2)][size_t(DType::f4e2m1fn_x2)] = convert<uint8_t, uint8_t>;
  for (size_t d = 18; d < 44; ++d)              // bare bits and integers of 1 to 7 bits: bytes are copied
    if (d < 23 || d > 29) t[d][d] = itemsize(DType(d)) == 2 ? convert<uint16_t, uint16_t> : convert<uint8_t, uint8_t>;
  return t;
}

}  // namespace

ConvertFn converter(DType from, DType to) {
  static const std::array<Row, kDTypeSlots> all = table();
  ConvertFn f = from == DType::undefined || to == DType::undefined ? nullptr : all[size_t(from)][size_t(to)];
  CHECK(Kind::NotImplemented, f, "\"copy_\" not implemented for '", scalar_name(to == DType::f4e2m1fn_x2 ? to : from), "'");
  return f;
}

}  // namespace shim
