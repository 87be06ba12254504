#pragma once
// Bags of embeddings, compiled by NVRTC with macros:
//   ELEMENT, C, V elements of one load (which divides the width), INDEX the type of indices and offsets.
#include "cuda/kernels/asserts.cuh"
#include "cuda/kernels/block.cuh"

typedef INDEX I;
// Bag b is of the indices offsets[b] .. offsets[b + 1], the last one up to the last of `count` where `open`.
struct Bag {
  i64 begin, end;
};
__device__ inline Bag bag(const I* offsets, i64 b, i64 bags, i64 count, int open) {
  const Bag r = {i64(offsets[b]), b + 1 == bags && open ? count : i64(offsets[b + 1])};
  if (r.begin < 0 || r.end > count || r.begin > r.end)
    assert_failed(AssertSite::bag_offsets, r.begin < 0 || r.begin > count ? r.begin : r.end, count);
  return r;
}
__device__ inline i64 row_of(I index, i64 rows) {
  if (u64(i64(index)) >= u64(rows)) assert_failed(AssertSite::embedding_bag, i64(index), rows);
  return i64(index);
}

// MODE 0 sums (each times its sample's weight), 1 means, 2 maxima; of `padding` nothing is taken. A thread takes V columns of a bag. bag_of tells
// each index its bag (`bags`: none), counts how many a bag has; most, of maxima, the row that each came from.
extern "C" __global__ void __launch_bounds__(256)
    bags_forward(const T* table, const I* indices, const I* offsets, const T* samples, T* out, i64* bag_of, i64* counts,
        i64* most, i64 bags, i64 count, i64 rows, i64 width, i64 padding, int mode, int open) {
  const i64 across = width / V, total = bags * across;
  for (i64 item = i64(blockIdx.x) * 256 + threadIdx.x; item < total; item += i64(gridDim.x) * 256) {
    const i64 b = total <= 0x7fffffff ? i64(u32(item) / u32(across)) : item / across, w = (item - b * across) * V;
    const Bag range = bag(offsets, b, bags, count, open);
    C sum[V];
    i64 from[V];
#pragma unroll
    for (int k = 0; k < V; ++k) {
      sum[k] = C(0);
      from[k] = 0;
    }
    i64 taken = 0;
    for (i64 j = range.begin; j < range.end; ++j) {
      const i64 row = row_of(indices[j], rows);
      if (w == 0) bag_of[j] = b;
      if (row == padding) continue;
      const Load x = load(table + row * width + w);
      const C scale = samples ? wide(samples[j]) : C(1);
#pragma unroll
      for (int k = 0; k < V; ++k) {
        const C value = wide(x.v[k]);
        if (mode < 2)
          sum[k] += value * scale;
        else if (taken == 0 || value > sum[k]) {
          sum[k] = value;
          from[k] = row;
        }
      }
      ++taken;
    }
    Load r;
#pragma unroll
    for (int k = 0; k < V; ++k) r.v[k] = cast<T>(mode == 1 && taken ? sum[k] / C(taken) : sum[k]);
    store(out + b * width + w, r);
    if (most) {
#pragma unroll
      for (int k = 0; k < V; ++k) most[b * width + w + k] = from[k];
    }
    if (w == 0) {
      counts[b] = taken;
      if (b + 1 == bags)  // indices beyond the last bag are of none
        for (i64 j = range.end; j < count; ++j) bag_of[j] = bags;
    }
  }
}

// Keys to sort by: the rows, -1 where nothing was taken.
extern "C" __global__ void __launch_bounds__(256)
    bag_keys(const I* indices, const i64* bag_of, int* keys, i64 count, i64 bags, i64 padding) {
  const i64 i = i64(blockIdx.x) * 256 + threadIdx.x;
  if (i < count) keys[i] = bag_of[i] < bags && i64(indices[i]) != padding ? int(indices[i]) : -1;
}
// out[key] = the sum of g[bag of order[k]] over the sorted keys' runs, in order: times the sample's weight, or over the bag's count where `mean`.
// A block a key, which works where a run begins.
extern "C" __global__ void __launch_bounds__(256) bags_backward(const T* g, const int* keys, const i64* order,
    const i64* bag_of, const T* samples, const i64* counts, T* out, i64 count, i64 width, int mean) {
  const i64 k = blockIdx.x;
  const int key = keys[k];
  if (key < 0 || (k > 0 && keys[k - 1] == key)) return;
  for (i64 w = i64(threadIdx.x) * V; w < width; w += i64(blockDim.x) * V) {
    C sum[V];
#pragma unroll
    for (int v = 0; v < V; ++v) sum[v] = C(0);
    for (i64 j = k; j < count && keys[j] == key; ++j) {
      const i64 at = order[j], b = bag_of[at];
      const Load x = load(g + b * width + w);
      const C scale = samples ? wide(samples[at]) : mean ? C(1) / C(counts[b]) : C(1);
#pragma unroll
      for (int v = 0; v < V; ++v) sum[v] += wide(x.v[v]) * scale;
    }
    Load r;
#pragma unroll
    for (int v = 0; v < V; ++v) r.v[v] = cast<T>(sum[v]);
    store(out + i64(key) * width + w, r);
  }
}
// out[i] = g[bag of i] . table[row of i], 0 where nothing was taken. A warp an index.
extern "C" __global__ void __launch_bounds__(256) bag_samples(const T* g, const T* table, const I* indices,
    const i64* bag_of, T* out, i64 count, i64 bags, i64 rows, i64 width, i64 padding) {
  const i64 i = i64(blockIdx.x) * 8 + threadIdx.x / 32;
  if (i >= count) return;
  const i64 b = bag_of[i], row = row_of(indices[i], rows);
  C sum = 0;
  if (b < bags && row != padding)
    for (i64 w = threadIdx.x % 32; w < width; w += 32) sum += wide(g[b * width + w]) * wide(table[row * width + w]);
#pragma unroll
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(FULL, sum, step);
  if (threadIdx.x % 32 == 0) out[i] = cast<T>(sum);
}
