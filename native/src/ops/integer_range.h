#pragma once
// arange over ints: what its kernels of every device make of the arguments.
#include "ops/kernel.h"

namespace shim {

struct IntegerRange {
  int64_t start = 0, step = 1, size = 0;
  DType dtype = DType::i64;
};

constexpr int64_t kIntsOfDoubles = int64_t(1) << 53;  // of a smaller size each is a double
inline bool fits_double(int64_t i) { return i < kIntsOfDoubles && i > -kIntsOfDoubles; }

inline Outcome<IntegerRange> integer_range(
    const IntOrFloat& start, const IntOrFloat& end, const IntOrFloat& step, std::optional<DType> dtype) {
  if (start.floating || end.floating || step.floating) return NotMine{"a range over floats"};
  if (!fits_double(start.i) || !fits_double(end.i) || !fits_double(step.i))
    return NotMine{"an integer that no double holds"};
  if (step.i == 0 || (step.i > 0 ? end.i < start.i : end.i > start.i))
    return NotMine{"a step away from the end, which PyTorch refuses"};
  const DType t = dtype.value_or(DType::i64);
  if (t != DType::i64 && t != DType::i32 && t != DType::f32 && t != DType::f64)
    return NotMine{"a range in another dtype than int32, int64, float32 and float64"};
  const int64_t size = step.i > 0 ? (end.i - start.i + step.i - 1) / step.i : (start.i - end.i - step.i - 1) / -step.i;
  return IntegerRange{start.i, step.i, size, t};
}

}  // namespace shim
