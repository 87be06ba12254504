#pragma once
#include <algorithm>
#include <complex>
#include <limits>

#include "cpu/convert.h"
#include "cpu/kernel_table.h"
#include "cpu/loops.h"
#include "cpu/reduce_ops.h"

// The loops of reductions. The input is seen as rows to be reduced one by one (contiguous) or added up on each other (columns).

namespace shim {

namespace {

constexpr int kLanes = 32;
constexpr int64_t kRun = 4096,
                  kDirectRun =
                      16384;  // elements added up directly, converted or as they are; runs are then added pairwise

template <class T> constexpr bool is_complex_type = false;
template <class T> constexpr bool is_complex_type<std::complex<T>> = true;

// Of whole numbers the compiler makes one loop of vectors.
template <class Op, class T> SHIM_CLONES T extreme_run(const T* x, int64_t n) {
  T best = x[0];
  for (int64_t i = 0; i < n; ++i) {
    const T v = x[i];
    best = (std::is_same_v<Op, MaxOp> ? v > best : v < best) ? v : best;
  }
  return best;
}

template <class Op, class T> SHIM_CLONES T run_of(const T* x, int64_t n) {
  T lanes[kLanes];
  for (T& l : lanes) l = Op::template zero<T>();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) lanes[k] = Op::f(lanes[k], x[i + k]);
  for (; i < n; ++i) lanes[0] = Op::f(lanes[0], x[i]);
  for (int width = kLanes / 2; width; width /= 2)
    for (int k = 0; k < width; ++k) lanes[k] = Op::f(lanes[k], lanes[k + width]);
  return lanes[0];
}

// Floats are most often summed: eight vectors side by side, so that no addition waits for the one before. Products likewise. Vectors
// of 32 bytes: of wider ones GCC makes code for AVX2 that goes through memory.
template <class Op, class V> __attribute__((always_inline)) inline void join(V& a, const V& v) {
  if constexpr (std::is_same_v<Op, SumOp>)
    a += v;
  else if constexpr (std::is_same_v<Op, NanSumOp>)
    a += v == v ? v : V{};
  else
    a *= v;
}
template <class Op, class T>
SHIM_MATH_CLONES void vector_lanes(const T* x, int64_t n, T* lanes) {  // n is a multiple of 64 bytes; 64 bytes of lanes
  typedef T Vector __attribute__((vector_size(32), aligned(alignof(T)), may_alias));
  using Join = std::conditional_t<std::is_base_of_v<SumOp, Op>, SumOp, Op>;
  constexpr int64_t kWide = 32 / sizeof(T);
  const Vector none = Vector{} + Op::template zero<T>();
  Vector a = none, b = none, c = none, d = none, e = none, f = none, g = none, h = none;
  int64_t i = 0;
  for (; i + 8 * kWide <= n; i += 8 * kWide) {
    auto* v = reinterpret_cast<const Vector*>(x + i);
    join<Op>(a, v[0]), join<Op>(b, v[1]), join<Op>(c, v[2]), join<Op>(d, v[3]), join<Op>(e, v[4]), join<Op>(f, v[5]),
        join<Op>(g, v[6]), join<Op>(h, v[7]);
  }
  for (; i < n; i += 2 * kWide) {
    auto* v = reinterpret_cast<const Vector*>(x + i);
    join<Op>(a, v[0]), join<Op>(b, v[1]);
  }
  join<Join>(a, c), join<Join>(e, g), join<Join>(a, e);
  join<Join>(b, d), join<Join>(f, h), join<Join>(b, f);
  reinterpret_cast<Vector*>(lanes)[0] = a, reinterpret_cast<Vector*>(lanes)[1] = b;
}
template <class Op, class T> T joined(const T* x, int64_t n) {
  constexpr int64_t kWide = 64 / sizeof(T);
  T lanes[kWide],
      rest = Op::template zero<T>();  // of its own: a product that is tiny already makes every further one slow
  const int64_t whole = n / kWide * kWide;
  for (int64_t i = whole; i < n; ++i) rest = std::is_same_v<Op, NanSumOp> && x[i] != x[i] ? rest : Op::f(rest, x[i]);
  if (!whole) return rest;
  vector_lanes<Op>(x, whole, lanes);
  for (int64_t width = kWide / 2; width; width /= 2)
    for (int64_t k = 0; k < width; ++k) lanes[k] = Op::f(lanes[k], lanes[k + width]);
  return Op::f(lanes[0], rest);
}
template <class T> T sum_of(const T* x, int64_t n) { return joined<SumOp>(x, n); }
template <class T> std::complex<T> sum_of(const std::complex<T>* z, int64_t n) {  // real and imaginary parts in turn
  constexpr int64_t kWide = 64 / sizeof(T);
  auto* x = reinterpret_cast<const T*>(z);
  T lanes[kWide] = {}, re = 0, im = 0;
  const int64_t whole = 2 * n / kWide * kWide;
  if (whole) vector_lanes<SumOp>(x, whole, lanes);
  for (int64_t k = 0; k < kWide; k += 2) re += lanes[k], im += lanes[k + 1];
  for (int64_t i = whole; i < 2 * n; i += 2) re += x[i], im += x[i + 1];
  return {re, im};
}

// The extreme of floats: a comparison keeps what it does not know better, so NaNs are looked for beside it.
template <class T> struct TruthOf {
  using type = int32_t;
};
template <> struct TruthOf<double> {
  using type = int64_t;
};
template <class T, bool Largest> SHIM_CLONES T extreme_of(const T* x, int64_t n) {
  typedef T Vector __attribute__((vector_size(32), aligned(alignof(T)), may_alias));
  typedef typename TruthOf<T>::type Truth __attribute__((vector_size(32)));
  constexpr int64_t kWide = 32 / sizeof(T);
  constexpr T kNone = Largest ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
  Vector best[4] = {Vector{} + kNone, Vector{} + kNone, Vector{} + kNone, Vector{} + kNone};
  Truth nan[2] = {};
  int64_t i = 0;
  for (; i + 4 * kWide <= n; i += 4 * kWide)
    for (int k = 0; k < 4; ++k) {
      const Vector v = reinterpret_cast<const Vector*>(x + i)[k];
      best[k] = (Largest ? v > best[k] : v < best[k]) ? v : best[k];
      nan[k / 2] |= v != v;
    }
  T result = kNone;
  bool bad = false;
  for (int k = 0; k < 3; ++k)
    best[0] = (Largest ? best[k + 1] > best[0] : best[k + 1] < best[0]) ? best[k + 1] : best[0];
  nan[0] |= nan[1];
  for (int k = 0; k < kWide; ++k) {  // no NaN is among them
    result = (Largest ? best[0][k] > result : best[0][k] < result) ? best[0][k] : result;
    bad |= nan[0][k] != 0;
  }
  for (; i < n; ++i) result = Largest ? MaxOp::f(result, x[i]) : MinOp::f(result, x[i]);
  return bad ? std::numeric_limits<T>::quiet_NaN() : result;
}

template <class Op, class T> T run(const T* x, int64_t n) {
  if constexpr ((std::is_base_of_v<SumOp, Op> || std::is_same_v<Op, ProdOp>) && std::is_floating_point_v<T>)
    return joined<Op>(x, n);
  else if constexpr (std::is_same_v<Op, SumOp> && is_complex_type<T>)
    return sum_of(x, n);
  else if constexpr ((std::is_same_v<Op, MaxOp> || std::is_same_v<Op, MinOp>) && std::is_integral_v<T>)
    return n ? extreme_run<Op>(x, n) : Op::template zero<T>();
  else if constexpr (std::is_same_v<Op, MaxOp> && std::is_floating_point_v<T>)
    return extreme_of<T, true>(x, n);
  else if constexpr (std::is_same_v<Op, MinOp> && std::is_floating_point_v<T>)
    return extreme_of<T, false>(x, n);
  else
    return run_of<Op, T>(x, n);
}

// bfloat16 summed as it is read.
SHIM_MATH_CLONES float sum_of(const BFloat16* x, int64_t n) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) lanes[k] += to_float(x[i + k]);
  for (; i < n; ++i) lanes[0] += to_float(x[i]);
  return sum_of(lanes, kLanes);
}

// Where the elements come from: memory of type T, or of a 16-bit float that is converted in passing.
struct Source {
  const Conversion* load = nullptr;
  int64_t size = 0;
  DType dtype = DType::undefined;
};

template <class Op, class T> T pairwise(const char* x, Source from, int64_t n) {
  // Others need no pairs: errors of products add up in any order, and of a row in one piece fewer products become denormal, which is slow.
  constexpr bool kRounds = !std::is_same_v<Op, MaxOp> && !std::is_same_v<Op, MinOp> && !std::is_same_v<Op, ProdOp>;
  const bool loads = std::is_same_v<T, float> && from.load;  // 16-bit floats are computed in float32
  if (n <= (loads ? kRun : kDirectRun) || (!kRounds && !loads)) {
    if (!loads) return run<Op, T>(reinterpret_cast<const T*>(x), n);
    if constexpr (std::is_same_v<Op, SumOp> && std::is_same_v<T, float>)
      if (from.dtype == DType::bf16) return sum_of(reinterpret_cast<const BFloat16*>(x), n);
    alignas(64) T buffer[kRun];
    (*from.load)(x, from.size, reinterpret_cast<char*>(buffer), sizeof(T), n);
    return run<Op, T>(buffer, n);
  }
  const int64_t half = (n / 2 + kRun - 1) / kRun * kRun;
  return Op::f(pairwise<Op, T>(x, from, half), pairwise<Op, T>(x + half * from.size, from, n - half));
}

// Rows too short for lanes: four at a time, so that their additions do not wait for each other.
constexpr int64_t kNarrow = 48;
template <class Op> struct Branchless {
  template <class T> static T f(T a, T b) { return Op::f(a, b); }
};
template <> struct Branchless<MaxOp> {
  template <class T> static T f(T a, T b) { return (a > b) | (a != a) ? a : b; }
};  // NaN stays
template <> struct Branchless<MinOp> {
  template <class T> static T f(T a, T b) { return (a < b) | (a != a) ? a : b; }
};
template <class Op, class T> SHIM_CLONES void narrow_rows(const T* x, T* y, int64_t rows, int64_t cols) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4, x += 4 * cols) {
    T a = x[0], b = x[cols], c = x[2 * cols], d = x[3 * cols];
    for (int64_t i = 1; i < cols; ++i)
      a = Branchless<Op>::f(a, x[i]), b = Branchless<Op>::f(b, x[cols + i]), c = Branchless<Op>::f(c, x[2 * cols + i]),
      d = Branchless<Op>::f(d, x[3 * cols + i]);
    y[r] = a, y[r + 1] = b, y[r + 2] = c, y[r + 3] = d;
  }
  for (; r < rows; ++r, x += cols) {
    T a = x[0];
    for (int64_t i = 1; i < cols; ++i) a = Branchless<Op>::f(a, x[i]);
    y[r] = a;
  }
}

// out[c] = f over r of in[r, c] for a strip of columns of a few rows, and the join of two such results.
template <class Op, class T>
SHIM_CLONES void strip(const T* __restrict x, T* __restrict to, int64_t rows, int64_t step, int64_t width) {
  for (int64_t c = 0; c < width; ++c) to[c] = Op::template zero<T>();
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const T *p = x + r * step, *q = p + step, *s = q + step, *t = s + step;
    for (int64_t c = 0; c < width; ++c) to[c] = Op::f(to[c], Op::f(Op::f(p[c], q[c]), Op::f(s[c], t[c])));
  }
  for (; r < rows; ++r)
    for (int64_t c = 0; c < width; ++c) to[c] = Op::f(to[c], x[r * step + c]);
}
template <class Op, class T> SHIM_CLONES void both_strips(T* __restrict to, const T* __restrict other, int64_t width) {
  for (int64_t c = 0; c < width; ++c) to[c] = Op::f(to[c], other[c]);
}

// The same of bfloat16, added up in float32 as they are read.
inline SHIM_CLONES void strip_of_bfloat16(const char* given, char* sums, int64_t rows, int64_t step, int64_t width) {
  const auto* x = reinterpret_cast<const uint16_t*>(given);
  auto* __restrict to = reinterpret_cast<float*>(sums);
  const auto at = [](const uint16_t* p, int64_t c) { return std::bit_cast<float>(uint32_t(p[c]) << 16); };
  std::fill_n(to, width, 0.f);
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const uint16_t *p = x + r * step, *q = p + step, *s = q + step, *t = s + step;
    for (int64_t c = 0; c < width; ++c) to[c] += (at(p, c) + at(q, c)) + (at(s, c) + at(t, c));
  }
  for (; r < rows; ++r)
    for (int64_t c = 0; c < width; ++c) to[c] += at(x + r * step, c);
}

// What a reduction does with elements of one type; how the work is cut up and shared is the same for all (reduce_rows, reduce_columns).
struct Loops {
  int64_t size = 0;  // bytes of an element as it is computed with
  void (*piece)(const char* x, Source from, char* to, int64_t n) = nullptr;   // one result of n elements
  void (*joined)(const char* x, Source from, char* to, int64_t n) = nullptr;  // of such results
  void (*narrow)(const char* x, char* to, int64_t rows,
      int64_t cols) = nullptr;  // null where rows of few elements are nothing special
  void (*strip)(const char* x, char* to, int64_t rows, int64_t step, int64_t width) = nullptr;
  void (*both)(char* to, const char* other, int64_t width) = nullptr;
  void (*strip_of_bfloat16)(
      const char* x, char* to, int64_t rows, int64_t step, int64_t width) = nullptr;  // null: converted first
};

template <class Op, class T> void piece_of(const char* x, Source from, char* to, int64_t n) {
  *reinterpret_cast<T*>(to) = pairwise<Op, T>(x, from, n);
}
template <class Op, class T> void narrow_of(const char* x, char* to, int64_t rows, int64_t cols) {
  narrow_rows<Op>(reinterpret_cast<const T*>(x), reinterpret_cast<T*>(to), rows, cols);
}
template <class Op, class T> void strip_of(const char* x, char* to, int64_t rows, int64_t step, int64_t width) {
  strip<Op>(reinterpret_cast<const T*>(x), reinterpret_cast<T*>(to), rows, step, width);
}
template <class Op, class T> void both_of(char* to, const char* other, int64_t width) {
  both_strips<Op>(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(other), width);
}

template <class Op, class T> Loops loops_of() {
  if constexpr (std::is_same_v<Op, NanSumOp>)
    return {sizeof(T), piece_of<Op, T>, piece_of<SumOp, T>, nullptr, nullptr,
        nullptr};  // columns: NaNs are taken out before
  else
    return {sizeof(T), piece_of<Op, T>, piece_of<Op, T>, narrow_of<Op, T>, strip_of<Op, T>, both_of<Op, T>,
        std::is_same_v<Op, SumOp> && std::is_same_v<T, float> ? strip_of_bfloat16 : nullptr};
}

}  // namespace

}  // namespace shim
