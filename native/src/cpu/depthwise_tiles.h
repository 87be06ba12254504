// Inner loops of depthwise convolutions: a vector of kBytes holds one place of neighbouring channels. Included in a namespace for each
// set of instructions (depthwise.cpp), hence no guard.
template <class T> constexpr int kChannels = kBytes / int(sizeof(T));
template <class T> struct LaneVector;
template <> struct LaneVector<float> {
  typedef float type __attribute__((vector_size(kBytes), may_alias));
  typedef float unaligned __attribute__((vector_size(kBytes), aligned(4), may_alias));
  typedef int32_t order __attribute__((vector_size(kBytes)));
};
template <> struct LaneVector<double> {
  typedef double type __attribute__((vector_size(kBytes), may_alias));
  typedef double unaligned __attribute__((vector_size(kBytes), aligned(8), may_alias));
  typedef int64_t order __attribute__((vector_size(kBytes)));
};
template <class T> using Lanes = typename LaneVector<T>::type;
template <class T> using UnalignedLanes = typename LaneVector<T>::unaligned;

template <class T, int... I>
__attribute__((always_inline)) inline void interleave(
    const Lanes<T>& a, const Lanes<T>& b, Lanes<T>& low, Lanes<T>& high, std::integer_sequence<int, I...>) {
  using Order = typename LaneVector<T>::order;
  constexpr int w = kChannels<T>;
  low = __builtin_shuffle(a, b, Order{(I / 2 + I % 2 * w)...});
  high = __builtin_shuffle(a, b, Order{(w / 2 + I / 2 + I % 2 * w)...});
}

// A square of as many vectors as each has lanes: interleaving its halves turns the bits of an element's place by one.
template <class T> __attribute__((always_inline)) inline void transpose_square(Lanes<T> (&v)[kChannels<T>]) {
  constexpr int w = kChannels<T>;
#pragma GCC unroll 4
  for (int done = 1; done < w; done *= 2) {
    Lanes<T> turned[w];
#pragma GCC unroll 8
    for (int i = 0; i < w / 2; ++i)
      interleave<T>(v[i], v[i + w / 2], turned[2 * i], turned[2 * i + 1], std::make_integer_sequence<int, w>{});
#pragma GCC unroll 16
    for (int i = 0; i < w; ++i) v[i] = turned[i];
  }
}

// Element i of `channels` lines becomes vector at[i] of `to`, vector i where there is no `at`; channels that are none are zeros.
template <class T> void to_lanes(const T* from, int64_t step, int64_t channels, int64_t n, const int64_t* at, T* to) {
  constexpr int64_t w = kChannels<T>;
  for (int64_t base = 0; base < n; base += w) {
    const int64_t now = std::min(w, n - base);
    Lanes<T> v[w];
    if (channels == w && now == w) {
#pragma GCC unroll 16
      for (int c = 0; c < w; ++c) v[c] = *reinterpret_cast<const UnalignedLanes<T>*>(from + c * step + base);
    } else {
      alignas(64) T some[w][w] = {};
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t k = 0; k < now; ++k) some[c][k] = from[c * step + base + k];
#pragma GCC unroll 16
      for (int c = 0; c < w; ++c) v[c] = *reinterpret_cast<const Lanes<T>*>(some[c]);
    }
    transpose_square<T>(v);
    if (now == w) {
#pragma GCC unroll 16
      for (int k = 0; k < w; ++k) *reinterpret_cast<Lanes<T>*>(to + (at ? at[base + k] : base + k) * w) = v[k];
    } else {
      alignas(64) T some[w][w];
#pragma GCC unroll 16
      for (int k = 0; k < w; ++k) *reinterpret_cast<Lanes<T>*>(some[k]) = v[k];
      for (int64_t k = 0; k < now; ++k) std::copy_n(some[k], w, to + (at ? at[base + k] : base + k) * w);
    }
  }
}

// The other way; whole squares of `from` are read.
template <class T> void from_lanes(const T* from, int64_t n, T* to, int64_t step, int64_t channels) {
  constexpr int64_t w = kChannels<T>;
  for (int64_t base = 0; base < n; base += w) {
    const int64_t now = std::min(w, n - base);
    Lanes<T> v[w];
#pragma GCC unroll 16
    for (int k = 0; k < w; ++k) v[k] = *reinterpret_cast<const Lanes<T>*>(from + (base + k) * w);
    transpose_square<T>(v);
    if (channels == w && now == w) {
#pragma GCC unroll 16
      for (int c = 0; c < w; ++c) *reinterpret_cast<UnalignedLanes<T>*>(to + c * step + base) = v[c];
    } else {
      alignas(64) T some[w][w];
#pragma GCC unroll 16
      for (int c = 0; c < w; ++c) *reinterpret_cast<Lanes<T>*>(some[c]) = v[c];
      for (int64_t c = 0; c < channels; ++c) std::copy_n(some[c], now, to + c * step + base);
    }
  }
}

// N neighbouring places, `to_step` elements apart in the result: `first` and the products of weights with what their windows read.
template <class T, int N>
void places_of_row(const T* image, const LaneTap* rows, int64_t row_count, const LaneTap* columns, int64_t column_count,
    const T* weights, const T* first, T* to, int64_t to_step) {
  using V = Lanes<T>;
  constexpr int64_t w = kChannels<T>;
  V sums[N];
#pragma GCC unroll 8
  for (int k = 0; k < N; ++k) sums[k] = *reinterpret_cast<const V*>(first);
  for (int64_t r = 0; r < row_count; ++r)
    for (int64_t c = 0; c < column_count; ++c) {
      const V by = *reinterpret_cast<const V*>(weights + rows[r].weight + columns[c].weight);
      const T* from = image + rows[r].image + columns[c].image;
#pragma GCC unroll 8
      for (int k = 0; k < N; ++k) sums[k] += by * *reinterpret_cast<const V*>(from + k * w);
    }
#pragma GCC unroll 8
  for (int k = 0; k < N; ++k) *reinterpret_cast<V*>(to + k * to_step) = sums[k];
}

// The same where one row's taps read K neighbours, in their order: each is read once for all places.
template <class T, int N, int K>
void places_of_neighbours(const T* image, const LaneTap* rows, int64_t row_count, const LaneTap* columns,
    int64_t column_count, const T* weights, const T* first, T* to, int64_t to_step) {
  using V = Lanes<T>;
  constexpr int64_t w = kChannels<T>;
  (void)column_count;
  V sums[N];
#pragma GCC unroll 8
  for (int k = 0; k < N; ++k) sums[k] = *reinterpret_cast<const V*>(first);
  for (int64_t r = 0; r < row_count; ++r) {
    const T* from = image + rows[r].image + columns[0].image;
    V by[K];
#pragma GCC unroll 8
    for (int c = 0; c < K; ++c) by[c] = *reinterpret_cast<const V*>(weights + rows[r].weight + columns[c].weight);
#pragma GCC unroll 16
    for (int u = 0; u < N + K - 1; ++u) {
      const V x = *reinterpret_cast<const V*>(from + u * w);
#pragma GCC unroll 8
      for (int c = 0; c < K; ++c)
        if (u - c >= 0 && u - c < N) sums[u - c] += by[c] * x;
    }
  }
#pragma GCC unroll 8
  for (int k = 0; k < N; ++k) *reinterpret_cast<V*>(to + k * to_step) = sums[k];
}

// Adds to N neighbouring sums the products of slopes (lines of `count` places) with what N taps of one row read.
template <class T, int N>
void taps_of_row(
    const T* image, int64_t image_step, const LaneTap* taps, const T* slopes, int64_t lines, int64_t count, T* to) {
  using V = Lanes<T>;
  constexpr int64_t w = kChannels<T>;
  constexpr int chains = N <= 4 ? 2 : 1;  // few sums would wait for each other
  V sums[chains][N] = {};
  const T* from[N];
#pragma GCC unroll 8
  for (int k = 0; k < N; ++k) from[k] = image + taps[k].image;
  for (int64_t y = 0; y < lines; ++y, slopes += count * w) {
    int64_t x = 0;
    for (; x + chains <= count; x += chains)
#pragma GCC unroll 2
      for (int u = 0; u < chains; ++u) {
        const V g = *reinterpret_cast<const V*>(slopes + (x + u) * w);
#pragma GCC unroll 8
        for (int k = 0; k < N; ++k)
          sums[u][k] += g * *reinterpret_cast<const V*>(from[k] + y * image_step + (x + u) * w);
      }
    for (; x < count; ++x) {
      const V g = *reinterpret_cast<const V*>(slopes + x * w);
#pragma GCC unroll 8
      for (int k = 0; k < N; ++k) sums[0][k] += g * *reinterpret_cast<const V*>(from[k] + y * image_step + x * w);
    }
  }
#pragma GCC unroll 8
  for (int k = 0; k < N; ++k) {
    V all = *reinterpret_cast<V*>(to + k * w) + sums[0][k];
    if (chains == 2) all += sums[chains - 1][k];
    *reinterpret_cast<V*>(to + k * w) = all;
  }
}

template <class T, int... N> DepthwiseTiles<T> depthwise_tiles_of(std::integer_sequence<int, N...>) {
  return {kChannels<T>, to_lanes<T>, from_lanes<T>, {places_of_row<T, N + 1>...},
      {places_of_neighbours<T, N + 1, kNeighbours>...}, {taps_of_row<T, N + 1>...}};
}
template <class T> DepthwiseTiles<T> depthwise_tiles() {
  return depthwise_tiles_of<T>(std::make_integer_sequence<int, kMostPlaces>{});
}
