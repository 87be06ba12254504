// Tiles of products of matrices, for vectors of kBytes. Included in a namespace for each set of instructions (products.cpp), hence no
// guard: the vectors' code is chosen where a function is defined.
template <class T> struct TileVector;
template <> struct TileVector<float> {
  typedef float type __attribute__((vector_size(kBytes), aligned(4), may_alias));
  typedef int32_t bits __attribute__((vector_size(kBytes), aligned(4), may_alias));
};
template <> struct TileVector<double> {
  typedef double type __attribute__((vector_size(kBytes), aligned(8), may_alias));
  typedef int64_t bits __attribute__((vector_size(kBytes), aligned(8), may_alias));
};
template <class T> struct Quad;
template <> struct Quad<float> {
  typedef float type __attribute__((vector_size(16), aligned(4), may_alias));
  typedef int32_t order __attribute__((vector_size(16)));
};
template <> struct Quad<double> {
  typedef double type __attribute__((vector_size(32), aligned(8), may_alias));
  typedef int64_t order __attribute__((vector_size(32)));
};

// The sums of the lanes of four vectors, as one of four lanes.
template <class T> typename Quad<T>::type lane_sums(T (*lanes)[kBytes / sizeof(T)]) {
  using Q = typename Quad<T>::type;
  using I = typename Quad<T>::order;
  constexpr int w = kBytes / int(sizeof(T));
  Q q[4];
#pragma GCC unroll 4
  for (int o = 0; o < 4; ++o) {
    q[o] = *reinterpret_cast<const Q*>(lanes[o]);
#pragma GCC unroll 4
    for (int i = 4; i < w; i += 4) q[o] += *reinterpret_cast<const Q*>(lanes[o] + i);
  }
  const Q a = __builtin_shuffle(q[0], q[1], I{0, 4, 1, 5}) + __builtin_shuffle(q[0], q[1], I{2, 6, 3, 7});
  const Q b = __builtin_shuffle(q[2], q[3], I{0, 4, 1, 5}) + __builtin_shuffle(q[2], q[3], I{2, 6, 3, 7});
  return __builtin_shuffle(a, b, I{0, 1, 4, 5}) + __builtin_shuffle(a, b, I{2, 3, 6, 7});
}

// to[p * to_step + o] = scale times the inner product of left[o] and right[p], of k elements, or that and beta times what is there: four
// rows on the left, P on the right. k is no less than a vector.
template <class T, int P>
void inner_tile(const T* const* left, const T* const* right, int64_t k, T scale, T beta, T* to, int64_t to_step) {
  using V = typename TileVector<T>::type;
  using B = typename TileVector<T>::bits;
  using Q = typename Quad<T>::type;
  constexpr int64_t w = kBytes / int64_t(sizeof(T));
  V sums[4][P] = {};
  const T *a = left[0], *b = left[1], *c = left[2], *d = left[3], *from[P];
#pragma GCC unroll 16
  for (int p = 0; p < P; ++p) from[p] = right[p];
  int64_t i = 0;
  for (; i + w <= k; i += w) {
    const V g[4] = {*reinterpret_cast<const V*>(a + i), *reinterpret_cast<const V*>(b + i),
        *reinterpret_cast<const V*>(c + i), *reinterpret_cast<const V*>(d + i)};
#pragma GCC unroll 16
    for (int p = 0; p < P; ++p) {
      const V x = *reinterpret_cast<const V*>(from[p] + i);
#pragma GCC unroll 4
      for (int o = 0; o < 4; ++o) sums[o][p] += g[o] * x;
    }
  }
  if (i < k) {  // the last vector again, without what is summed already
    B keep;
#pragma GCC unroll 16
    for (int j = 0; j < w; ++j) keep[j] = j >= i - (k - w) ? -1 : 0;
    i = k - w;
    const auto rest = [&](const T* at) { return reinterpret_cast<V>(*reinterpret_cast<const B*>(at + i) & keep); };
    const V g[4] = {rest(a), rest(b), rest(c), rest(d)};
#pragma GCC unroll 16
    for (int p = 0; p < P; ++p) {
      const V x = rest(from[p]);
#pragma GCC unroll 4
      for (int o = 0; o < 4; ++o) sums[o][p] += g[o] * x;
    }
  }
  alignas(64) T lanes[4 * P][w];
#pragma GCC unroll 16
  for (int p = 0; p < P; ++p) {
#pragma GCC unroll 4
    for (int o = 0; o < 4; ++o) *reinterpret_cast<V*>(lanes[p * 4 + o]) = sums[o][p];
  }
  for (int p = 0; p < P; ++p) {
    Q* result = reinterpret_cast<Q*>(to + p * to_step);
    const Q found = lane_sums<T>(lanes + p * 4) * scale;
    *result = beta == 0 ? found : found + *result * beta;
  }
}

// Rows on the left, `count` of them from 1 to kPackedRows, as columns: packed[i * kPackedRows + r] = rows[r * step + i]; zeros behind them.
template <class T> void pack_rows(const T* rows, int64_t step, int64_t count, int64_t k, T* packed) {
  using Q = typename Quad<T>::type;
  using I = typename Quad<T>::order;
  int64_t r = 0;
  for (; r + 4 <= count; r += 4) {
    const T *a = rows + r * step, *b = a + step, *c = b + step, *d = c + step;
    T* to = packed + r;
    int64_t i = 0;
    for (; i + 4 <= k; i += 4, to += 4 * kPackedRows<T>) {
      const Q w = *reinterpret_cast<const Q*>(a + i), x = *reinterpret_cast<const Q*>(b + i),
              y = *reinterpret_cast<const Q*>(c + i), z = *reinterpret_cast<const Q*>(d + i);
      const Q p = __builtin_shuffle(w, x, I{0, 4, 1, 5}), q = __builtin_shuffle(y, z, I{0, 4, 1, 5});
      const Q s = __builtin_shuffle(w, x, I{2, 6, 3, 7}), t = __builtin_shuffle(y, z, I{2, 6, 3, 7});
      *reinterpret_cast<Q*>(to) = __builtin_shuffle(p, q, I{0, 1, 4, 5});
      *reinterpret_cast<Q*>(to + kPackedRows<T>) = __builtin_shuffle(p, q, I{2, 3, 6, 7});
      *reinterpret_cast<Q*>(to + 2 * kPackedRows<T>) = __builtin_shuffle(s, t, I{0, 1, 4, 5});
      *reinterpret_cast<Q*>(to + 3 * kPackedRows<T>) = __builtin_shuffle(s, t, I{2, 3, 6, 7});
    }
    for (; i < k; ++i, to += kPackedRows<T>) to[0] = a[i], to[1] = b[i], to[2] = c[i], to[3] = d[i];
  }
  for (; r < kPackedRows<T>; ++r)
    for (int64_t i = 0; i < k; ++i) packed[i * kPackedRows<T> + r] = r < count ? rows[r * step + i] : T(0);
}

// Elements that are columns already.
template <class T> void pack_columns(const T* columns, int64_t step, int64_t count, int64_t k, T* packed) {
  for (int64_t i = 0; i < k; ++i, columns += step, packed += kPackedRows<T>) {
    int64_t r = 0;
    for (; r < count; ++r) packed[r] = columns[r];
    for (; r < kPackedRows<T>; ++r) packed[r] = T(0);
  }
}

// to[p * to_step + r] = scale times the inner product of the packed row r and row p on the right, or that and beta times what is there:
// N vectors of rows at packed[i * packed_step + r], P rows on the right. Those stand at right[p * step + i], or at right[i * P + p] where
// `step` is 0.
template <class T, int P, int N>
void outer_tile(const T* packed, int64_t packed_step, const T* right, int64_t step, int64_t k, T scale, T beta, T* to,
    int64_t to_step) {
  using V = typename TileVector<T>::type;
  constexpr int64_t w = kBytes / int64_t(sizeof(T));
  V sums[P][N] = {};
  const auto add = [&](const T* of, int64_t next) __attribute__((always_inline)) {
    V x[N];
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) x[n] = *reinterpret_cast<const V*>(packed + n * w);
    packed += packed_step;
#pragma GCC unroll 16
    for (int p = 0; p < P; ++p) {
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) sums[p][n] += of[p * next] * x[n];
    }
  };
  if (step)
    for (int64_t i = 0; i < k; ++i) add(right + i, step);
  else
    for (int64_t i = 0; i < k; ++i) add(right + i * P, 1);
#pragma GCC unroll 16
  for (int p = 0; p < P; ++p) {
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) {
      V* result = reinterpret_cast<V*>(to + p * to_step + n * w);
      *result = beta == 0 ? sums[p][n] * scale : sums[p][n] * scale + *result * beta;
    }
  }
}

template <class T> ProductTiles<T> product_tiles() {
  constexpr int many = kBytes == 64 ? 8 : 4;
  ProductTiles<T> t{kBytes / int64_t(sizeof(T)), kBytes == 64 ? 6 : 2, {inner_tile<T, 1>, inner_tile<T, 2>},
      {pack_columns<T>, pack_rows<T>}, many,
      {{outer_tile<T, many, 1>, outer_tile<T, many, 2>, outer_tile<T, many, 3>},
          {outer_tile<T, 1, 1>, outer_tile<T, 1, 2>, outer_tile<T, 1, 3>}}};
  if constexpr (kBytes == 64)
    t.run[2] = inner_tile<T, 3>, t.run[3] = inner_tile<T, 4>, t.run[4] = inner_tile<T, 5>, t.run[5] = inner_tile<T, 6>;
  return t;
}
