// Inner loops of direct convolutions, for vectors of kBytes. Included in a namespace for each set of instructions (direct_convolution.cpp),
// hence no guard: the vectors' code is chosen where a function is defined.
template <class T> struct TileVector;
template <> struct TileVector<float> {
  typedef float type __attribute__((vector_size(kBytes), aligned(4), may_alias));
};
template <> struct TileVector<double> {
  typedef double type __attribute__((vector_size(kBytes), aligned(8), may_alias));
};

// to[o * to_step + i] = the sum over channels c and taps t of weights[c][t][o] * image[c * channel_step + offsets[t] + i], for O outputs
// and N vectors of neighbours: all sums stay in registers.
template <class T, int O, int N>
void tile(const T* image, const int64_t* offsets, int64_t channels, int64_t channel_step, int64_t taps,
    const T* weights, T* to, int64_t to_step) {
  using V = typename TileVector<T>::type;
  constexpr int64_t w = kBytes / int64_t(sizeof(T));
  V sums[O][N] = {};
  for (int64_t c = 0; c < channels; ++c, image += channel_step)
    for (int64_t t = 0; t < taps; ++t, weights += O) {
      const T* from = image + offsets[t];
      V x[N];
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i) x[i] = *reinterpret_cast<const V*>(from + i * w);
#pragma GCC unroll 16
      for (int o = 0; o < O; ++o) {
#pragma GCC unroll 16
        for (int i = 0; i < N; ++i) sums[o][i] += weights[o] * x[i];
      }
    }
#pragma GCC unroll 16
  for (int o = 0; o < O; ++o) {
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) *reinterpret_cast<V*>(to + o * to_step + i * w) = sums[o][i];
  }
}

// to[o * to_step + p] += the sum over i < n of slopes[o * slope_step + i] * images[p][i], for O rows and P; n is a number of whole vectors.
template <class T, int O, int P>
void products(const T* slopes, int64_t slope_step, const T* const* images, int64_t n, T* to, int64_t to_step) {
  using V = typename TileVector<T>::type;
  constexpr int64_t w = kBytes / int64_t(sizeof(T));
  V sums[O][P] = {};
  const T* from[P];
  for (int p = 0; p < P; ++p) from[p] = images[p];
  for (int64_t i = 0; i < n; i += w) {
    V g[O];
#pragma GCC unroll 16
    for (int o = 0; o < O; ++o) g[o] = *reinterpret_cast<const V*>(slopes + o * slope_step + i);
#pragma GCC unroll 16
    for (int p = 0; p < P; ++p) {
      const V x = *reinterpret_cast<const V*>(from[p] + i);
#pragma GCC unroll 16
      for (int o = 0; o < O; ++o) sums[o][p] += g[o] * x;
    }
  }
  alignas(64) T lanes[O * P][w];
#pragma GCC unroll 16
  for (int o = 0; o < O; ++o) {
#pragma GCC unroll 16
    for (int p = 0; p < P; ++p) *reinterpret_cast<V*>(lanes[o * P + p]) = sums[o][p];
  }
  for (int r = 0; r < O * P; ++r) {
    T* of = lanes[r];
#pragma GCC unroll 4
    for (int64_t half = w / 2; half; half /= 2)
      for (int64_t k = 0; k < half; ++k) of[k] += of[k + half];
    to[r / P * to_step + r % P] += of[0];
  }
}

// to[i * O + o] = from[o * step + i] for i < n: squares of O are turned by interleaving their halves.
template <class T, int O> struct Square {
  using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  typedef T row __attribute__((vector_size(O * sizeof(T)), aligned(sizeof(T)), may_alias));
  typedef T value __attribute__((vector_size(O * sizeof(T))));
  typedef Index order __attribute__((vector_size(O * sizeof(T))));
  template <int... I> __attribute__((always_inline)) static void turn(value (&v)[O], std::integer_sequence<int, I...>) {
#pragma GCC unroll 3
    for (int done = 1; done < O; done *= 2) {
      value turned[O];
#pragma GCC unroll 8
      for (int i = 0; i < O / 2; ++i) {
        turned[2 * i] = __builtin_shuffle(v[i], v[i + O / 2], order{(I / 2 + I % 2 * O)...});
        turned[2 * i + 1] = __builtin_shuffle(v[i], v[i + O / 2], order{(O / 2 + I / 2 + I % 2 * O)...});
      }
#pragma GCC unroll 8
      for (int i = 0; i < O; ++i) v[i] = turned[i];
    }
  }
};
template <class T, int O> void packed(const T* from, int64_t step, int64_t n, T* to) {
  using S = Square<T, O>;
  int64_t i = 0;
  for (; i + O <= n; i += O) {
    typename S::value v[O];
#pragma GCC unroll 8
    for (int o = 0; o < O; ++o) v[o] = *reinterpret_cast<const typename S::row*>(from + o * step + i);
    S::turn(v, std::make_integer_sequence<int, O>{});
#pragma GCC unroll 8
    for (int k = 0; k < O; ++k) *reinterpret_cast<typename S::row*>(to + (i + k) * O) = v[k];
  }
  for (; i < n; ++i)
    for (int o = 0; o < O; ++o) to[i * O + o] = from[o * step + i];
}

template <class T> Tiles<T> tiles() {
  constexpr int most = kBytes == 64 ? 8 : 4, pairs = kBytes == 64 ? 6 : 2;
  return {kBytes / int64_t(sizeof(T)), {most, 3, {tile<T, most, 1>, tile<T, most, 2>, tile<T, most, 3>}},
      {4, 3, {tile<T, 4, 1>, tile<T, 4, 2>, tile<T, 4, 3>}},
      {1, 6, {tile<T, 1, 1>, tile<T, 1, 2>, tile<T, 1, 3>, tile<T, 1, 4>, tile<T, 1, 5>, tile<T, 1, 6>}},
      {4, pairs, products<T, 4, pairs>}, {1, 8, products<T, 1, 8>}, packed<T, most>};
}
