#pragma once
// Discrete Fourier transforms of CPU tensors of 32- and 64-bit floats, over `dims`, of which the last one is halved where one side is
// real. `normalization` is PyTorch's: 0 none, 1 by the root of the number of elements, 2 by that number.
#include "ops/kernel.h"

namespace shim {

Outcome<Tensor> fft_c2c(const Tensor& self, IntArrayRef dims, int64_t normalization, bool forward);
Outcome<Tensor> fft_r2c(const Tensor& self, IntArrayRef dims, int64_t normalization, bool onesided);
Outcome<Tensor> fft_c2r(const Tensor& self, IntArrayRef dims, int64_t normalization, int64_t last_dim_size);

}  // namespace shim
