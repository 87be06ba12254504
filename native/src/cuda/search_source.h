#pragma once
// CUDA C++ of places in sorted sequences and of numbers made from their places, compiled by NVRTC after types_source.h with macros:
//   ELEMENT the element type, OUT the places' type; MAKES 1 for numbers made, 0 the search.
namespace shim::cuda {

inline constexpr const char* kSearchSource = R"cuda(
typedef ELEMENT T;
#if MAKES
// out[i] = from start to end in equal steps, from both ends to the middle.
extern "C" __global__ void __launch_bounds__(256) spaced(T* out, i64 n, T start, T end, T step) {
  const i64 i = i64(blockIdx.x) * 256 + threadIdx.x;
  if (i < n) out[i] = i < n / 2 ? start + step * T(i) : end - step * T(n - 1 - i);
}
#else
typedef typename pick<is_narrow<T>, float, T>::type Compared;
template <class X> __device__ inline Compared wide(X x) { return cast<Compared>(x); }
// out[i] = how many of a sequence of `n` come before values[i] (with `right`: or are equal to it): of the one sequence, or the row's where
// values are rows of `per_row`. Not "comes before" but "does not come after": so no number is last, as PyTorch has it.
extern "C" __global__ void __launch_bounds__(256) search(const T* sequences, const T* values, const i64* order, OUT* out, i64 total, i64 n, i64 per_row, int right) {
  for (i64 i = i64(blockIdx.x) * 256 + threadIdx.x; i < total; i += i64(gridDim.x) * 256) {
    const i64 begin = per_row ? i / per_row * n : 0;
    const Compared value = wide(values[i]);
    i64 low = 0, high = n;
    while (low < high) {
      const i64 middle = low + (high - low) / 2;
      const Compared there = wide(sequences[begin + (order ? order[begin + middle] : middle)]);
      if (right ? !(there > value) : !(there >= value)) low = middle + 1; else high = middle;
    }
    out[i] = OUT(low);
  }
}
#endif
)cuda";

// Index pairs of a triangle, row by row: OUT their type.
inline constexpr const char* kTriangleSource = R"cuda(
// How many columns, below and on the diagonal, the rows before `row` have among `cols`.
__device__ inline i64 below(i64 row, i64 cols, i64 diagonal) {
  const i64 first = diagonal < 0 ? -diagonal : 0, full = cols - 1 - diagonal > first ? cols - 1 - diagonal : first;
  if (row <= first) return 0;
  const i64 grown = (row < full ? row : full) - first, least = first + diagonal + 1 < cols ? first + diagonal + 1 : cols;
  return grown * least + grown * (grown - 1) / 2 + (row > full ? (row - full) * cols : 0);
}
__device__ inline i64 before(i64 row, i64 cols, i64 diagonal, int upper) { return upper ? row * cols - below(row, cols, diagonal - 1) : below(row, cols, diagonal); }
extern "C" __global__ void __launch_bounds__(256) triangle_indices(OUT* out, i64 total, i64 rows, i64 cols, i64 diagonal, int upper) {
  for (i64 k = i64(blockIdx.x) * 256 + threadIdx.x; k < total; k += i64(gridDim.x) * 256) {
    i64 low = 0, high = rows;                   // the last row that begins at k or before
    while (high - low > 1) {
      const i64 middle = low + (high - low) / 2;
      if (before(middle, cols, diagonal, upper) <= k) low = middle; else high = middle;
    }
    const i64 start = low + diagonal, first = !upper || start < 0 ? 0 : start < cols ? start : cols;
    out[k] = OUT(low);
    out[total + k] = OUT(first + k - before(low, cols, diagonal, upper));
  }
}
)cuda";

}  // namespace shim::cuda
