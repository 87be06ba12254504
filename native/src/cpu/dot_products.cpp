#include "cpu/dot_products.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "cpu/convert.h"
#include "cpu/dot_tiles.h"
#include "cpu/parallel.h"

namespace shim::gemm {

#ifndef SHIM_DOTS
bool bfloat16_dots() { return false; }
void launch_bfloat16(const GemmProblem&, const GemmBuffers&, double, double) {}
bool few_rows(const GemmProblem&, const float*, const float*, float*, double, double) { return false; }
#else

namespace {

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
