#pragma once
// Fourier transforms by cuFFT, found when first needed.
#include "core/tensor.h"

namespace shim::cuda {

enum class Transform { complex, from_real, to_real };
// The transform of x's last `rank` dimensions (1 to 3), contiguous float32, float64 or complex ones of these; from_real gives the half that
// stands for all, to_real makes `size` numbers of the last dimension. Every number is multiplied by `scale`. Null where cuFFT is not there or
// does not take the problem.
Tensor fourier(Transform, const Tensor& x, int rank, bool forward, double scale, int64_t size);

}  // namespace shim::cuda
