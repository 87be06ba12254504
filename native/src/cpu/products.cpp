#include "cpu/products.h"

#include <algorithm>
#include <memory>

#include "cpu/instructions.h"

namespace shim::gemm {
namespace {

template <class T> constexpr int64_t kPackedRows = 192 / int64_t(sizeof(T));  // three of the widest vectors
// run[P - 1] takes four rows on the left and P on the right, at most `most`; vectors have `lanes` elements. Or: pack[1] makes columns of
// kPackedRows rows on the left, pack[0] copies what are columns, and outer[0][N - 1] takes N vectors of them and `many` rows on the
// right, outer[1][N - 1] one.
template <class T> struct ProductTiles {
  int64_t lanes;
  int most;
  void (*run[6])(const T* const* left, const T* const* right, int64_t k, T scale, T beta, T* to, int64_t to_step);
  void (*pack[2])(const T* rows, int64_t step, int64_t count, int64_t k, T* packed);
  int many;
  void (*outer[2][3])(const T* packed, int64_t packed_step, const T* right, int64_t step, int64_t k, T scale, T beta,
      T* to, int64_t to_step);
};

#ifdef SHIM_VECTOR_TARGETS
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,fma")
namespace wide_products {
constexpr int kBytes = 64;
#include "cpu/product_tiles.h"
}  // namespace wide_products
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace narrow_products {
constexpr int kBytes = 32;
#include "cpu/product_tiles.h"
}  // namespace narrow_products
#pragma GCC pop_options

template <class T> const ProductTiles<T>* product_tiles_here() {
  static const ProductTiles<T> found =
      has_avx512() ? wide_products::product_tiles<T>() : narrow_products::product_tiles<T>();
  return has_avx512() || has_avx2() ? &found : nullptr;
}
#else
template <class T> const ProductTiles<T>* product_tiles_here() { return nullptr; }
#endif

constexpr int64_t kDepth = 1024;     // elements of a row at a time: the rows on the right stay in the first cache
constexpr int64_t kPanel = 1 << 17;  // elements on the left at a time: they stay in the second

constexpr int64_t kSmall = 1 << 17;  // a BLAS has ways of its own for small ones
constexpr int64_t kLarge = 1 << 27;  // and blocks that suit large ones
constexpr int64_t kPackedDepth = 256;
constexpr int64_t kBlock = 512;  // rows on the right at a time: they stay in the second cache

template <class T>
void by_lanes(const ProductTiles<T>& tiles, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
    const T* b, int64_t ldb, T beta, T* d, int64_t ldd) {
  const int64_t panel = std::max<int64_t>(4, kPanel / std::min(k, kDepth) / 4 * 4);
  for (int64_t first = 0, depth; first < k; first += depth) {
    depth = k - first < kDepth + tiles.lanes ? k - first : kDepth;  // what is left is no less than a vector
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
          T some[4 * 6];  // fewer than four rows are left
          tiles.run[many - 1](left, right, depth, alpha, T(0), some, 4);
          for (int64_t p = 0; p < many; ++p)
            for (int64_t o = 0; i + o < m; ++o)
              to[p * ldd + o] = join == 0 ? some[p * 4 + o] : some[p * 4 + o] + join * to[p * ldd + o];
        }
      }
    }
  }
}

// Blocks of `many` rows on the right, as outer tiles read them; the rows that are left stay as they are, one after the other.
template <class T> void pack_right(bool columns, const T* b, int64_t ldb, int64_t n, int64_t k, int64_t many, T* to) {
  for (int64_t j = 0; j + many <= n; j += many)
    for (int64_t i = 0; i < k; ++i, to += many)
      for (int64_t p = 0; p < many; ++p) to[p] = columns ? b[i * ldb + j + p] : b[(j + p) * ldb + i];
  for (int64_t j = n / many * many; j < n; ++j)
    for (int64_t i = 0; i < k; ++i) *to++ = columns ? b[i * ldb + j] : b[j * ldb + i];
}

template <class T> struct Room {  // what a thread keeps for packed rows on the right
  std::unique_ptr<T[]> data;
  int64_t size = 0;
  T* of(int64_t n) {
    if (n > size) data.reset(new T[size_t(n)]), size = n;
    return data.get();
  }
};

template <class T>
void by_columns(const ProductTiles<T>& tiles, bool rows_left, bool columns_right, int64_t m, int64_t n, int64_t k,
    T alpha, const T* a, int64_t lda, const T* b, int64_t ldb, T beta, T* d, int64_t ldd) {
  constexpr int64_t kRows = kPackedRows<T>;
  static thread_local Room<T> room;
  alignas(64) T packed[kPackedDepth * kRows], some[8 * kRows];
  // Rows on the right are taken from where they are, unless they stand in each other's place in the first cache; so are columns on the
  // left that few rows ask for.
  const bool copies = columns_right || ldb * int64_t(sizeof(T)) % 4096 == 0, few = !rows_left && n <= 2 * tiles.many;
  for (int64_t first = 0; first < k; first += kPackedDepth) {
    const int64_t depth = std::min(k - first, kPackedDepth);
    const T join = first ? T(1) : beta;
    const T* right = columns_right ? b + first * ldb : b + first;
    T* copy = nullptr;
    if (copies) pack_right(columns_right, right, ldb, n, depth, tiles.many, copy = room.of(n * depth));
    for (int64_t i = 0; i < m; i += 3 * tiles.lanes) {
      const int64_t rows = std::min(m - i, 3 * tiles.lanes), vectors = (rows + tiles.lanes - 1) / tiles.lanes;
      const bool whole = rows == vectors * tiles.lanes;
      const T* left = rows_left ? a + i * lda + first : a + first * lda + i;
      if (!few || !whole) tiles.pack[rows_left](left, lda, rows, depth, packed), left = packed;
      const int64_t left_step = left == packed ? kRows : lda;
      for (int64_t j = 0, many; j < n; j += many) {
        many = n - j >= tiles.many ? tiles.many : 1;
        const auto run = tiles.outer[many == 1][vectors - 1];
        const T* of = copies ? copy + j * depth : right + j * ldb;
        const int64_t step = copies ? 0 : ldb;
        T* to = d + j * ldd + i;
        if (whole) {
          run(left, left_step, of, step, depth, alpha, join, to, ldd);
          continue;
        }
        run(left, left_step, of, step, depth, alpha, T(0), some, kRows);
        for (int64_t p = 0; p < many; ++p)
          for (int64_t r = 0; r < rows; ++r)
            to[p * ldd + r] = join == 0 ? some[p * kRows + r] : some[p * kRows + r] + join * to[p * ldd + r];
      }
    }
  }
}

}  // namespace

template <class T>
bool own_product(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
    const T* b, int64_t ldb, T beta, T* d, int64_t ldd) {
  const ProductTiles<T>* tiles = product_tiles_here<T>();
  if (!tiles || m * n * k < (trans_a ? kSmall : 4 * kSmall) || m * n * k > kLarge) return false;
  // Packing costs by the row on the right what joining lanes costs by the element of a row. With half the registers a BLAS joins as well.
  const bool joins = trans_a && !trans_b && tiles->most > 2;
  if (m >= tiles->lanes && n >= (trans_a ? 2 : 1) * tiles->many && (8 * n >= k || !joins)) {
    for (int64_t j = 0; j < n; j += kBlock)
      by_columns(*tiles, trans_a, trans_b, m, std::min(kBlock, n - j), k, alpha, a, lda, b + (trans_b ? j : j * ldb),
          ldb, beta, d + j * ldd, ldd);
  } else if (joins && k >= (m < 16 ? 32 : 12) * tiles->lanes && m >= 4 && n > 1) {
    by_lanes(*tiles, m, n, k, alpha, a, lda, b, ldb, beta, d, ldd);
  } else {
    return false;
  }
  return true;
}

template bool own_product(
    bool, bool, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*, int64_t, float, float*, int64_t);
template bool own_product(bool, bool, int64_t, int64_t, int64_t, double, const double*, int64_t, const double*, int64_t,
    double, double*, int64_t);

}  // namespace shim::gemm
