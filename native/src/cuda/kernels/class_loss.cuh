#pragma once
// Losses of scores over classes with the classes' numbers as targets, compiled by NVRTC with
// the macros ELEMENT, C (V is not used).
#include "cuda/kernels/asserts.cuh"
#include "cuda/kernels/block.cuh"

__device__ inline i64 class_of(i64 target, i64 classes, AssertSite site = AssertSite::class_loss) {
  if (u64(target) >= u64(classes)) assert_failed(site, target, classes);
  return target;
}
// The block's two sums to parts; or their quotient (`mean`) or the first of them, and the second, where it is the only block.
__device__ inline void two_sums(C sum, C weights, C* parts, T* out, C* total, int mean) {
  sum = across_block(sum);
  __syncthreads();
  weights = across_block(weights);
  if (threadIdx.x) return;
  if (gridDim.x > 1) {
    parts[2 * blockIdx.x] = sum;
    parts[2 * blockIdx.x + 1] = weights;
    return;
  }
  *out = cast<T>(mean ? sum / weights : sum);
  *total = weights;
}
extern "C" __global__ void __launch_bounds__(512) class_total(const C* parts, T* out, C* total, int count, int mean) {
  C sum = 0, weights = 0;
  for (int k = threadIdx.x; k < count; k += blockDim.x) {
    sum += parts[2 * k];
    weights += parts[2 * k + 1];
  }
  two_sums(sum, weights, nullptr, out, total, mean);
}

// -weight * x[.., target, ..] over `n` targets, of x (outer, classes, inner): each to `out` where `parts` is null, else summed.
extern "C" __global__ void __launch_bounds__(512) class_losses(const T* x, const i64* target, const T* weight, C* parts,
    T* out, C* total, i64 n, i64 classes, i64 inner, i64 ignored, int mean) {
  C sum = 0, weights = 0;
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += i64(gridDim.x) * blockDim.x) {
    const i64 t = target[i];
    C loss = 0;
    if (t != ignored) {
      const i64 o = inner == 1 ? i : i / inner;
      const C w = weight ? wide(weight[class_of(t, classes)]) : C(1);
      loss = -w * wide(x[(o * classes + class_of(t, classes)) * inner + (i - o * inner)]);
      sum += loss;
      weights += w;
    }
    if (!parts) out[i] = cast<T>(loss);
  }
  if (parts) two_sums(sum, weights, parts, out, total, mean);
}
// Its derivative: -weight * g (/ *total where `mean`) at the targets, else 0. `each`: a g for each target.
__device__ inline T class_slope(const T* g, i64 spot, i64 named, const T* weight, const C* total, int mean, int each) {
  const C slope = -(weight ? wide(weight[named]) : C(1)) * wide(g[each ? spot : 0]);
  return cast<T>(mean ? slope / *total : slope);
}
// Whole, for few elements.
extern "C" __global__ void __launch_bounds__(256) class_slopes(const T* g, const i64* target, const T* weight,
    const C* total, T* out, i64 n, i64 classes, i64 inner, i64 ignored, int mean, int each) {
  const u32 i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const u32 line = i / u32(inner), row = line / u32(classes), named = line - row * u32(classes),
            spot = row * u32(inner) + (i - line * u32(inner));
  const i64 t = target[spot];
  out[i] = t == named && t != ignored ? class_slope(g, spot, t, weight, total, mean, each) : cast<T>(C(0));
}
// At the targets alone, of which there are `n`, the rest being 0 before.
extern "C" __global__ void __launch_bounds__(256) class_slopes_at(const T* g, const i64* target, const T* weight,
    const C* total, T* out, i64 n, i64 classes, i64 inner, i64 ignored, int mean, int each) {
  for (i64 i = i64(blockIdx.x) * 256 + threadIdx.x; i < n; i += i64(gridDim.x) * 256) {
    const i64 t = target[i], o = inner == 1 ? i : i / inner;
    if (t != ignored)
      out[(o * classes + class_of(t, classes)) * inner + (i - o * inner)] =
          class_slope(g, i, t, weight, total, mean, each);
  }
}

// The sum over the other classes of max(0, margin - x[target] + x[class]) to the power p (1 or 2), times the target's weight, over classes. A warp
// a row; the rows' sums to `out` where `parts` is null, else added up.
extern "C" __global__ void __launch_bounds__(256) margin_losses(const T* x, const i64* target, const T* weight,
    C* parts, T* out, C* total, i64 rows, i64 classes, int p, double margin, int mean) {
  const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
  C all = 0, count = 0;
  for (i64 row = i64(blockIdx.x) * warps + threadIdx.x / 32; row < rows; row += i64(gridDim.x) * warps) {
    const i64 t = class_of(target[row], classes, AssertSite::margin_loss);
    const T* line = x + row * classes;
    const C least = C(margin) - wide(line[t]);
    C sum = 0;
    for (i64 c = lane; c < classes; c += 32) {
      const C gap = least + wide(line[c]);
      if (c != t && gap > C(0)) sum += p == 1 ? gap : gap * gap;
    }
#pragma unroll
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(FULL, sum, step);
    sum = sum * (weight ? wide(weight[t]) : C(1)) / C(classes);
    if (lane == 0) {
      all += sum;
      count += C(1);
      if (!parts) out[row] = cast<T>(sum);
    }
  }
  if (parts) two_sums(all, count, parts, out, total, mean);
}
extern "C" __global__ void __launch_bounds__(256) margin_slopes(const T* g, const T* x, const i64* target,
    const T* weight, T* out, i64 rows, i64 classes, int p, double margin, int mean, int each) {
  const int lane = threadIdx.x % 32;
  const i64 row = i64(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (row >= rows) return;
  const i64 t = class_of(target[row], classes, AssertSite::margin_loss);
  const T* line = x + row * classes;
  const C least = C(margin) - wide(line[t]),
          scale = wide(g[each ? row : 0]) * (weight ? wide(weight[t]) : C(1)) / C(classes) / C(mean ? rows : 1);
  C sum = 0;
  for (i64 c = lane; c < classes; c += 32) {
    const C gap = least + wide(line[c]), slope = c == t || !(gap > C(0)) ? C(0) : p == 1 ? scale : C(2) * gap * scale;
    sum += slope;
    if (c != t) out[row * classes + c] = cast<T>(slope);
  }
#pragma unroll
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(FULL, sum, step);
  if (lane == 0) out[row * classes + t] = cast<T>(-sum);
}

// The sum over a row's targets (up to the first that is negative) and over its other classes of max(0, 1 - x[target] + x[class]), over classes. A
// block a row; its classes, at most 32 * FLAGS, are marked in bits.
#define FLAGS 1024
__device__ inline bool marked(const u32* flags, i64 c) { return flags[c / 32] >> (c % 32) & 1; }
// How many targets a row has, marked.
__device__ inline i64 mark_targets(const i64* named, i64 classes, u32* flags) {
  __shared__ unsigned long long count;
  __syncthreads();
  if (threadIdx.x == 0) count = classes;
  for (i64 k = threadIdx.x; k < (classes + 31) / 32; k += blockDim.x) flags[k] = 0;
  __syncthreads();
  for (i64 k = threadIdx.x; k < classes; k += blockDim.x)
    if (named[k] < 0) {
      atomicMin(&count, static_cast<unsigned long long>(k));
      break;
    }
  __syncthreads();
  const i64 many = i64(count);
  for (i64 k = threadIdx.x; k < many; k += blockDim.x) {
    const i64 t = class_of(named[k], classes, AssertSite::margin_loss);
    atomicOr(flags + t / 32, 1u << (t % 32));
  }
  __syncthreads();
  return many;
}
extern "C" __global__ void __launch_bounds__(256)
    multilabel_losses(const T* x, const i64* target, C* parts, T* out, C* total, i64 rows, i64 classes, int mean) {
  __shared__ u32 flags[FLAGS];
  C all = 0, count = 0;
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const i64* named = target + row * classes;
    const T* line = x + row * classes;
    const i64 many = mark_targets(named, classes, flags);
    C sum = 0;
    for (i64 k = 0; k < many; ++k) {
      const C least = C(1) - wide(line[named[k]]);
      for (i64 c = threadIdx.x; c < classes; c += blockDim.x) {
        const C gap = least + wide(line[c]);
        if (!marked(flags, c) && gap > C(0)) sum += gap;
      }
    }
    if (parts) {
      all += sum / C(classes);
      count += threadIdx.x == 0;
    } else {
      sum = across_block(sum) / C(classes);
      if (threadIdx.x == 0) out[row] = cast<T>(sum);
    }
  }
  if (parts) two_sums(all, count, parts, out, total, mean);
}
extern "C" __global__ void __launch_bounds__(256)
    multilabel_slopes(const T* g, const T* x, const i64* target, T* out, i64 rows, i64 classes, int mean, int each) {
  __shared__ u32 flags[FLAGS];
  const i64 row = blockIdx.x;
  const i64* named = target + row * classes;
  const T* line = x + row * classes;
  T* to = out + row * classes;
  const i64 many = mark_targets(named, classes, flags);
  const C scale = wide(g[each ? row : 0]) / C(classes) / C(mean ? rows : 1);
  for (i64 c = threadIdx.x; c < classes; c += blockDim.x) {
    C times = 0;
    if (!marked(flags, c))
      for (i64 k = 0; k < many; ++k) times += C(1) - wide(line[named[k]]) + wide(line[c]) > C(0);
    to[c] = cast<T>(times * scale);
  }
  for (i64 k = 0; k < many; ++k) {
    const C least = C(1) - wide(line[named[k]]);
    C times = 0;
    for (i64 c = threadIdx.x; c < classes; c += blockDim.x) times += !marked(flags, c) && least + wide(line[c]) > C(0);
    times = across_block(times);
    if (threadIdx.x == 0) to[named[k]] = cast<T>(wide(to[named[k]]) - times * scale);
    __syncthreads();
  }
}
