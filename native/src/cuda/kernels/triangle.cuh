#pragma once
// Index pairs of a triangle, row by row: OUT their type.
#include "cuda/kernels/types.cuh"

// How many columns, below and on the diagonal, the rows before `row` have among `cols`.
__device__ inline i64 below(i64 row, i64 cols, i64 diagonal) {
  const i64 first = diagonal < 0 ? -diagonal : 0, full = cols - 1 - diagonal > first ? cols - 1 - diagonal : first;
  if (row <= first) return 0;
  const i64 grown = (row < full ? row : full) - first,
            least = first + diagonal + 1 < cols ? first + diagonal + 1 : cols;
  return grown * least + grown * (grown - 1) / 2 + (row > full ? (row - full) * cols : 0);
}
__device__ inline i64 before(i64 row, i64 cols, i64 diagonal, int upper) {
  return upper ? row * cols - below(row, cols, diagonal - 1) : below(row, cols, diagonal);
}
extern "C" __global__ void __launch_bounds__(256)
    triangle_indices(OUT* out, i64 total, i64 rows, i64 cols, i64 diagonal, int upper) {
  for (i64 k = i64(blockIdx.x) * 256 + threadIdx.x; k < total; k += i64(gridDim.x) * 256) {
    i64 low = 0, high = rows;  // the last row that begins at k or before
    while (high - low > 1) {
      const i64 middle = low + (high - low) / 2;
      if (before(middle, cols, diagonal, upper) <= k)
        low = middle;
      else
        high = middle;
    }
    const i64 start = low + diagonal, first = !upper || start < 0 ? 0 : start < cols ? start : cols;
    out[k] = OUT(low);
    out[total + k] = OUT(first + k - before(low, cols, diagonal, upper));
  }
}
