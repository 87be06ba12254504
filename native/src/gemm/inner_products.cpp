#include "gemm/inner_products.h"

#include <algorithm>

namespace shim::gemm {
namespace {

template <class T> constexpr int64_t kPackedRows = 192 / int64_t(sizeof(T));   // three of the widest vectors
// run[P - 1] takes four rows on the left and P on the right, at most `most`; vectors have `lanes` elements. Or: `pack` makes columns of
// kPackedRows on the left, and outer[0][N - 1] takes N vectors of them and `many` rows on the right, outer[1][N - 1] one.
template <class T>
struct InnerTiles {
  int64_t lanes;
  int most;
  void (*run[6])(const T* const* left, const T* const* right, int64_t k, T scale, T beta, T* to, int64_t to_step);
  void (*pack)(const T* rows, int64_t step, int64_t count, int64_t k, T* packed);
  int many;
  void (*outer[2][3])(const T* packed, const T* right, int64_t step, int64_t k, T scale, T beta, T* to, int64_t to_step);
};

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,fma")
namespace wide_inner {
constexpr int kBytes = 64;
#include "gemm/inner_tiles.h"
}  // namespace wide_inner
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace narrow_inner {
constexpr int kBytes = 32;
#include "gemm/inner_tiles.h"
}  // namespace narrow_inner
#pragma GCC pop_options

template <class T>
const InnerTiles<T>* inner_tiles_here() {
  static const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  static const bool narrow = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  static const InnerTiles<T> found = wide ? wide_inner::inner_tiles<T>() : narrow_inner::inner_tiles<T>();
  return wide || narrow ? &found : nullptr;
}
#else
template <class T>
const InnerTiles<T>* inner_tiles_here() { return nullptr; }
#endif

constexpr int64_t kDepth = 1024;                // elements of a row at a time: the rows on the right stay in the first cache
constexpr int64_t kPanel = 1 << 17;             // elements on the left at a time: they stay in the second

constexpr int64_t kSmall = 1 << 17;             // a BLAS has ways of its own for small ones
constexpr int64_t kLarge = 1 << 28;             // with rows a page apart, which are in each other's place in the first cache
constexpr int64_t kPackedDepth = 256;
constexpr int64_t kBlock = 512;                 // rows on the right at a time: they stay in the second cache

template <class T>
void by_lanes(const InnerTiles<T>& tiles, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda, const T* b, int64_t ldb, T beta, T* d, int64_t ldd) {
  const int64_t panel = std::max<int64_t>(4, kPanel / std::min(k, kDepth) / 4 * 4);
  for (int64_t first = 0, depth; first < k; first += depth) {
    depth = k - first < kDepth + tiles.lanes ? k - first : kDepth;          // what is left is no less than a vector
    const T join = first ? T(1) : beta;
    for (int64_t begin = 0; begin < m; begin += panel) {
      const int64_t end = std::min(m, begin + panel);
      for (int64_t j = 0, many; j < n; j += many) {
        many = std::min<int64_t>(n - j, tiles.most);
        const T* right[6];
        for (int64_t p = 0; p < many; ++p) right[p] = b + (j + p) * ldb + first;
        for (int64_t i = begin; i < end; i += 4) {
          const T* left[4];
          for (int64_t o = 0; o < 4; ++o) left[o] = a + std::min(i + o, m - 1) * lda + first;
          T* to = d + j * ldd + i;
          if (i + 4 <= m) {
            tiles.run[many - 1](left, right, depth, alpha, join, to, ldd);
            continue;
          }
          T some[4 * 6];                        // fewer than four rows are left
          tiles.run[many - 1](left, right, depth, alpha, T(0), some, 4);
          for (int64_t p = 0; p < many; ++p)
            for (int64_t o = 0; i + o < m; ++o) to[p * ldd + o] = join == 0 ? some[p * 4 + o] : some[p * 4 + o] + join * to[p * ldd + o];
        }
      }
    }
  }
}

template <class T>
void by_columns(const InnerTiles<T>& tiles, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda, const T* b, int64_t ldb, T beta, T* d, int64_t ldd) {
  constexpr int64_t kRows = kPackedRows<T>;
  alignas(64) T packed[kPackedDepth * kRows], some[8 * kRows];
  for (int64_t first = 0; first < k; first += kPackedDepth) {
    const int64_t depth = std::min(k - first, kPackedDepth);
    const T join = first ? T(1) : beta;
    for (int64_t i = 0; i < m; i += 3 * tiles.lanes) {
      const int64_t rows = std::min(m - i, 3 * tiles.lanes), vectors = (rows + tiles.lanes - 1) / tiles.lanes;
      tiles.pack(a + i * lda + first, lda, rows, depth, packed);
      for (int64_t j = 0, many; j < n; j += many) {
        many = n - j >= tiles.many ? tiles.many : 1;
        const auto run = tiles.outer[many == 1][vectors - 1];
        T* to = d + j * ldd + i;
        if (rows == vectors * tiles.lanes) {
          run(packed, b + j * ldb + first, ldb, depth, alpha, join, to, ldd);
          continue;
        }
        run(packed, b + j * ldb + first, ldb, depth, alpha, T(0), some, kRows);
        for (int64_t p = 0; p < many; ++p)
          for (int64_t r = 0; r < rows; ++r) to[p * ldd + r] = join == 0 ? some[p * kRows + r] : some[p * kRows + r] + join * to[p * ldd + r];
      }
    }
  }
}

}  // namespace

template <class T>
bool inner_products(int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda, const T* b, int64_t ldb, T beta, T* d, int64_t ldd) {
  const InnerTiles<T>* tiles = inner_tiles_here<T>();
  if (!tiles || m * n * k < kSmall || (m * n * k > kLarge && ldb * int64_t(sizeof(T)) % 4096 == 0)) return false;
  // Packing costs by the row on the right what joining lanes costs by the element of a row. With half the registers a BLAS joins as well.
  const bool joins = tiles->most > 2;
  if (m >= tiles->lanes && n >= 2 * tiles->many && (8 * n >= k || !joins)) {
    for (int64_t j = 0; j < n; j += kBlock) by_columns(*tiles, m, std::min(kBlock, n - j), k, alpha, a, lda, b + j * ldb, ldb, beta, d + j * ldd, ldd);
  } else if (joins && k >= (m < 16 ? 32 : 12) * tiles->lanes && m >= 4 && n > 1) {
    by_lanes(*tiles, m, n, k, alpha, a, lda, b, ldb, beta, d, ldd);
  } else {
    return false;
  }
  return true;
}

template bool inner_products(int64_t, int64_t, int64_t, float, const float*, int64_t, const float*, int64_t, float, float*, int64_t);
template bool inner_products(int64_t, int64_t, int64_t, double, const double*, int64_t, const double*, int64_t, double, double*, int64_t);

}  // namespace shim::gemm
