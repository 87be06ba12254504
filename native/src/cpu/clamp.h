#pragma once
// Clamps by tensors, masked fills and scales of CPU tensors.
#include "ops/kernel.h"

namespace shim {

// Of tensors of one floating dtype. Of three, either bound may be absent.
Outcome<Tensor> clamp_min_tensor(const Tensor& self, const Tensor& min);
Outcome<Tensor> clamp_max_tensor(const Tensor& self, const Tensor& max);
Outcome<Tensor> clamp_tensors(const Tensor& self, const OptionalTensor& min, const OptionalTensor& max);

// `self` where a bool mask is false, elsewhere a number that self's dtype holds.
Outcome<Tensor> masked_fill(const Tensor& self, const Tensor& mask, Scalar value);
Outcome<Tensor> masked_fill_(const Tensor& self, const Tensor& mask, Scalar value);
// self * scale where the mask, of self's shape, is not 0, elsewhere 0. Of floats.
Outcome<Tensor> masked_scale(const Tensor& self, const Tensor& mask, double scale);

}  // namespace shim
