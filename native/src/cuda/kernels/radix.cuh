#pragma once
// Sorting long rows digit by digit, compiled by NVRTC with the macro ELEMENT.
// One kernel counts all digits of a row, one finds where each begins and which digits tell elements apart at all; then one kernel for
// each of those digits moves the elements, least digit first. A block takes a tile; the counts of the tiles before it come from these,
// as each publishes its own and, when it has them, all up to it. What is sorted are the elements themselves, with their places.
#include "cuda/kernels/keys.cuh"

constexpr int kItems = sizeof(T) == 8 ? 8 : 16, kTile = 256 * kItems, kPasses = int(sizeof(T));
constexpr u32 kCount = 0x3fffffffu, kOwn = 0x40000000u, kAll = 0x80000000u;
__device__ inline u32 digit_of(T x, int pass, int descending) {
  return u32(sortable(x, descending) >> (8 * pass)) & 255u;
}

// begins[row][pass][digit] += the counts of rows of n.
extern "C" __global__ void __launch_bounds__(256) count_digits(const T* x, u32* begins, i64 n, int descending) {
  __shared__ u32 counts[kPasses * 256];
  for (int i = threadIdx.x; i < kPasses * 256; i += 256) counts[i] = 0;
  __syncthreads();
  const T* row = x + i64(blockIdx.y) * n;
  for (i64 i = i64(blockIdx.x) * 256 + threadIdx.x; i < n; i += i64(gridDim.x) * 256) {
    const Key k = sortable(row[i], descending);
#pragma unroll
    for (int p = 0; p < kPasses; ++p) atomicAdd(&counts[p * 256 + (u32(k >> (8 * p)) & 255u)], 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kPasses * 256; i += 256)
    if (counts[i]) atomicAdd(&begins[i64(blockIdx.y) * kPasses * 256 + i], counts[i]);
}

// The sum over the digits before each thread's.
__device__ inline u32 before_digit(u32 value) {
  __shared__ u32 of_warps[8];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u32 sum = value;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const u32 other = __shfl_up_sync(FULL, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == 31) of_warps[warp] = sum;
  __syncthreads();
  u32 before = sum - value;
  for (int w = 0; w < warp; ++w) before += of_warps[w];
  __syncthreads();
  return before;
}

// Counts to beginnings; plans[row] has a bit for each digit that is not the same everywhere. A block a row.
extern "C" __global__ void __launch_bounds__(256) plan(u32* begins, u32* plans, i64 n) {
  u32 needed = 0;
  for (int p = 0; p < kPasses; ++p) {
    u32* own = begins + (i64(blockIdx.x) * kPasses + p) * 256 + threadIdx.x;
    const u32 count = *own;
    *own = before_digit(count);
    if (!__syncthreads_or(count == u32(n))) needed |= 1u << p;
  }
  if (threadIdx.x == 0) plans[blockIdx.x] = needed ? needed : 1;
}

// Which lanes of the warp have this digit.
__device__ inline u32 same_digit(u32 digit) {
  u32 same = FULL;
#pragma unroll
  for (int bit = 0; bit < 8; ++bit) {
    const u32 votes = __ballot_sync(FULL, digit >> bit & 1);
    same &= digit >> bit & 1 ? votes : ~votes;
  }
  return same;
}

struct Buffers {
  T* keys[2];
  u32* at[2];
  T* values;
  i64* places;
};

// One digit of each row (blockIdx.y): from x or a buffer to the other buffer or, the last of them, to values and places.
extern "C" __global__ void __launch_bounds__(256, 3) move_digit(const T* x, Buffers to, const u32* begins,
    const u32* plans, u32* tickets, u32* status, i64 n, int pass, int descending) {
  __shared__ u64 words[kTile * sizeof(T) > kTile * 4 ? kTile * sizeof(T) / 8 : kTile / 2];
  __shared__ u32 counts[8][256], bases[256], ticket;
  T* keys = reinterpret_cast<T*>(words);
  u32* spots = reinterpret_cast<u32*>(words);
  const u32 needed = plans[blockIdx.y];
  if (!(needed >> pass & 1)) return;
  const int done = __popc(needed & ((1u << pass) - 1)), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const bool last = !(needed >> pass >> 1);
  const i64 row = blockIdx.y, tiles = gridDim.x;
  // Tickets, so that whichever block waits for an earlier tile waits for one that is running.
  if (threadIdx.x == 0) ticket = atomicAdd(&tickets[row * kPasses + pass], 1u);
#pragma unroll
  for (int w = 0; w < 8; ++w) counts[w][threadIdx.x] = 0;
  __syncthreads();
  const i64 tile = ticket, begin = tile * kTile;
  const int valid = int(begin + kTile < n ? kTile : n - begin);
  const T* from = (done == 0 ? x : done & 1 ? to.keys[0] : to.keys[1]) + row * n + begin;
  const u32* from_at = done == 0 ? nullptr : (done & 1 ? to.at[0] : to.at[1]) + row * n + begin;
  T mine[kItems];
  u32 ranks[kItems];
  const int first = warp * 32 * kItems + lane;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int i = first + 32 * k;
    if (i < valid) mine[k] = from[i];
  }
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    // Those past the row's end count as the greatest digit: they come after every other of the last tile.
    const u32 digit = first + 32 * k < valid ? digit_of(mine[k], pass, descending) : 255u, same = same_digit(digit);
    const u32 before = counts[warp][digit], rank = __popc(same & ((1u << lane) - 1));
    __syncwarp();
    if (rank == 0) counts[warp][digit] = before + __popc(same);
    __syncwarp();
    ranks[k] = before + rank;
  }
  __syncthreads();
  u32 own = 0;  // of the digit that is this thread's number
#pragma unroll
  for (int w = 0; w < 8; ++w) {
    const u32 c = counts[w][threadIdx.x];
    counts[w][threadIdx.x] = own;
    own += c;
  }
  volatile u32* published = status + ((row * kPasses + pass) * tiles) * 256 + threadIdx.x;
  published[tile * 256] = (tile ? kOwn : kAll) | own;
  const u32 start = before_digit(own);
  u32 earlier = 0;
  for (i64 t = tile - 1; t >= 0;) {
    const u32 seen = published[t * 256];
    if (!(seen & ~kCount)) continue;
    earlier += seen & kCount;
    if (seen & kAll) break;
    --t;
  }
  if (tile) published[tile * 256] = kAll | (earlier + own);
  bases[threadIdx.x] = begins[(row * kPasses + pass) * 256 + threadIdx.x] + earlier - start;
#pragma unroll
  for (int w = 0; w < 8; ++w) counts[w][threadIdx.x] += start;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    ranks[k] += counts[warp][first + 32 * k < valid ? digit_of(mine[k], pass, descending) : 255u];
    if (first + 32 * k < valid) keys[ranks[k]] = mine[k];
  }
  __syncthreads();
  u32 targets[kItems];
  T* to_keys = (last ? to.values : done & 1 ? to.keys[1] : to.keys[0]) + row * n;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int i = k * 256 + threadIdx.x;
    if (i >= valid) continue;
    targets[k] = bases[digit_of(keys[i], pass, descending)] + u32(i);
    to_keys[targets[k]] = keys[i];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int i = first + 32 * k;
    if (i < valid) spots[ranks[k]] = from_at ? from_at[i] : u32(begin + i);
  }
  __syncthreads();
  u32* to_at = (done & 1 ? to.at[1] : to.at[0]) + row * n;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int i = k * 256 + threadIdx.x;
    if (i >= valid) continue;
    if (last)
      to.places[row * n + targets[k]] = i64(spots[i]);
    else
      to_at[targets[k]] = spots[i];
  }
}
