#pragma once
// Convolutions on CUDA, by cuDNN or by a kernel of our own: of real floats with elements.
#include "ops/kernel.h"

namespace shim::cuda {

Outcome<Tensor> convolution(const Tensor& x, const Tensor& weight, const OptionalTensor& bias, IntArrayRef stride,
    IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups);
// The gradient of the weight, whose dims after the channels are `kernel`.
Outcome<Tensor> convolution_weight(const Tensor& x, const Tensor& g, IntArrayRef kernel, IntArrayRef stride,
    IntArrayRef padding, IntArrayRef dilation, int64_t groups);

}  // namespace shim::cuda
