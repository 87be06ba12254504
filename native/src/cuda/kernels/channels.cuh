#pragma once
// Norms over channels, compiled by NVRTC.
// Norms over channels of (batch, channels, inner): blockIdx.x a channel, blockIdx.y one of `parts` parts of its batch * inner elements.
// Macros: ELEMENT the element type, C the type it is computed in, V elements of a load, P the element type of the weight
// and bias.
#include "cuda/kernels/block.cuh"

struct Moments {
  C count, mean, squares;
};
__device__ inline Moments joined(Moments a, Moments b) {
  if (b.count == C(0)) return a;
  const C count = a.count + b.count, apart = b.mean - a.mean, share = b.count / count;
  return {count, a.mean + apart * share, a.squares + b.squares + apart * apart * a.count * share};
}
__device__ inline Moments of_block(Moments m) {
  __shared__ Moments shared[32];
#pragma unroll
  for (int step = 16; step; step /= 2)
    m = joined(m, {__shfl_down_sync(FULL, m.count, step), __shfl_down_sync(FULL, m.mean, step),
                      __shfl_down_sync(FULL, m.squares, step)});
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = m;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int w = 1; w < blockDim.x / 32; ++w) m = joined(m, shared[w]);
  return m;  // whole in thread 0
}
// f(offset in the tensor) for each group of V elements of this block's part.
template <class F> __device__ inline void each_group(i64 channels, i64 inner, i64 groups, F f) {
  const i64 per = (groups + gridDim.y - 1) / gridDim.y, begin = i64(blockIdx.y) * per, end = min(begin + per, groups),
            line = inner / V;
  for (i64 k = begin + threadIdx.x; k < end; k += blockDim.x) {
    const u32 batch = u32(k) / u32(line);
    f((i64(batch) * channels + blockIdx.x) * inner + (k - i64(batch) * line) * V);
  }
}
extern "C" __global__ void __launch_bounds__(512)
    channel_moments(const T* x, Moments* partial, i64 channels, i64 inner, i64 groups) {
  // Sums about the thread's first value: exact enough, and no division an element.
  C about = 0, count = 0, sum = 0, squares = 0;
  each_group(channels, inner, groups, [&](i64 at) {
    const Load a = load(x + at);
    if (count == C(0)) about = wide(a.v[0]);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const C d = wide(a.v[v]) - about;
      sum += d;
      squares += d * d;
    }
    count += V;
  });
  const C mean = count == C(0) ? C(0) : sum / count;
  const C rest = squares - sum * mean;
  const Moments m = of_block({count, mean + about, rest < C(0) ? C(0) : rest});
  if (threadIdx.x == 0) partial[i64(blockIdx.x) * gridDim.y + blockIdx.y] = m;
}
// A block a channel.
extern "C" __global__ void __launch_bounds__(256)
    channel_statistics(const Moments* partial, T* mean, T* variance, int parts, double correction, int root) {
  const Moments* from = partial + i64(blockIdx.x) * parts;
  Moments m = {C(0), C(0), C(0)};
  for (int k = threadIdx.x; k < parts; k += blockDim.x) m = k == threadIdx.x ? from[k] : joined(m, from[k]);
  m = of_block(m);
  if (threadIdx.x) return;
  const double freedom = double(m.count) - correction;
  const C v = m.squares / C(freedom > 0 ? freedom : 0);
  if (mean) mean[blockIdx.x] = cast<T>(m.mean);
  variance[blockIdx.x] = cast<T>(root ? sqrt(v) : v);
}
// Running statistics toward those of a batch, whose variance is multiplied by `factor`.
extern "C" __global__ void __launch_bounds__(256) track_statistics(
    T* to_mean, T* to_variance, const C* mean, const C* variance, i64 n, double momentum, double factor) {
  const i64 i = i64(blockIdx.x) * 256 + threadIdx.x;
  if (i >= n) return;
  const C keep = C(1 - momentum), add = C(momentum);
  to_mean[i] = cast<T>(cast<C>(to_mean[i]) * keep + mean[i] * add);
  to_variance[i] = cast<T>(cast<C>(to_variance[i]) * keep + variance[i] * C(factor) * add);
}
__device__ inline C weight_of(const P* weight) { return weight ? cast<C>(weight[blockIdx.x]) : C(1); }
extern "C" __global__ void __launch_bounds__(512) channel_norm(const T* x, T* out, const C* mean, const C* variance,
    const P* weight, const P* bias, C eps, i64 channels, i64 inner, i64 groups) {
  const C scale = weight_of(weight) / sqrt(variance[blockIdx.x] + eps), centre = mean[blockIdx.x],
          shift = bias ? cast<C>(bias[blockIdx.x]) : C(0);
  each_group(channels, inner, groups, [&](i64 at) {
    Load a = load(x + at);
#pragma unroll
    for (int v = 0; v < V; ++v) a.v[v] = cast<T>((wide(a.v[v]) - centre) * scale + shift);
    store(out + at, a);
  });
}
// The same where channels lie last: `groups` packs of channels a row. A thread stays with its channels, `step` packs apart.
extern "C" __global__ void __launch_bounds__(256) channel_norm_last(const T* x, T* out, const C* mean,
    const C* variance, const P* weight, const P* bias, C eps, u32 groups, i64 step, i64 packs) {
  const i64 first = i64(blockIdx.x) * 256 + threadIdx.x;
  if (first >= step) return;
  const u32 channel = u32(first) % groups * V;
  C scale[V], centre[V], shift[V];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    scale[v] = (weight ? cast<C>(weight[channel + v]) : C(1)) / sqrt(variance[channel + v] + eps);
    centre[v] = mean[channel + v];
    shift[v] = bias ? cast<C>(bias[channel + v]) : C(0);
  }
  for (i64 k = first; k < packs; k += 4 * step) {
    Load a[4];
#pragma unroll
    for (int u = 0; u < 4; ++u)
      if (k + u * step < packs) a[u] = load(x + (k + u * step) * V);
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      if (k + u * step >= packs) break;
#pragma unroll
      for (int v = 0; v < V; ++v) a[u].v[v] = cast<T>((wide(a[u].v[v]) - centre[v]) * scale[v] + shift[v]);
      store(out + (k + u * step) * V, a[u]);
    }
  }
}
// The offset of this thread's u-th group in the tensor, where one block has a whole channel of few groups; below 0 behind them.
constexpr int KEPT = 4;  // groups that a thread keeps in registers
__device__ inline i64 kept_group(int u, i64 channels, i64 inner, i64 groups) {
  const u32 k = u * blockDim.x + threadIdx.x, line = u32(inner / V);
  if (k >= groups) return -1;
  return (i64(k / line) * channels + blockIdx.x) * inner + i64(k % line) * V;
}
// A channel's statistics and its norm by one block, which reads it once.
extern "C" __global__ void __launch_bounds__(512) channel_norm_whole(const T* x, T* out, C* mean, C* variance,
    const P* weight, const P* bias, C eps, i64 channels, i64 inner, i64 groups) {
  Load a[KEPT];
  const C count = C(groups * V);
  C sum = 0, squares = 0;
#pragma unroll
  for (int u = 0; u < KEPT; ++u) {
    const i64 at = kept_group(u, channels, inner, groups);
    if (at < 0) continue;
    a[u] = load(x + at);
#pragma unroll
    for (int v = 0; v < V; ++v) sum += wide(a[u].v[v]);
  }
  const C centre = across_block(sum) / count;
#pragma unroll
  for (int u = 0; u < KEPT; ++u) {
    if (kept_group(u, channels, inner, groups) < 0) continue;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const C d = wide(a[u].v[v]) - centre;
      squares += d * d;
    }
  }
  const C spread = across_block(squares) / count, scale = weight_of(weight) / sqrt(spread + eps),
          shift = bias ? cast<C>(bias[blockIdx.x]) : C(0);
  if (threadIdx.x == 0) {
    mean[blockIdx.x] = centre;
    variance[blockIdx.x] = spread;
  }
#pragma unroll
  for (int u = 0; u < KEPT; ++u) {
    const i64 at = kept_group(u, channels, inner, groups);
    if (at < 0) continue;
#pragma unroll
    for (int v = 0; v < V; ++v) a[u].v[v] = cast<T>((wide(a[u].v[v]) - centre) * scale + shift);
    store(out + at, a[u]);
  }
}
// Sums of g and of g * (x - mean), a pair a part.
extern "C" __global__ void __launch_bounds__(512)
    channel_slopes(const T* g, const T* x, const C* mean, C* partial, i64 channels, i64 inner, i64 groups) {
  const C centre = mean[blockIdx.x];
  C sum = 0, dot = 0;
  each_group(channels, inner, groups, [&](i64 at) {
    const Load a = load(g + at), b = load(x + at);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const C d = wide(a.v[v]);
      sum += d;
      dot += d * (wide(b.v[v]) - centre);
    }
  });
  sum = across_block(sum);
  __syncthreads();
  dot = across_block(dot);
  if (threadIdx.x == 0) {
    C* to = partial + 2 * (i64(blockIdx.x) * gridDim.y + blockIdx.y);
    to[0] = sum;
    to[1] = dot;
  }
}
// dx, and in the channel's first block the gradients of weight and bias.
extern "C" __global__ void __launch_bounds__(512)
    channel_norm_backward(const T* g, const T* x, T* dx, const C* mean, const C* variance, const P* weight,
        const C* partial, C* dweight, C* dbias, C eps, int parts, int of_batch, i64 channels, i64 inner, i64 groups) {
  __shared__ C both[2];
  if (threadIdx.x < 2) {
    C total = 0;
    for (int k = 0; k < parts; ++k) total += partial[2 * (i64(blockIdx.x) * parts + k) + threadIdx.x];
    both[threadIdx.x] = total;
  }
  __syncthreads();
  const C centre = mean[blockIdx.x], rstd = C(1) / sqrt(variance[blockIdx.x] + eps), count = C(groups * V);
  if (blockIdx.y == 0 && threadIdx.x == 0) {
    dweight[blockIdx.x] = both[1] * rstd;
    dbias[blockIdx.x] = both[0];
  }
  const C scale = weight_of(weight) * rstd, average = of_batch ? both[0] / count : C(0),
          slope = of_batch ? both[1] * rstd * rstd / count : C(0);
  each_group(channels, inner, groups, [&](i64 at) {
    const Load a = load(g + at), b = load(x + at);
    Load r;
#pragma unroll
    for (int v = 0; v < V; ++v) r.v[v] = cast<T>((wide(a.v[v]) - average - (wide(b.v[v]) - centre) * slope) * scale);
    store(dx + at, r);
  });
}
// A channel's three gradients by one block, which reads it once.
extern "C" __global__ void __launch_bounds__(512)
    channel_norm_backward_whole(const T* g, const T* x, T* dx, const C* mean, const C* variance, const P* weight,
        C* dweight, C* dbias, C eps, int of_batch, i64 channels, i64 inner, i64 groups) {
  Load a[KEPT], b[KEPT];
  const C centre = mean[blockIdx.x], rstd = C(1) / sqrt(variance[blockIdx.x] + eps), count = C(groups * V);
  C sum = 0, dot = 0;
#pragma unroll
  for (int u = 0; u < KEPT; ++u) {
    const i64 at = kept_group(u, channels, inner, groups);
    if (at < 0) continue;
    a[u] = load(g + at);
    b[u] = load(x + at);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const C d = wide(a[u].v[v]);
      sum += d;
      dot += d * (wide(b[u].v[v]) - centre);
    }
  }
  sum = across_block(sum);
  dot = across_block(dot);
  if (threadIdx.x == 0) {
    dweight[blockIdx.x] = dot * rstd;
    dbias[blockIdx.x] = sum;
  }
  const C scale = weight_of(weight) * rstd, average = of_batch ? sum / count : C(0),
          slope = of_batch ? dot * rstd * rstd / count : C(0);
#pragma unroll
  for (int u = 0; u < KEPT; ++u) {
    const i64 at = kept_group(u, channels, inner, groups);
    if (at < 0) continue;
    Load r;
#pragma unroll
    for (int v = 0; v < V; ++v)
      r.v[v] = cast<T>((wide(a[u].v[v]) - average - (wide(b[u].v[v]) - centre) * slope) * scale);
    store(dx + at, r);
  }
}
