#pragma once
// layer_norm and rms_norm of CUDA tensors, of which nothing is kept.
#include "ops/kernel.h"

namespace shim::cuda {

// Over the last dims, which are `shape`; weight and bias of that shape and input's dtype.
Outcome<Tensor> layer_norm(const Tensor& input, IntArrayRef shape, const OptionalTensor& weight,
    const OptionalTensor& bias, double eps, Ignored cudnn_enable);
Outcome<Tensor> rms_norm(
    const Tensor& input, IntArrayRef shape, const OptionalTensor& weight, std::optional<double> eps);

}  // namespace shim::cuda
