#pragma once
// Copies between tensors that are contiguous along different dimensions, compiled by NVRTC with macros:
//   ELEMENT an unsigned type of the elements' size, V elements of one access, SIDE of a block's tile (a multiple of 32 * V).
#include "cuda/kernels/types.cuh"

typedef ELEMENT T;
typedef Pack<T, V> Load;
// `a` is the dimension along which src is contiguous, `b` that of out; the other sizes and steps follow, innermost first.
struct Tiles {
  i64 a, b, out_a, src_b;
  i64 size[8], out[8], src[8];
  int dims;
};

extern "C" __global__ void __launch_bounds__(256) transpose(T* out, const T* src, Tiles g) {
  alignas(16) __shared__ T tile[SIDE][SIDE + V];  // the rows begin at other banks
  const i64 across = (g.a + SIDE - 1) / SIDE, down = (g.b + SIDE - 1) / SIDE;
  i64 rest = blockIdx.x;
  const i64 a = rest % across * SIDE;
  rest /= across;
  const i64 b = rest % down * SIDE;
  rest /= down;
#pragma unroll
  for (int d = 0; d < 8; ++d) {
    if (d == g.dims) break;
    const i64 digit = rest % g.size[d];
    rest /= g.size[d];
    out += digit * g.out[d];
    src += digit * g.src[d];
  }
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int r = 0; r < SIDE / 8; ++r) {
#pragma unroll
    for (int c = lane * V; c < SIDE; c += 32 * V) {
      const int row = warp + 8 * r;
      if (b + row < g.b && a + c < g.a)
        *reinterpret_cast<Load*>(&tile[row][c]) = *reinterpret_cast<const Load*>(src + (b + row) * g.src_b + a + c);
    }
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < SIDE / 8; ++r) {
#pragma unroll
    for (int c = lane * V; c < SIDE; c += 32 * V) {
      const int row = warp + 8 * r;
      if (a + row >= g.a || b + c >= g.b) continue;
      Load pack;
#pragma unroll
      for (int k = 0; k < V; ++k) pack.v[k] = tile[c + k][row];
      *reinterpret_cast<Load*>(out + (a + row) * g.out_a + b + c) = pack;
    }
  }
}
