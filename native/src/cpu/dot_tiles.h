#pragma once
// Tiles of dot products of rows, in AVX-512. Where the compiler has no such instructions, SHIM_DOTS is not defined.
#include "cpu/convert.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#include <immintrin.h>
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC 12 says so of the intrinsics' own values that do not matter
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#define SHIM_DOTS __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#define SHIM_DOTS_INLINE __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16"), always_inline)) inline

namespace shim::gemm {

namespace {

// c[i, j] = alpha sum over k of a[i, k] b[j, k] + beta c[i, j]
template <class T> struct Rows {
  const T *a, *b;
  int64_t lda, ldb, k;
  T* c;
  int64_t ldc;
  float alpha, beta;
};

// Sixty-four bytes of a row; the last ones with zeros behind them.
struct Whole {
  SHIM_DOTS_INLINE static __m512i load(const BFloat16* p) { return _mm512_loadu_si512(p); }
  SHIM_DOTS_INLINE static __m512i load(const float* p) { return _mm512_loadu_si512(p); }
};
struct Last {
  int64_t count;
  SHIM_DOTS_INLINE __m512i load(const BFloat16* p) const {
    return _mm512_maskz_loadu_epi16(__mmask32((uint64_t(1) << count) - 1), p);
  }
  SHIM_DOTS_INLINE __m512i load(const float* p) const {
    return _mm512_maskz_loadu_epi32(__mmask16((1u << count) - 1), p);
  }
};

SHIM_DOTS_INLINE __m512 multiplied(__m512 sum, __m512i x, __m512i y, BFloat16) {
  return _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)y);
}
SHIM_DOTS_INLINE __m512 multiplied(__m512 sum, __m512i x, __m512i y, float) {
  return _mm512_fmadd_ps(_mm512_castsi512_ps(x), _mm512_castsi512_ps(y), sum);
}

template <int R, int C, class T, class Load>
SHIM_DOTS_INLINE void step(__m512 (&sums)[R][C], const T* a, int64_t lda, const T* b, int64_t ldb, Load from) {
  __m512i x[R], y[C];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) x[r] = from.load(a + r * lda);
#pragma GCC unroll 4
  for (int c = 0; c < C; ++c) y[c] = from.load(b + c * ldb);
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) sums[r][c] = multiplied(sums[r][c], x[r], y[c], T{});
}

// Four (one) elements of a row to and from float32.
template <int C> SHIM_DOTS_INLINE __m128 read(const float* p) { return C == 4 ? _mm_loadu_ps(p) : _mm_load_ss(p); }
template <int C> SHIM_DOTS_INLINE __m128 read(const BFloat16* p) {
  const __m128i bits = C == 4 ? _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)) : _mm_cvtsi32_si128(p->bits);
  return _mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(bits), 16));
}
template <int C> SHIM_DOTS_INLINE void write(float* to, __m128 x) {
  C == 4 ? _mm_storeu_ps(to, x) : _mm_store_ss(to, x);
}
template <int C> SHIM_DOTS_INLINE void write(BFloat16* to, __m128 x) {
  __m128i bits = _mm_castps_si128(x);  // to_bfloat16() of each
  bits = _mm_srli_epi32(
      _mm_add_epi32(_mm_add_epi32(bits, _mm_set1_epi32(0x7fff)), _mm_srli_epi32(_mm_slli_epi32(bits, 15), 31)), 16);
  bits = _mm_packus_epi32(_mm_mask_mov_epi32(bits, _mm_cmp_ps_mask(x, x, _CMP_UNORD_Q), _mm_set1_epi32(0x7fc0)), bits);
  if (C == 4)
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), bits);
  else
    to->bits = uint16_t(_mm_cvtsi128_si32(bits));
}

// Four rows of four.
SHIM_DOTS_INLINE void write_four(float* to, int64_t ld, __m512 x) {
  _mm_storeu_ps(to, _mm512_castps512_ps128(x));
  _mm_storeu_ps(to + ld, _mm512_extractf32x4_ps(x, 1));
  _mm_storeu_ps(to + 2 * ld, _mm512_extractf32x4_ps(x, 2));
  _mm_storeu_ps(to + 3 * ld, _mm512_extractf32x4_ps(x, 3));
}
SHIM_DOTS_INLINE void write_four(BFloat16* to, int64_t ld, __m512 x) {
  __m512i bits = _mm512_castps_si512(x);
  bits = _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)),
                               _mm512_srli_epi32(_mm512_slli_epi32(bits, 15), 31)),
      16);
  bits = _mm512_mask_mov_epi32(bits, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), _mm512_set1_epi32(0x7fc0));
  const __m256i all = _mm512_cvtepi32_epi16(bits);
  const __m128i low = _mm256_castsi256_si128(all), high = _mm256_extracti128_si256(all, 1);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), low);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to + ld), _mm_unpackhi_epi64(low, low));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to + 2 * ld), high);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to + 3 * ld), _mm_unpackhi_epi64(high, high));
}

SHIM_DOTS_INLINE __m512 pairs(__m512 a, __m512 b) { return _mm512_unpacklo_ps(a, b) + _mm512_unpackhi_ps(a, b); }
SHIM_DOTS_INLINE __m512 halves(__m512 a, __m512 b) {
  return _mm512_shuffle_f32x4(a, b, 0x88) + _mm512_shuffle_f32x4(a, b, 0xdd);
}
// A part of the sum of the elements of each of C vectors, in every four elements of the result.
template <int C> SHIM_DOTS_INLINE __m512 folded(const __m512 (&v)[C]) {
  const __m512 zero = _mm512_setzero_ps();
  const __m512d low = _mm512_castps_pd(pairs(v[0], C == 4 ? v[C > 1] : zero)),
                high = _mm512_castps_pd(C == 4 ? pairs(v[C > 2 ? 2 : 0], v[C > 3 ? 3 : 0]) : zero);
  return _mm512_castpd_ps(_mm512_unpacklo_pd(low, high)) + _mm512_castpd_ps(_mm512_unpackhi_pd(low, high));
}
template <int C> SHIM_DOTS_INLINE __m128 sums_of(const __m512 (&v)[C]) {
  const __m512 all = folded(v);
  const __m256 half = _mm512_castps512_ps256(all) + _mm512_extractf32x8_ps(all, 1);
  return _mm256_castps256_ps128(half) + _mm256_extractf128_ps(half, 1);
}

// The elements [i, i + R) x [j, j + C).
template <int R, int C, class T> SHIM_DOTS void tile(const Rows<T>& p, int64_t i, int64_t j) {
  constexpr int64_t kStep = 64 / int64_t(sizeof(T));
  __m512 sums[R][C];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) sums[r][c] = _mm512_setzero_ps();
  const T *a = p.a + i * p.lda, *b = p.b + j * p.ldb;
  int64_t k = 0;
  for (; k + kStep <= p.k; k += kStep) step<R, C, T>(sums, a + k, p.lda, b + k, p.ldb, Whole{});
  if (k < p.k) step<R, C, T>(sums, a + k, p.lda, b + k, p.ldb, Last{p.k - k});
  if constexpr (R == 4 && C == 4)
    if (p.beta == 0)
      return write_four(p.c + i * p.ldc + j, p.ldc,
          halves(halves(folded(sums[0]), folded(sums[1])), halves(folded(sums[2]), folded(sums[3]))) *
              _mm512_set1_ps(p.alpha));
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    T* to = p.c + (i + r) * p.ldc + j;
    __m128 found = sums_of<C>(sums[r]) * _mm_set1_ps(p.alpha);
    if (p.beta != 0) found += read<C>(to) * _mm_set1_ps(p.beta);
    write<C>(to, found);
  }
}

}  // namespace

}  // namespace shim::gemm
#endif
