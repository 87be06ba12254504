#pragma once
// Fourier transforms of CUDA tensors by cuFFT, found when first needed: of the last dims, one to three, float32, float64 and complex
// numbers of these. `normalization` is PyTorch's: 0 none, 1 by the root of the number of elements, 2 by that number.
#include "ops/kernel.h"

namespace shim::cuda {

Outcome<Tensor> fft_c2c(const Tensor& self, IntArrayRef dims, int64_t normalization, bool forward);
Outcome<Tensor> fft_r2c(const Tensor& self, IntArrayRef dims, int64_t normalization, bool onesided);
Outcome<Tensor> fft_c2r(const Tensor& self, IntArrayRef dims, int64_t normalization, int64_t last_dim_size);

}  // namespace shim::cuda
