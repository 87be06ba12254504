#pragma once
// All gradients of a linear layer in one launch: blocks of dx, then of dw, then of db; a part that is not wanted has none.
#include "cuda/kernels/skinny_wide.cuh"

template <int ROWS>
__device__ inline void skinny_backward(const T* dy, long long ld_dy, const T* x, long long ldx, const T* w,
    long long ldw, T* dx, long long ld_dx, T* dw, long long ld_dw, T* db, Wide* partial, unsigned* counters, int rows,
    int n, int k, int dx_tiles, int dx_shares, int dw_tiles, int dw_shares, int dw_per, int add) {
  alignas(16) __shared__ A memory[Stage<ROWS>::SIZE];
  int block = blockIdx.x;
  if (block < dx_tiles * dx_shares) {
    skinny_input<ROWS>(dy, ld_dy, w, ldw, dx, ld_dx, partial, counters, rows, n, k, block % dx_tiles, block / dx_tiles,
        dx_shares, memory);
    return;
  }
  block -= dx_tiles * dx_shares;
  if (block < dw_tiles * dw_shares) {
    const int begin = block / dw_tiles * dw_per;
    skinny_weight<ROWS>(dy, ld_dy, x, ldx, dw, ld_dw, rows, k, block % dw_tiles, begin,
        begin + dw_per < n ? begin + dw_per : n, add, memory);
    return;
  }
  block -= dw_tiles * dw_shares;
  const int column = block * LANES * GROUPS + threadIdx.y * LANES + threadIdx.x;
  if (column >= n) return;
  A sum = A(0);
  for (int m = 0; m < rows; ++m) sum += get(dy[m * ld_dy + column]);
  db[column] = put(sum);
}

#define BACKWARD(name, count)                                                                                          \
  extern "C" __global__ void __launch_bounds__(256, 2)                                                                 \
      name(const T* dy, long long ld_dy, const T* x, long long ldx, const T* w, long long ldw, T* dx, long long ld_dx, \
          T* dw, long long ld_dw, T* db, Wide* partial, unsigned* counters, int rows, int n, int k, int dx_tiles,      \
          int dx_shares, int dw_tiles, int dw_shares, int dw_per, int add) {                                           \
    skinny_backward<count>(dy, ld_dy, x, ldx, w, ldw, dx, ld_dx, dw, ld_dw, db, partial, counters, rows, n, k,         \
        dx_tiles, dx_shares, dw_tiles, dw_shares, dw_per, add);                                                        \
  }

#if TYPE == 1 || TYPE == 2
#define FORWARD(name, tiles, halves)                                                                              \
  extern "C" __global__ void __launch_bounds__(256, 2) name(const T* x, long long ldx, const T* w, long long ldw, \
      const T* bias, T* y, long long ldy, int rows, int n, int k, int) {                                          \
    skinny_forward<tiles, halves>(x, ldx, w, ldw, bias, y, ldy, rows, n, k);                                      \
  }
FORWARD(skinny_8, 1, 1)
FORWARD(skinny_16, 1, 2)
FORWARD(skinny_8_tall, 2, 1)
FORWARD(skinny_16_tall, 2, 2)
BACKWARD(skinny_backward_8, 1)
BACKWARD(skinny_backward_16, 2)
#else
#define FORWARD(name, count)                                                                                      \
  extern "C" __global__ void __launch_bounds__(256, 2) name(const T* x, long long ldx, const T* w, long long ldw, \
      const T* bias, T* y, long long ldy, int rows, int n, int k, int splits) {                                   \
    skinny_forward<count>(x, ldx, w, ldw, bias, y, ldy, rows, n, k, splits);                                      \
  }
FORWARD(skinny_4, 4)
FORWARD(skinny_8, 8)
FORWARD(skinny_16, 16)
BACKWARD(skinny_backward_4, 4)
BACKWARD(skinny_backward_8, 8)
BACKWARD(skinny_backward_16, 16)
#endif
