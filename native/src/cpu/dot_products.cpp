#include "cpu/dot_products.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "cpu/convert.h"
#include "cpu/parallel.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#include <immintrin.h>
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC 12 says so of the intrinsics' own values that do not matter
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#define SHIM_DOTS __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#define SHIM_DOTS_INLINE __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16"), always_inline)) inline
#endif

namespace shim::gemm {

#ifndef SHIM_DOTS
bool bfloat16_dots() { return false; }
void launch_bfloat16(const GemmProblem&, const GemmBuffers&, double, double) {}
bool few_rows(const GemmProblem&, const float*, const float*, float*, double, double) { return false; }
#else
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

template <int R, class T> void strip(const Rows<T>& p, int64_t i, int64_t first, int64_t last) {
  for (; first + 4 <= last; first += 4) tile<R, 4>(p, i, first);
  for (; first < last; ++first) tile<R, 1>(p, i, first);
}

// The elements [i, rows) x [first, last).
template <class T> void block(const Rows<T>& p, int64_t i, int64_t rows, int64_t first, int64_t last) {
  for (; first < last; first += 4) {
    const int64_t end = std::min(first + 4, last);
    int64_t r = i;
    for (; r + 4 <= rows; r += 4) strip<4>(p, r, first, end);
    for (; r + 2 <= rows; r += 2) strip<2>(p, r, first, end);
    if (r < rows) strip<1>(p, r, first, end);
  }
}

template <class T> void multiply_rows(const Rows<T>& p, int64_t rows, int64_t cols) {
  const auto fitting = [&](int64_t bytes) {
    return std::max<int64_t>(4, bytes / std::max<int64_t>(1, p.k * int64_t(sizeof(T))) / 4 * 4);
  };
  const int64_t near = fitting(16 << 10),
                far = fitting(256 << 10);  // rows of a in the first-level cache, of b in the second-level one
  const auto some = [&](int64_t first, int64_t last) {
    for (int64_t j = first; j < last; j += far)
      for (int64_t i = 0; i < rows; i += near) block(p, i, std::min(rows, i + near), j, std::min(last, j + far));
  };
  const int64_t groups = (cols + 3) / 4, work = 4 * rows * p.k / 16 + 1;
  parallel_for(groups, std::max<int64_t>(1, kGrain / work),
      [&](int64_t begin, int64_t end) { some(begin * 4, std::min(cols, end * 4)); });
}

// Where b's elements lie side by side along j instead, b[k, j]: lines of it are added, four at a time, to sums that stay in the cache.
constexpr int64_t kAcross = 512;

SHIM_DOTS_INLINE __m512 line(const BFloat16* p, __mmask16 some) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(some, p)), 16));
}
SHIM_DOTS void add_lines(const BFloat16* b, int64_t ldb, const float (&x)[4], float* sums, int64_t cols) {
  const __m512 x0 = _mm512_set1_ps(x[0]), x1 = _mm512_set1_ps(x[1]), x2 = _mm512_set1_ps(x[2]),
               x3 = _mm512_set1_ps(x[3]);
  for (int64_t j = 0; j < cols; j += 16) {
    const __mmask16 some = cols - j >= 16 ? 0xffff : __mmask16((1u << (cols - j)) - 1);
    __m512 sum = _mm512_loadu_ps(sums + j);
    sum = _mm512_fmadd_ps(x0, line(b + j, some), sum);
    sum = _mm512_fmadd_ps(x1, line(b + ldb + j, some), sum);
    sum = _mm512_fmadd_ps(x2, line(b + 2 * ldb + j, some), sum);
    _mm512_storeu_ps(sums + j, _mm512_fmadd_ps(x3, line(b + 3 * ldb + j, some), sum));
  }
}

void multiply_across(const Rows<BFloat16>& p, int64_t rows, int64_t cols) {
  parallel_for((cols + kAcross - 1) / kAcross, std::max<int64_t>(1, kGrain / (kAcross / 16 * rows * p.k + 1)),
      [&](int64_t begin, int64_t end) {
        std::vector<float> sums(size_t(rows * kAcross));
        for (int64_t j = begin * kAcross; j < std::min(cols, end * kAcross); j += kAcross) {
          const int64_t wide = std::min(kAcross, cols - j);
          std::fill(sums.begin(), sums.end(), 0.f);
          int64_t k = 0;
          for (; k + 4 <= p.k; k += 4)
            for (int64_t i = 0; i < rows; ++i) {
              const BFloat16* x = p.a + i * p.lda + k;
              add_lines(p.b + k * p.ldb + j, p.ldb, {to_float(x[0]), to_float(x[1]), to_float(x[2]), to_float(x[3])},
                  sums.data() + i * kAcross, wide);
            }
          for (; k < p.k; ++k)
            for (int64_t i = 0; i < rows; ++i)
              for (int64_t c = 0; c < wide; ++c)
                sums[size_t(i * kAcross + c)] += to_float(p.a[i * p.lda + k]) * to_float(p.b[k * p.ldb + j + c]);
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t c = 0; c < wide; ++c) {
              BFloat16& to = p.c[i * p.ldc + j + c];
              to = to_bfloat16(p.alpha * sums[size_t(i * kAcross + c)] + (p.beta == 0 ? 0.f : p.beta * to_float(to)));
            }
        }
      });
}

// to[j, i] = from[i, j] of 16-bit elements, eight by eight.
SHIM_DOTS void transpose_eight(const uint16_t* from, int64_t ld, uint16_t* to, int64_t to_ld) {
  __m128i r[8], s[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * ld));
  for (int i = 0; i < 4; ++i)
    s[2 * i] = _mm_unpacklo_epi16(r[i], r[i + 4]), s[2 * i + 1] = _mm_unpackhi_epi16(r[i], r[i + 4]);
  for (int i = 0; i < 4; ++i)
    r[2 * i] = _mm_unpacklo_epi16(s[i], s[i + 4]), r[2 * i + 1] = _mm_unpackhi_epi16(s[i], s[i + 4]);
  for (int i = 0; i < 4; ++i)
    s[2 * i] = _mm_unpacklo_epi16(r[i], r[i + 4]), s[2 * i + 1] = _mm_unpackhi_epi16(r[i], r[i + 4]);
  for (int i = 0; i < 8; ++i) _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * to_ld), s[i]);
}

// (rows, cols) with row stride ld, its transpose with row stride `rows`.
void transpose_to(const BFloat16* given, int64_t ld, int64_t rows, int64_t cols, BFloat16* result) {
  const auto* from = reinterpret_cast<const uint16_t*>(given);
  auto* to = reinterpret_cast<uint16_t*>(result);
  constexpr int64_t kWide = 32;  // elements of a cache line
  parallel_for(
      (cols + kWide - 1) / kWide, std::max<int64_t>(1, kGrain / (kWide * rows)), [&](int64_t begin, int64_t end) {
        for (int64_t j = begin * kWide; j < std::min(cols, end * kWide); j += kWide) {
          const int64_t wide = std::min(kWide, cols - j);
          int64_t i = 0;
          if (wide == kWide)
            for (; i + 8 <= rows; i += 8)
              for (int64_t c = 0; c < kWide; c += 8)
                transpose_eight(from + i * ld + j + c, ld, to + (j + c) * rows + i, rows);
          for (; i < rows; ++i)
            for (int64_t c = 0; c < wide; ++c) to[(j + c) * rows + i] = from[i * ld + j + c];
        }
      });
}

}  // namespace

bool bfloat16_dots() {
  static const bool has = __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return has;
}

void launch_bfloat16(const GemmProblem& p, const GemmBuffers& buffers, double alpha, double beta) {
  // Row-major: rows are p.n, columns p.m.
  constexpr int64_t kFew = 4;
  const bool turn_rows = p.trans_b, few = !p.trans_a && p.n <= kFew, turn_cols = !p.trans_a && !few;
  std::unique_ptr<BFloat16[]> rows, cols;
  if (turn_rows) rows.reset(new BFloat16[size_t(p.n * p.k)]);
  if (turn_cols) cols.reset(new BFloat16[size_t(p.m * p.k)]);
  for (int64_t i = 0; i < p.batch; ++i) {
    Rows<BFloat16> r{static_cast<const BFloat16*>(buffers.b) + i * p.stride_b,
        static_cast<const BFloat16*>(buffers.a) + i * p.stride_a, p.ldb, p.lda, p.k,
        static_cast<BFloat16*>(buffers.d) + i * p.stride_d, p.ldd, float(alpha), float(beta)};
    if (turn_rows) {
      if (i == 0 || p.stride_b) transpose_to(r.a, p.ldb, p.k, p.n, rows.get());
      r.a = rows.get(), r.lda = p.k;
    }
    if (turn_cols) {
      if (i == 0 || p.stride_a) transpose_to(r.b, p.lda, p.k, p.m, cols.get());
      r.b = cols.get(), r.ldb = p.k;
    }
    few ? multiply_across(r, p.n, p.m) : multiply_rows(r, p.n, p.m);
  }
}

bool few_rows(const GemmProblem& p, const float* a, const float* b, float* d, double alpha, double beta) {
  constexpr int64_t kFew = 16, kWorth = 1 << 15;
  if (!p.trans_a || p.trans_b || p.n > kFew || p.m < 2 * p.n || p.m * p.k < kWorth || !bfloat16_dots()) return false;
  multiply_rows(Rows<float>{b, a, p.ldb, p.lda, p.k, d, p.ldd, float(alpha), float(beta)}, p.n, p.m);
  return true;
}
#endif

}  // namespace shim::gemm
