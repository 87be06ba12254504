#pragma once
// CUDA C++ of what works along a dimension, compiled by NVRTC after types_source.h and block_source.h with macros:
//   ELEMENT the element type, C the type it is computed in, OUT the results', V elements of one load, LOADS loads of a row that a thread keeps
//   (0: they are made again), LARGEST 1 for the largest and 0 for the smallest, LOG 1 for log_softmax.
namespace shim::cuda {

inline constexpr const char* kRowsSource = R"cuda(
#ifdef LOG
// dx = y * (g - sum(g * y)), or with LOG, where y is the logarithm, g - exp(y) * sum(g). A block a row.
extern "C" __global__ void __launch_bounds__(1024) softmax_backward(const T* g, const T* y, T* dx, i64 cols) {
  const T *grad = g + i64(blockIdx.x) * cols, *from = y + i64(blockIdx.x) * cols;
  T* to = dx + i64(blockIdx.x) * cols;
  Load a[LOADS ? LOADS : 1], b[LOADS ? LOADS : 1];
  C sum = 0;
  auto add = [&](const Load& p, const Load& q) { for (int k = 0; k < V; ++k) sum += LOG ? wide(p.v[k]) : wide(p.v[k]) * wide(q.v[k]); };
  auto apply = [&](i64 c, const Load& p, const Load& q) {
    Load r;
    for (int k = 0; k < V; ++k) r.v[k] = cast<T>(LOG ? wide(p.v[k]) - exp(wide(q.v[k])) * sum : wide(q.v[k]) * (wide(p.v[k]) - sum));
    store(to + c, r);
  };
  if (LOADS) {
#pragma unroll
    for (int k = 0; k < LOADS; ++k) {
      const i64 c = (i64(k) * blockDim.x + threadIdx.x) * V;
      if (c < cols) { a[k] = load(grad + c); b[k] = load(from + c); add(a[k], b[k]); }
    }
    sum = across_block(sum);
#pragma unroll
    for (int k = 0; k < LOADS; ++k) { const i64 c = (i64(k) * blockDim.x + threadIdx.x) * V; if (c < cols) apply(c, a[k], b[k]); }
  } else {
    for (i64 c = i64(threadIdx.x) * V; c < cols; c += i64(blockDim.x) * V) add(load(grad + c), load(from + c));
    sum = across_block(sum);
    for (i64 c = i64(threadIdx.x) * V; c < cols; c += i64(blockDim.x) * V) apply(c, load(grad + c), load(from + c));
  }
}

// --- cross entropy ----------------------------------------------------------------------------------------------------

struct Part { C top, sum; };                                    // of exponentials: sum * exp(top)
__device__ inline C lowest() { return -C(__int_as_float(0x7f800000)); }
__device__ inline Part joined(Part a, Part b) {
  if (a.top < b.top || a.top != a.top) { const Part t = a; a = b; b = t; }
  if (b.sum == C(0)) return a;
  a.sum += b.sum * exp(b.top - a.top);
  if (b.top != b.top) a.sum = b.top;
  return a;
}
__device__ inline Part across_warp(Part p) {
#pragma unroll
  for (int step = 16; step; step /= 2) { Part o; o.top = __shfl_xor_sync(FULL, p.top, step); o.sum = __shfl_xor_sync(FULL, p.sum, step); p = joined(p, o); }
  return p;
}

// log_p[row] = log_softmax(x) (unless null), losses[row] = -log_p[target] * weight, factors[row] = weight; 0 where the target is `ignored`.
extern "C" __global__ void __launch_bounds__(1024) cross_entropy(const T* x, const i64* targets, const T* weight, T* log_p, C* losses, C* factors, i64 cols, i64 ignored) {
  __shared__ Part shared[32];
  __shared__ C most, rest;                      // subtracted one after the other: their sum would round large ones
  const i64 row = blockIdx.x;
  const T* from = x + row * cols;
  C top = lowest(), sum = 0;
  for (i64 c = i64(threadIdx.x) * V; c < cols; c += i64(blockDim.x) * V) {
    const Load a = load(from + c);
    C most = wide(a.v[0]);
#pragma unroll
    for (int k = 1; k < V; ++k) { const C w = wide(a.v[k]); most = w > most || w != w ? w : most; }
    if (most > top || most != most) { sum = top == lowest() ? C(0) : sum * exp(top - most); top = most; }
    if (top == lowest()) continue;
#pragma unroll
    for (int k = 0; k < V; ++k) sum += exp(wide(a.v[k]) - top);
  }
  Part p = across_warp({top, sum});
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = p;
  __syncthreads();
  if (threadIdx.x < 32) {
    p = threadIdx.x < blockDim.x / 32 ? shared[threadIdx.x] : Part{lowest(), C(0)};
    p = across_warp(p);
    if (threadIdx.x == 0) { most = p.top; rest = p.top == lowest() ? p.sum / p.sum : log(p.sum); }   // of nothing but -inf: not a number
  }
  __syncthreads();
  const C largest = most, others = rest;
  if (log_p) {
    T* to = log_p + row * cols;
    for (i64 c = i64(threadIdx.x) * V; c < cols; c += i64(blockDim.x) * V) {
      Load a = load(from + c);
#pragma unroll
      for (int k = 0; k < V; ++k) a.v[k] = cast<T>(wide(a.v[k]) - largest - others);
      store(to + c, a);
    }
  }
  if (threadIdx.x) return;
  const i64 target = targets[row];
  if (target == ignored) { losses[row] = factors[row] = C(0); return; }
  if (u64(target) >= u64(cols)) __trap();
  const C w = weight ? wide(weight[target]) : C(1);
  losses[row] = -wide(cast<T>(wide(from[target]) - largest - others)) * w;
  factors[row] = w;
}

// out[row] = log(sum(exp(x))): infinities stay, NaN wins.
extern "C" __global__ void __launch_bounds__(1024) log_sum_exp(const T* x, T* out, i64 cols) {
  __shared__ Part shared[32];
  const T* from = x + i64(blockIdx.x) * cols;
  Part p = {lowest(), C(0)};
  const auto gap = [](C a, C b) { return a == b ? C(0) : a - b; };             // of infinities too
  const auto both = [&](Part a, Part b) {
    if (a.top < b.top || a.top != a.top) { const Part t = a; a = b; b = t; }
    if (b.sum != C(0)) a.sum += b.sum * exp(gap(b.top, a.top));
    return a;
  };
  for (i64 c = i64(threadIdx.x) * V; c < cols; c += i64(blockDim.x) * V) {
    const Load a = load(from + c);
    C most = p.top;
#pragma unroll
    for (int k = 0; k < V; ++k) { const C w = wide(a.v[k]); most = w > most ? w : most; }
    if (most > p.top) { p.sum = p.top == lowest() ? p.sum * C(0) : p.sum * exp(gap(p.top, most)); p.top = most; }
#pragma unroll
    for (int k = 0; k < V; ++k) { const C w = wide(a.v[k]); p.sum += w == lowest() ? C(0) : exp(gap(w, p.top)); }
  }
#pragma unroll
  for (int step = 16; step; step /= 2) p = both(p, {__shfl_xor_sync(FULL, p.top, step), __shfl_xor_sync(FULL, p.sum, step)});
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = p;
  __syncthreads();
  if (threadIdx.x) return;
  for (int k = 1; k < int(blockDim.x / 32); ++k) p = both(p, shared[k]);
  out[blockIdx.x] = cast<T>(p.top + log(p.sum));
}

// loss = sum(losses), over sum(factors) where `mean`; one block. total = sum(factors).
extern "C" __global__ void __launch_bounds__(1024) total(const C* losses, const C* factors, T* loss, C* total, i64 rows, int mean) {
  C a = 0, b = 0;
  for (i64 r = threadIdx.x; r < rows; r += blockDim.x) { a += losses[r]; b += factors[r]; }
  a = across_block(a);
  b = across_block(b);
  if (threadIdx.x == 0) { *loss = cast<T>(mean ? a / b : a); *total = b; }
}

extern "C" __global__ void narrowed(const C* losses, T* loss, i64 rows) {
  const i64 r = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (r < rows) loss[r] = cast<T>(losses[r]);
}

// dx = (exp(log_p) - [column is the target]) * factor * g (/ total); g of one element, or with `each_row` one a row.
extern "C" __global__ void __launch_bounds__(1024) cross_entropy_backward(const T* g, const T* log_p, const i64* targets, const C* factors, const C* total, T* dx, i64 cols, int mean,
                                                  int each_row) {
  const i64 row = blockIdx.x, target = targets[row];
  const T* from = log_p + row * cols;
  T* to = dx + row * cols;
  C scale = wide(g[each_row ? row : 0]) * factors[row];
  if (mean) scale /= *total;
  if (factors[row] == C(0)) scale = C(0);
  for (i64 c = i64(threadIdx.x) * V; c < cols; c += i64(blockDim.x) * V) {
    const Load a = load(from + c);
    Load r;
#pragma unroll
    for (int k = 0; k < V; ++k) r.v[k] = cast<T>(scale == C(0) ? C(0) : (exp(wide(a.v[k])) - (c + k == target ? C(1) : C(0))) * scale);
    store(to + c, r);
  }
}
#endif

#ifdef LARGEST
// --- extremes and their places: the first NaN before all, the first of equal ones -------------------------------------

struct Best { C value; i64 at; };
__device__ inline bool before(const Best& a, const Best& b) {
  if (a.at < 0 || b.at < 0) return b.at < 0;
  const bool na = a.value != a.value, nb = b.value != b.value;
  if (na || nb) return na && nb ? a.at < b.at : na;
  if (a.value == b.value) return a.at < b.at;
  return LARGEST ? a.value > b.value : a.value < b.value;
}
// Whether the next element of a thread's own, in order, is better than what it has.
__device__ inline bool better(C next, const Best& b) {
  if (LARGEST ? next > b.value : next < b.value) return b.value == b.value || b.at < 0;
  return b.at < 0 || (next != next && b.value == b.value);
}
__device__ inline Best best_of_block(Best b) {
  __shared__ Best shared[32];
  const int thread = threadIdx.y * blockDim.x + threadIdx.x, warps = blockDim.x * blockDim.y / 32;
  for (int round = 0; round < 2; ++round) {
#pragma unroll
    for (int step = 16; step; step /= 2) { Best o; o.value = __shfl_xor_sync(FULL, b.value, step); o.at = __shfl_xor_sync(FULL, b.at, step); if (before(o, b)) b = o; }
    if (round) return b;
    if (thread % 32 == 0) shared[thread / 32] = b;
    __syncthreads();
    b = thread % 32 < warps ? shared[thread % 32] : Best{C(0), -1};
  }
  return b;
}

// Rows of neighbouring elements, each cut into gridDim.y parts: the best of each part.
extern "C" __global__ void __launch_bounds__(1024) extreme_rows(const T* x, OUT* values, i64* places, i64 cols, i64 per) {
  const T* from = x + i64(blockIdx.x) * cols;
  const i64 begin = i64(blockIdx.y) * per, end = begin + per < cols ? begin + per : cols;
  Best b = {C(0), -1};
  constexpr int kAhead = 4;                                     // loads that are under way together
  const i64 stride = i64(blockDim.x) * V;
  i64 c = begin + i64(threadIdx.x) * V;
  for (; c + (kAhead - 1) * stride + V <= end; c += kAhead * stride) {
    Load a[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) a[u] = load(from + c + u * stride);
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
#pragma unroll
      for (int k = 0; k < V; ++k) { const C next = wide(a[u].v[k]); if (better(next, b)) { b.value = next; b.at = c + u * stride + k; } }
    }
  }
  for (; c < end; c += stride) {
    if (c + V <= end) {
      const Load a = load(from + c);
#pragma unroll
      for (int k = 0; k < V; ++k) { const C next = wide(a.v[k]); if (better(next, b)) { b.value = next; b.at = c + k; } }
    } else {
      for (i64 k = c; k < end; ++k) { const C next = wide(from[k]); if (better(next, b)) { b.value = next; b.at = k; } }
    }
  }
  b = best_of_block(b);
  const i64 to = i64(blockIdx.x) * gridDim.y + blockIdx.y;
  if (threadIdx.x == 0) { if (values) values[to] = cast<OUT>(b.value); places[to] = b.at; }
}
// The best of `parts` bests.
extern "C" __global__ void __launch_bounds__(1024) extreme_parts(const C* found, const i64* at, OUT* values, i64* places, i64 parts) {
  Best b = {C(0), -1};
  for (i64 k = threadIdx.x; k < parts; k += blockDim.x) { const Best o = {found[i64(blockIdx.x) * parts + k], at[i64(blockIdx.x) * parts + k]}; if (before(o, b)) b = o; }
  b = best_of_block(b);
  if (threadIdx.x == 0) { if (values) values[blockIdx.x] = cast<OUT>(b.value); places[blockIdx.x] = b.at; }
}
// (outer, n, inner) over n: 32 neighbouring columns and up to 32 parts of n a block.
extern "C" __global__ void __launch_bounds__(1024) extreme_columns(const T* x, OUT* values, i64* places, i64 n, i64 inner) {
  __shared__ Best shared[32][32];
  const i64 column = i64(blockIdx.x) * 32 + threadIdx.x;
  Best b = {C(0), -1};
  if (column < inner) {
    const T* from = x + i64(blockIdx.y) * n * inner + column;
    constexpr int kAhead = 4;                                   // loads that are under way together
    const i64 parts = blockDim.y;
    i64 k = threadIdx.y;
    for (; k + (kAhead - 1) * parts < n; k += kAhead * parts) {
      C next[kAhead];
#pragma unroll
      for (int u = 0; u < kAhead; ++u) next[u] = wide(from[(k + u * parts) * inner]);
#pragma unroll
      for (int u = 0; u < kAhead; ++u) if (better(next[u], b)) { b.value = next[u]; b.at = k + u * parts; }
    }
    for (; k < n; k += parts) { const C next = wide(from[k * inner]); if (better(next, b)) { b.value = next; b.at = k; } }
  }
  shared[threadIdx.y][threadIdx.x] = b;
  __syncthreads();
  if (threadIdx.y || column >= inner) return;
  for (int k = 1; k < blockDim.y; ++k) if (before(shared[k][threadIdx.x], b)) b = shared[k][threadIdx.x];
  const i64 to = i64(blockIdx.y) * inner + column;
  if (values) values[to] = cast<OUT>(b.value);
  places[to] = b.at;
}
#endif

#ifdef MOMENTS
// The variance of each row (its root where ROOT), and its mean where asked for.
extern "C" __global__ void __launch_bounds__(1024) variance(const T* x, OUT* variances, OUT* means, i64 cols, double freedom, int root) {
  const T* from = x + i64(blockIdx.x) * cols;
  C sum = 0, squares = 0;
  for (i64 c = i64(threadIdx.x) * V; c < cols; c += i64(blockDim.x) * V) {
    const Load a = load(from + c);
#pragma unroll
    for (int k = 0; k < V; ++k) sum += wide(a.v[k]);
  }
  const C mean = across_block(sum) / C(cols);
  for (i64 c = i64(threadIdx.x) * V; c < cols; c += i64(blockDim.x) * V) {
    const Load a = load(from + c);
#pragma unroll
    for (int k = 0; k < V; ++k) { const C d = wide(a.v[k]) - mean; squares += d * d; }
  }
  squares = across_block(squares) / C(freedom > 0 ? freedom : 0);
  if (threadIdx.x) return;
  variances[blockIdx.x] = cast<OUT>(root ? sqrt(squares) : squares);
  if (means) means[blockIdx.x] = cast<OUT>(mean);
}
#endif

#ifdef MAKES
// out[i] = start + i * step
extern "C" __global__ void __launch_bounds__(256) ramp(T* out, i64 n, C start, C step) {
  const i64 i = i64(blockIdx.x) * 256 + threadIdx.x;
  if (i < n) out[i] = cast<T>(C(start + C(i) * step));
}
// Rows by columns matrices: x where column - row is at most (`upper`: at least) diagonal, else 0.
extern "C" __global__ void __launch_bounds__(256) triangle(const T* x, T* out, i64 total, i64 rows, i64 cols, i64 diagonal, int upper) {
  const i64 first = (i64(blockIdx.x) * 256 + threadIdx.x) * V;
  if (first >= total) return;
  const i64 line = first / cols, c = first - line * cols, r = line % rows;
  const bool some = upper ? c + V - 1 - r >= diagonal : c - r <= diagonal;
  Load a;
  T zero;
  for (u64 k = 0; k < sizeof(T); ++k) reinterpret_cast<u8*>(&zero)[k] = 0;
  if (some) a = load(x + first);
#pragma unroll
  for (int k = 0; k < V; ++k) if (!some || (upper ? c + k - r < diagonal : c + k - r > diagonal)) a.v[k] = zero;
  store(out + first, a);
}
#endif
)cuda";

}  // namespace shim::cuda
