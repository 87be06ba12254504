// Reductions. The input is seen as rows to be reduced one by one (contiguous) or added up on each other (columns).
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "cpu/convert.h"
#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/reduce.h"
#include "cuda/reduce.h"
#include "ops/kernels.h"

namespace shim {
namespace {

struct SumOp { template <class T> static T zero() { return T(0); } template <class T> static T f(T a, T b) { return T(a + b); } };
struct NanSumOp : SumOp {};                      // of what is read a NaN counts as zero
struct ProdOp {
  template <class T> static T zero() { return T(1); }
  template <class T> static T f(T a, T b) { return T(a * b); }
  template <class T> static std::complex<T> f(std::complex<T> a, std::complex<T> b) {   // infinities are not put right, as in PyTorch
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
};
struct MaxOp {
  template <class T> static T zero() {
    if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
    else return std::numeric_limits<T>::lowest();
  }
  template <class T> static T f(T a, T b) { return a != a ? a : b != b ? b : a > b ? a : b; }
};
struct MinOp {
  template <class T> static T zero() {
    if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::infinity();
    else return std::numeric_limits<T>::max();
  }
  template <class T> static T f(T a, T b) { return a != a ? a : b != b ? b : a < b ? a : b; }
};
struct AnyOp { template <class T> static T zero() { return T(0); } template <class T> static T f(T a, T b) { return T(a | b); } };
struct AllOp { template <class T> static T zero() { return T(1); } template <class T> static T f(T a, T b) { return T(a & b); } };

constexpr int kLanes = 32;
constexpr int64_t kRun = 4096, kDirectRun = 16384;      // elements added up directly, converted or as they are; runs are then added pairwise

template <class T> constexpr bool is_complex_type = false;
template <class T> constexpr bool is_complex_type<std::complex<T>> = true;

// Of whole numbers the compiler makes one loop of vectors.
template <class Op, class T>
SHIM_CLONES T extreme_run(const T* x, int64_t n) {
  T best = x[0];
  for (int64_t i = 0; i < n; ++i) {
    const T v = x[i];
    best = (std::is_same_v<Op, MaxOp> ? v > best : v < best) ? v : best;
  }
  return best;
}

template <class Op, class T>
SHIM_CLONES T run_of(const T* x, int64_t n) {
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

// Floats are most often summed: four vectors side by side, so that no addition waits for the one before. Products likewise.
template <class Op, class T>
SHIM_MATH_CLONES void vector_lanes(const T* x, int64_t n, T* lanes) {              // n is a multiple of 64 bytes; 64 bytes of lanes
  typedef T Vector __attribute__((vector_size(64), aligned(alignof(T)), may_alias));
  constexpr int64_t kWide = 64 / sizeof(T);
  const Vector none = Vector{} + Op::template zero<T>();
  Vector a = none, b = none, c = none, d = none;
  int64_t i = 0;
  for (; i + 4 * kWide <= n; i += 4 * kWide) {
    auto* v = reinterpret_cast<const Vector*>(x + i);
    if constexpr (std::is_same_v<Op, SumOp>) a += v[0], b += v[1], c += v[2], d += v[3];
    else if constexpr (std::is_same_v<Op, NanSumOp>) a += v[0] == v[0] ? v[0] : Vector{}, b += v[1] == v[1] ? v[1] : Vector{}, c += v[2] == v[2] ? v[2] : Vector{}, d += v[3] == v[3] ? v[3] : Vector{};
    else a *= v[0], b *= v[1], c *= v[2], d *= v[3];
  }
  for (; i < n; i += kWide) {
    const Vector v = *reinterpret_cast<const Vector*>(x + i);
    if constexpr (std::is_same_v<Op, SumOp>) a += v;
    else if constexpr (std::is_same_v<Op, NanSumOp>) a += v == v ? v : Vector{};
    else a *= v;
  }
  if constexpr (std::is_base_of_v<SumOp, Op>) *reinterpret_cast<Vector*>(lanes) = (a + b) + (c + d);
  else *reinterpret_cast<Vector*>(lanes) = (a * b) * (c * d);
}
template <class Op, class T>
T joined(const T* x, int64_t n) {
  constexpr int64_t kWide = 64 / sizeof(T);
  T lanes[kWide], rest = Op::template zero<T>();       // of its own: a product that is tiny already makes every further one slow
  const int64_t whole = n / kWide * kWide;
  for (int64_t i = whole; i < n; ++i) rest = std::is_same_v<Op, NanSumOp> && x[i] != x[i] ? rest : Op::f(rest, x[i]);
  if (!whole) return rest;
  vector_lanes<Op>(x, whole, lanes);
  for (int64_t width = kWide / 2; width; width /= 2)
    for (int64_t k = 0; k < width; ++k) lanes[k] = Op::f(lanes[k], lanes[k + width]);
  return Op::f(lanes[0], rest);
}
template <class T> T sum_of(const T* x, int64_t n) { return joined<SumOp>(x, n); }
template <class T>
std::complex<T> sum_of(const std::complex<T>* z, int64_t n) {       // real and imaginary parts in turn
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
template <class T> struct TruthOf { using type = int32_t; };
template <> struct TruthOf<double> { using type = int64_t; };
template <class T, bool Largest>
SHIM_CLONES T extreme_of(const T* x, int64_t n) {
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
  for (int k = 0; k < 3; ++k) best[0] = (Largest ? best[k + 1] > best[0] : best[k + 1] < best[0]) ? best[k + 1] : best[0];
  nan[0] |= nan[1];
  for (int k = 0; k < kWide; ++k) {             // no NaN is among them
    result = (Largest ? best[0][k] > result : best[0][k] < result) ? best[0][k] : result;
    bad |= nan[0][k] != 0;
  }
  for (; i < n; ++i) result = Largest ? MaxOp::f(result, x[i]) : MinOp::f(result, x[i]);
  return bad ? std::numeric_limits<T>::quiet_NaN() : result;
}

template <class Op, class T>
T run(const T* x, int64_t n) {
  if constexpr ((std::is_base_of_v<SumOp, Op> || std::is_same_v<Op, ProdOp>) && std::is_floating_point_v<T>) return joined<Op>(x, n);
  else if constexpr (std::is_same_v<Op, SumOp> && is_complex_type<T>) return sum_of(x, n);
  else if constexpr ((std::is_same_v<Op, MaxOp> || std::is_same_v<Op, MinOp>) && std::is_integral_v<T>) return n ? extreme_run<Op>(x, n) : Op::template zero<T>();
  else if constexpr (std::is_same_v<Op, MaxOp> && std::is_floating_point_v<T>) return extreme_of<T, true>(x, n);
  else if constexpr (std::is_same_v<Op, MinOp> && std::is_floating_point_v<T>) return extreme_of<T, false>(x, n);
  else return run_of<Op, T>(x, n);
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
struct Source { ConvertFn load = nullptr; int64_t size = 0; DType dtype = DType::undefined; };

template <class Op, class T>
T pairwise(const char* x, Source from, int64_t n) {
  constexpr bool kRounds = !std::is_same_v<Op, MaxOp> && !std::is_same_v<Op, MinOp>;   // others need no pairs
  if (n <= (from.load ? kRun : kDirectRun) || (!kRounds && !from.load)) {
    if (!from.load) return run<Op, T>(reinterpret_cast<const T*>(x), n);
    if constexpr (std::is_same_v<Op, SumOp> && std::is_same_v<T, float>)
      if (from.dtype == DType::bf16) return sum_of(reinterpret_cast<const BFloat16*>(x), n);
    alignas(64) T buffer[kRun];
    from.load(x, from.size, reinterpret_cast<char*>(buffer), sizeof(T), n);
    return run<Op, T>(buffer, n);
  }
  const int64_t half = (n / 2 + kRun - 1) / kRun * kRun;
  return Op::f(pairwise<Op, T>(x, from, half), pairwise<Op, T>(x + half * from.size, from, n - half));
}

// Rows too short for lanes: four at a time, so that their additions do not wait for each other.
constexpr int64_t kNarrow = 48;
template <class Op> struct Branchless { template <class T> static T f(T a, T b) { return Op::f(a, b); } };
template <> struct Branchless<MaxOp> { template <class T> static T f(T a, T b) { return (a > b) | (a != a) ? a : b; } };     // NaN stays
template <> struct Branchless<MinOp> { template <class T> static T f(T a, T b) { return (a < b) | (a != a) ? a : b; } };
template <class Op, class T>
SHIM_CLONES void narrow_rows(const T* x, T* y, int64_t rows, int64_t cols) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4, x += 4 * cols) {
    T a = x[0], b = x[cols], c = x[2 * cols], d = x[3 * cols];
    for (int64_t i = 1; i < cols; ++i) a = Branchless<Op>::f(a, x[i]), b = Branchless<Op>::f(b, x[cols + i]), c = Branchless<Op>::f(c, x[2 * cols + i]), d = Branchless<Op>::f(d, x[3 * cols + i]);
    y[r] = a, y[r + 1] = b, y[r + 2] = c, y[r + 3] = d;
  }
  for (; r < rows; ++r, x += cols) {
    T a = x[0];
    for (int64_t i = 1; i < cols; ++i) a = Branchless<Op>::f(a, x[i]);
    y[r] = a;
  }
}

template <class Op, class T>
void reduce_rows(const char* x, Source from, char* out, int64_t rows, int64_t cols) {
  auto* y = reinterpret_cast<T*>(out);
  if (!from.load) from.size = sizeof(T);
  if (rows == 1 && cols >= 2 * kGrain) {        // one long row: fixed pieces, so that the result does not depend on the threads
    const int64_t pieces = (cols + kGrain - 1) / kGrain;
    std::vector<T> partial;
    partial.resize(size_t(pieces));
    parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        partial[size_t(p)] = pairwise<Op, T>(x + p * kGrain * from.size, from, std::min(kGrain, cols - p * kGrain));
    });
    using Joined = std::conditional_t<std::is_same_v<Op, NanSumOp>, SumOp, Op>;
    y[0] = pairwise<Joined, T>(reinterpret_cast<const char*>(partial.data()), {nullptr, sizeof(T)}, pieces);
    return;
  }
  if (!std::is_same_v<Op, NanSumOp> && !from.load && cols > 0 && cols <= kNarrow && rows >= 4) {
    parallel_for(rows, kGrain / cols, [&](int64_t begin, int64_t end) {
      narrow_rows<Op, T>(reinterpret_cast<const T*>(x) + begin * cols, y + begin, end - begin, cols);
    });
    return;
  }
  parallel_for(rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(cols, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) y[r] = pairwise<Op, T>(x + r * cols * from.size, from, cols);
  });
}

// out[c] = f over r of in[r, c] for a strip of columns: rows are halved, so that errors grow with the logarithm of their number.
template <class Op, class T>
SHIM_CLONES void strip(const T* x, T* to, int64_t rows, int64_t step, int64_t width) {
  if (rows <= 64) {
    for (int64_t c = 0; c < width; ++c) to[c] = Op::template zero<T>();
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
      const T *p = x + r * step, *q = p + step, *s = q + step, *t = s + step;
      for (int64_t c = 0; c < width; ++c) to[c] = Op::f(to[c], Op::f(Op::f(p[c], q[c]), Op::f(s[c], t[c])));
    }
    for (; r < rows; ++r)
      for (int64_t c = 0; c < width; ++c) to[c] = Op::f(to[c], x[r * step + c]);
    return;
  }
  T other[128];
  strip<Op, T>(x, to, rows / 2, step, width);
  strip<Op, T>(x + rows / 2 * step, other, rows - rows / 2, step, width);
  for (int64_t c = 0; c < width; ++c) to[c] = Op::f(to[c], other[c]);
}

template <class Op, class T>
void reduce_columns(const char* in, char* out, int64_t rows, int64_t cols) {
  auto* x = reinterpret_cast<const T*>(in);
  auto* y = reinterpret_cast<T*>(out);
  const int64_t strips = (cols + 127) / 128;
  parallel_for(strips, std::max<int64_t>(1, kGrain / std::max<int64_t>(rows * 128, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) strip<Op, T>(x + s * 128, y + s * 128, rows, cols, std::min<int64_t>(128, cols - s * 128));
  });
}

struct Loops {
  void (*rows)(const char* in, Source, char* out, int64_t rows, int64_t cols) = nullptr;
  void (*columns)(const char* in, char* out, int64_t rows, int64_t cols) = nullptr;
};
template <class Op, class T> Loops loops_of() { return {reduce_rows<Op, T>, reduce_columns<Op, T>}; }

template <class Op>
Loops float_loops(DType t) { return t == DType::f32 ? loops_of<Op, float>() : t == DType::f64 ? loops_of<Op, double>() : Loops{}; }

template <class Op>
Loops sum_loops(DType t) {
  if (t == DType::i64) return loops_of<Op, int64_t>();
  if (t == DType::c64) return loops_of<Op, std::complex<float>>();
  if (t == DType::c128) return loops_of<Op, std::complex<double>>();
  return float_loops<Op>(t);
}

template <class Op>
Loops extreme_loops(DType t) {
  switch (t) {
    case DType::b8: case DType::u8: return loops_of<Op, uint8_t>();
    case DType::i8: return loops_of<Op, int8_t>();
    case DType::i16: return loops_of<Op, int16_t>();
    case DType::i32: return loops_of<Op, int32_t>();
    case DType::i64: return loops_of<Op, int64_t>();
    default: return float_loops<Op>(t);
  }
}

Loops find_loops(Reduction op, DType t) {
  switch (op) {
    case Reduction::sum: case Reduction::mean: return sum_loops<SumOp>(t);
    case Reduction::prod: return sum_loops<ProdOp>(t);
    case Reduction::amax: return extreme_loops<MaxOp>(t);
    case Reduction::amin: return extreme_loops<MinOp>(t);
    case Reduction::any: return t == DType::b8 ? loops_of<AnyOp, uint8_t>() : Loops{};
    case Reduction::all: return t == DType::b8 ? loops_of<AllOp, uint8_t>() : Loops{};
    case Reduction::nansum: return float_loops<NanSumOp>(t);
  }
  return {};
}

DType output_dtype(Reduction op, DType in, DType wanted) {
  if (op == Reduction::any || op == Reduction::all) return in == DType::u8 ? DType::u8 : DType::b8;
  if (wanted != DType::undefined) return wanted;
  const bool adds = op == Reduction::sum || op == Reduction::prod || op == Reduction::nansum;
  return adds && is_integral(in, true) ? DType::i64 : in;
}

Tensor as(const Tensor& t, DType dtype) {       // contiguous, of that dtype
  if (t->dtype() == dtype && t->is_contiguous()) return t;
  Tensor out = empty(t->sizes(), dtype, Device{});
  copy_(out, t);
  return out;
}

// The count of complex means is a complex number, as in PyTorch: an infinite part makes the other one NaN.
void divide(const Tensor& t, int64_t count, DType compute) {
  if (compute == DType::f32) for (int64_t i = 0; i < t->numel(); ++i) t->data_as<float>()[i] /= float(count);
  else if (compute == DType::f64) for (int64_t i = 0; i < t->numel(); ++i) t->data_as<double>()[i] /= double(count);
  else if (compute == DType::c64) for (int64_t i = 0; i < t->numel(); ++i) t->data_as<std::complex<float>>()[i] /= std::complex<float>(float(count), 0);
  else for (int64_t i = 0; i < t->numel(); ++i) t->data_as<std::complex<double>>()[i] /= std::complex<double>(double(count), 0);
}

}  // namespace

float extreme_value(const float* x, int64_t n, bool largest) { return largest ? extreme_of<float, true>(x, n) : extreme_of<float, false>(x, n); }
double extreme_value(const double* x, int64_t n, bool largest) { return largest ? extreme_of<double, true>(x, n) : extreme_of<double, false>(x, n); }

namespace {

// A permutation of a contiguous tensor: its dims in the order of memory, and the result's put back.
Tensor reduced_as_in_memory(Reduction op, const Tensor& self, const bool* reduced, bool keepdim, DType result) {
  const int n = self->dim();
  Dims order, dims, shape;
  for (int d = 0; d < n; ++d) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return self->strides()[size_t(a)] > self->strides()[size_t(b)]; });
  Dims back(size_t(n), 0);
  for (int i = 0; i < n; ++i) {
    back[size_t(order[size_t(i)])] = i;
    if (reduced[order[size_t(i)]]) dims.push_back(i);
  }
  for (int d = 0; d < n; ++d)
    if (!reduced[d] || keepdim) shape.push_back(reduced[d] ? 1 : self->sizes()[size_t(d)]);
  const Tensor r = reduce(op, contiguous(permute(*self, order)), dims, true, result);
  return r ? view(*contiguous(permute(*r, back)), shape) : r;
}

// Reduced dims on either side of kept ones: the last ones first, as rows, and then the others, in the dtype that is computed in.
Tensor reduced_in_stages(Reduction op, const Tensor& self, const bool* reduced, bool keepdim, DType result, int64_t count) {
  const int n = self->dim();
  const Reduction part = op == Reduction::mean ? Reduction::sum : op, whole = op == Reduction::nansum ? Reduction::sum : part;
  const DType compute = op == Reduction::any || op == Reduction::all ? DType::undefined : compute_dtype(result);
  Dims last, others, shape;
  for (int d = n - 1; d >= 0 && reduced[d]; --d) last.push_back(d);
  for (int d = 0; d < n - int(last.size()); ++d)
    if (reduced[d]) others.push_back(d);
  for (int d = 0; d < n; ++d)
    if (!reduced[d] || keepdim) shape.push_back(reduced[d] ? 1 : self->sizes()[size_t(d)]);
  Tensor r = reduce(part, self, last, true, compute);
  if (r) r = reduce(whole, r, others, true, compute);
  if (!r) return r;
  if (op == Reduction::mean) divide(r, count, compute);
  r = view(*r, shape);
  return r->dtype() == result ? r : to_dtype(r, result);
}

Tensor without_nans(const Tensor& self, DType compute) {
  Tensor out = empty(self->sizes(), compute, Device{});
  copy_(out, self);
  auto clean = [&]<class T>(T* x) {
    parallel_for(out->numel(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) x[i] = x[i] == x[i] ? x[i] : T(0);
    });
  };
  compute == DType::f32 ? clean(out->data_as<float>()) : clean(out->data_as<double>());
  return out;
}

}  // namespace

Tensor reduce(Reduction op, const Tensor& self, DimSpan dims, bool keepdim, DType dtype) {
  const DType in = self->dtype();
  if (self->device().is_meta() || (itemsize(in) == 1 && is_floating(in))) return {};
  if (op == Reduction::nansum && is_integral(in, true)) op = Reduction::sum;
  const DType result = output_dtype(op, in, dtype);
  const DType compute = op == Reduction::any || op == Reduction::all ? DType::b8 : compute_dtype(result);
  const Loops loops = find_loops(op, compute);
  if (!loops.rows || (op == Reduction::mean && is_integral(result, true))) return {};
  const int n = self->dim();
  bool reduced[kMaxDims] = {};
  if (dims.empty()) std::fill_n(reduced, n, true);
  for (int64_t d : dims) {
    bool& r = reduced[wrap_dim(d, n)];
    if (r && n) return {};                      // named twice: the caller's error
    r = true;
  }
  Dims order, kept, shape;
  int64_t rows = 1, cols = 1;
  for (int d = 0; d < n; ++d) {
    if (!reduced[d]) order.push_back(d), kept.push_back(self->sizes()[d]), rows *= self->sizes()[d];
    else cols *= self->sizes()[d];
    if (!reduced[d] || keepdim) shape.push_back(reduced[d] ? 1 : self->sizes()[d]);
  }
  if (cols == 0 && (op == Reduction::amax || op == Reduction::amin)) return {};
  if (!self->device().is_cpu()) {
    Tensor out = empty(shape, result, self->device());
    return cuda::reduce(op, *self, reduced, compute, out, op == Reduction::mean ? double(cols) : 1) ? out : Tensor{};
  }
  if (self->numel() > 4096) {
    if (!self->is_contiguous() && dense(*self)) return reduced_as_in_memory(op, self, reduced, keepdim, result);
    if (self->is_contiguous() && reduced[n - 1] && rows > 1)
      for (int d = 1; d < n - 1; ++d)
        if (reduced[d - 1] && !reduced[d]) return reduced_in_stages(op, self, reduced, keepdim, result, cols);
  }
  const size_t leading = order.size();
  for (int d = 0; d < n; ++d) if (reduced[d]) order.push_back(d);
  Tensor out = empty(shape, compute, Device{});
  // Reduced dimensions in front of the kept ones, in memory order: columns. Otherwise rows, copied together if need be.
  bool columns = self->is_contiguous() && leading > 0 && int(leading) < n && !reduced[n - 1] && rows > 1;
  for (int d = 1; columns && d < n; ++d) columns = !(reduced[d] && !reduced[d - 1]);
  if (columns && op == Reduction::nansum) return reduce(Reduction::sum, without_nans(self, compute), dims, keepdim, result);
  if (columns) loops.columns(static_cast<const char*>(as(self, compute)->data()), static_cast<char*>(out->data()), cols, rows);
  else if (rows) {
    Tensor seen = leading == 0 && self->is_contiguous() ? self : permute(*self, order);
    const bool passing = seen->is_contiguous() && compute == DType::f32 && (in == DType::f16 || in == DType::bf16);
    if (!passing) seen = as(seen, compute);
    loops.rows(static_cast<const char*>(seen->data()), passing ? Source{converter(in, compute), int64_t(itemsize(in)), in} : Source{},
               static_cast<char*>(out->data()), rows, cols);
  }
  if (op == Reduction::mean) divide(out, cols, compute);
  return result == compute ? out : to_dtype(out, result);
}

Tensor sum_to_size(const Tensor& self, DimSpan sizes) {
  if (std::equal(sizes.begin(), sizes.end(), self->sizes().begin(), self->sizes().end())) return self;
  const int64_t lead = self->dim() - int64_t(sizes.size());
  CHECK(Kind::Runtime, lead >= 0, "size {", sizes.size(), "} is not expandable to size {", self->dim(), "}.");
  Dims dims;
  for (int64_t d = 0; d < self->dim(); ++d)
    if (d < lead || (sizes[size_t(d - lead)] == 1 && self->sizes()[size_t(d)] != 1)) dims.push_back(d);
  if (dims.empty()) return self;
  Tensor summed = reduce(Reduction::sum, self, dims, true, self->dtype());
  return summed ? view(*summed, sizes) : Tensor{};
}

}  // namespace shim
