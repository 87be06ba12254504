#pragma once
// Index pairs of a triangle, row by row, and ones on a diagonal: OUT the elements' type.
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
    out[k] = cast<OUT>(low);
    out[total + k] = cast<OUT>(first + k - before(low, cols, diagonal, upper));
  }
}

constexpr int kPack = 16 / sizeof(OUT);
typedef Pack<OUT, kPack> Load;
// out[i, c] = whether class i is c, two to `kPack` elements at once.
extern "C" __global__ void __launch_bounds__(256) one_hot(const i64* classes, OUT* out, i64 total, i64 count) {
  for (i64 first = (i64(blockIdx.x) * 256 + threadIdx.x) * kPack; first < total;
      first += i64(gridDim.x) * 256 * kPack) {
    i64 row = total >> 32 ? first / count : i64(u32(first) / u32(count)), c = first - row * count;
    i64 own = classes[row];
    Load pack;
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      pack.v[k] = cast<OUT>(own == c ? 1 : 0);
      if (++c == count && k + 1 < kPack && first + k + 1 < total) c = 0, own = classes[++row];
    }
    if (first + kPack <= total)
      *reinterpret_cast<Load*>(out + first) = pack;
    else
      for (int k = 0; k < kPack; ++k)
        if (first + k < total) out[first + k] = pack.v[k];
  }
}
// A matrix of rows of `cols`: ones are every cols + 1 elements, `least` of them, the rest zeros. `out` is aligned to a pack.
extern "C" __global__ void __launch_bounds__(256) identity(OUT* out, i64 total, i64 cols, i64 least) {
  const i64 first = (i64(blockIdx.x) * 256 + threadIdx.x) * kPack;
  if (first >= total) return;
  const i64 period = cols + 1;
  i64 row = total >> 32 ? first / period : i64(u32(first) / u32(period)), past = first - row * period;
  Load pack;
#pragma unroll
  for (int k = 0; k < kPack; ++k) {
    pack.v[k] = cast<OUT>(past == 0 && row < least ? 1 : 0);
    if (++past == period) past = 0, ++row;
  }
  if (first + kPack <= total)
    *reinterpret_cast<Load*>(out + first) = pack;
  else
    for (int k = 0; k < kPack; ++k)
      if (first + k < total) out[first + k] = pack.v[k];
}
