#pragma once
// The part LOG of rows.cuh: the gradient of softmax, cross entropy, logsumexp.
#include "cuda/kernels/block.cuh"

#ifdef LOG
#include "cuda/kernels/asserts.cuh"

// dx = y * (g - sum(g * y)), or with LOG, where y is the logarithm, g - exp(y) * sum(g). A block a row.
extern "C" __global__ void __launch_bounds__(1024) softmax_backward(const T* g, const T* y, T* dx, i64 cols) {
  const T *grad = g + i64(blockIdx.x) * cols, *from = y + i64(blockIdx.x) * cols;
  T* to = dx + i64(blockIdx.x) * cols;
  Load a[LOADS ? LOADS : 1], b[LOADS ? LOADS : 1];
  C sum = 0;
  auto add = [&](const Load& p, const Load& q) {
    for (int k = 0; k < V; ++k) sum += LOG ? wide(p.v[k]) : wide(p.v[k]) * wide(q.v[k]);
  };
  auto apply = [&](i64 c, const Load& p, const Load& q) {
    Load r;
    for (int k = 0; k < V; ++k)
      r.v[k] = cast<T>(LOG ? wide(p.v[k]) - exp(wide(q.v[k])) * sum : wide(q.v[k]) * (wide(p.v[k]) - sum));
    store(to + c, r);
  };
  if (LOADS) {
#pragma unroll
    for (int k = 0; k < LOADS; ++k) {
      const i64 c = (i64(k) * blockDim.x + threadIdx.x) * V;
      if (c < cols) {
        a[k] = load(grad + c);
        b[k] = load(from + c);
        add(a[k], b[k]);
      }
    }
    sum = across_block(sum);
#pragma unroll
    for (int k = 0; k < LOADS; ++k) {
      const i64 c = (i64(k) * blockDim.x + threadIdx.x) * V;
      if (c < cols) apply(c, a[k], b[k]);
    }
  } else {
    for (i64 c = i64(threadIdx.x) * V; c < cols; c += i64(blockDim.x) * V) add(load(grad + c), load(from + c));
    sum = across_block(sum);
    for (i64 c = i64(threadIdx.x) * V; c < cols; c += i64(blockDim.x) * V) apply(c, load(grad + c), load(from + c));
  }
}

// --- cross entropy ----------------------------------------------------------------------------------------------------

struct Part {
  C top, sum;
};  // of exponentials: sum * exp(top)
__device__ inline C lowest() { return -C(__int_as_float(0x7f800000)); }
__device__ inline Part joined(Part a, Part b) {
  if (a.top < b.top || a.top != a.top) {
    const Part t = a;
    a = b;
    b = t;
  }
  if (b.sum == C(0)) return a;
  a.sum += b.sum * exp(b.top - a.top);
  if (b.top != b.top) a.sum = b.top;
  return a;
}
__device__ inline Part across_warp(Part p) {
#pragma unroll
  for (int step = 16; step; step /= 2) {
    Part o;
    o.top = __shfl_xor_sync(FULL, p.top, step);
    o.sum = __shfl_xor_sync(FULL, p.sum, step);
    p = joined(p, o);
  }
  return p;
}

struct Levels {
  C most, rest;  // subtracted one after the other: their sum would round large ones
};
// What log_softmax subtracts of a row, for all threads of its block.
__device__ inline Levels levels_of(const T* from, i64 cols) {
  __shared__ Part shared[32];
  __shared__ Levels found;
  C top = lowest(), sum = 0;
  for (i64 c = i64(threadIdx.x) * V; c < cols; c += i64(blockDim.x) * V) {
    const Load a = load(from + c);
    C most = wide(a.v[0]);
#pragma unroll
    for (int k = 1; k < V; ++k) {
      const C w = wide(a.v[k]);
      most = w > most || w != w ? w : most;
    }
    if (most > top || most != most) {
      sum = top == lowest() ? C(0) : sum * exp(top - most);
      top = most;
    }
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
    if (threadIdx.x == 0)  // of nothing but -inf: not a number
      found = {p.top, p.top == lowest() ? p.sum / p.sum : log(p.sum)};
  }
  __syncthreads();
  return found;
}

// log_p[row] = log_softmax(x) (unless null), losses[row] = -log_p[target] * weight, factors[row] = weight; 0 where the target is `ignored`.
extern "C" __global__ void __launch_bounds__(1024) cross_entropy(
    const T* x, const i64* targets, const T* weight, T* log_p, C* losses, C* factors, i64 cols, i64 ignored) {
  const i64 row = blockIdx.x;
  const T* from = x + row * cols;
  const auto [largest, others] = levels_of(from, cols);
  if (log_p) {
    T* to = log_p + row * cols;
    for (i64 c = i64(threadIdx.x) * V; c < cols; c += i64(blockDim.x) * V) {
      // Rows of other blocks stay in the second-level cache for their second reading: what is written, and this, need not.
      Load a = load_last(from + c);
#pragma unroll
      for (int k = 0; k < V; ++k) a.v[k] = cast<T>(wide(a.v[k]) - largest - others);
      store_past(to + c, a);
    }
  }
  if (threadIdx.x) return;
  const i64 target = targets[row];
  if (target == ignored) {
    losses[row] = factors[row] = C(0);
    return;
  }
  if (u64(target) >= u64(cols)) assert_failed(AssertSite::class_loss, target, cols);
  const C w = weight ? wide(weight[target]) : C(1);
  losses[row] = -wide(cast<T>(wide(from[target]) - largest - others)) * w;
  factors[row] = w;
}

// The same of scores that are read as C, without log_p: what backward computes it of goes to `levels`. Rows lie `stride` apart, `inner` of them
// side by side, and these blocks of rows `outer`.
extern "C" __global__ void __launch_bounds__(1024) cross_entropy_scores(const T* x, const i64* targets, C* levels,
    C* losses, C* factors, i64 cols, i64 stride, i64 inner, i64 outer, i64 ignored) {
  const i64 row = blockIdx.x, block = row / inner;
  const T* from = x + block * outer + (row - block * inner) * stride;
  const auto [largest, others] = levels_of(from, cols);
  if (threadIdx.x) return;
  levels[2 * row] = largest;
  levels[2 * row + 1] = others;
  const i64 target = targets[row];
  if (target != ignored && u64(target) >= u64(cols)) assert_failed(AssertSite::class_loss, target, cols);
  losses[row] = target == ignored ? C(0) : -(wide(from[target]) - largest - others);
  factors[row] = target == ignored ? C(0) : C(1);
}

// out[row] = log(sum(exp(x))): infinities stay, NaN wins.
extern "C" __global__ void __launch_bounds__(1024) log_sum_exp(const T* x, T* out, i64 cols) {
  __shared__ Part shared[32];
  const T* from = x + i64(blockIdx.x) * cols;
  Part p = {lowest(), C(0)};
  const auto gap = [](C a, C b) { return a == b ? C(0) : a - b; };  // of infinities too
  const auto both = [&](Part a, Part b) {
    if (a.top < b.top || a.top != a.top) {
      const Part t = a;
      a = b;
      b = t;
    }
    if (b.sum != C(0)) a.sum += b.sum * exp(gap(b.top, a.top));
    return a;
  };
  for (i64 c = i64(threadIdx.x) * V; c < cols; c += i64(blockDim.x) * V) {
    const Load a = load(from + c);
    C most = p.top;
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const C w = wide(a.v[k]);
      most = w > most ? w : most;
    }
    if (most > p.top) {
      p.sum = p.top == lowest() ? p.sum * C(0) : p.sum * exp(gap(p.top, most));
      p.top = most;
    }
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const C w = wide(a.v[k]);
      p.sum += w == lowest() ? C(0) : exp(gap(w, p.top));
    }
  }
#pragma unroll
  for (int step = 16; step; step /= 2)
    p = both(p, {__shfl_xor_sync(FULL, p.top, step), __shfl_xor_sync(FULL, p.sum, step)});
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = p;
  __syncthreads();
  if (threadIdx.x) return;
  for (int k = 1; k < int(blockDim.x / 32); ++k) p = both(p, shared[k]);
  out[blockIdx.x] = cast<T>(p.top + log(p.sum));
}

// loss = sum(losses), over sum(factors) where `mean`; one block. total = sum(factors).
extern "C" __global__ void __launch_bounds__(1024)
    total(const C* losses, const C* factors, T* loss, C* total, i64 rows, int mean) {
  C a = 0, b = 0;
  for (i64 r = threadIdx.x; r < rows; r += blockDim.x) {
    a += losses[r];
    b += factors[r];
  }
  a = across_block(a);
  b = across_block(b);
  if (threadIdx.x == 0) {
    *loss = cast<T>(mean ? a / b : a);
    *total = b;
  }
}

extern "C" __global__ void narrowed(const C* losses, T* loss, i64 rows) {
  const i64 r = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (r < rows) loss[r] = cast<T>(losses[r]);
}

// A row of dx = (p - [column is the target]) * factor * g / divisor, where p = `probability`(element of `from`); `g` and `factor` are the row's.
template <class Probability>
__device__ inline void cross_entropy_slope(
    C g, C factor, C divisor, const T* from, i64 target, T* to, i64 cols, Probability probability) {
  const C scale = factor == C(0) ? C(0) : g * factor / divisor;
  for (i64 c = i64(threadIdx.x) * V; c < cols; c += i64(blockDim.x) * V) {
    const Load a = load(from + c);
    Load r;
#pragma unroll
    for (int k = 0; k < V; ++k)
      r.v[k] = cast<T>(scale == C(0) ? C(0) : (probability(wide(a.v[k])) - (c + k == target ? C(1) : C(0))) * scale);
    store(to + c, r);
  }
}
// `g` is of one element, or with `each_row` one a row.
extern "C" __global__ void __launch_bounds__(1024) cross_entropy_backward(const T* g, const T* log_p,
    const i64* targets, const C* factors, const C* total, T* dx, i64 cols, int mean, int each_row) {
  const i64 row = blockIdx.x;
  cross_entropy_slope(wide(g[each_row ? row : 0]), factors[row], mean ? *total : C(1), log_p + row * cols, targets[row],
      dx + row * cols, cols, [](C log_probability) { return exp(log_probability); });
}
// The same from scores as cross_entropy_scores has them; `dx` lies so too, with strides of its own. It may be the scores' memory.
extern "C" __global__ void __launch_bounds__(1024) cross_entropy_scores_backward(const C* g, const T* x,
    const C* levels, const i64* targets, const C* factors, const C* total, T* dx, i64 cols, i64 stride, i64 inner,
    i64 outer, i64 to_stride, i64 to_outer, int mean, int each_row) {
  const i64 row = blockIdx.x, block = row / inner;
  const C largest = levels[2 * row], others = levels[2 * row + 1];
  cross_entropy_slope(g[each_row ? row : 0], factors[row], mean ? *total : C(1),
      x + block * outer + (row - block * inner) * stride, targets[row],
      dx + block * to_outer + (row - block * inner) * to_stride, cols,
      [=](C score) { return exp(score - largest - others); });
}
#endif
