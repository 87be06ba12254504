#pragma once
// Convolutions of float32 and float64 without matrices of windows: images are laid out once with their padding, a plane for each
// remainder by the strides, so that what a tap reads for neighbouring places are neighbours; sums stay in registers.
#include "cpu/convolution.h"

namespace shim {

// All give false, with nothing done, where the processor has no kernel or where products of matrices are as good: few channels or places.
// Operands as in convolution.h.
bool convolve_directly(
    const Tensor& x, const Tensor& w, const Tensor& bias, const Box&, int64_t groups, const Tensor& out);
bool convolve_transposed_directly(
    const Tensor& x, const Tensor& w, const Tensor& bias, const Box&, int64_t groups, const Tensor& out);
// False too where the result has an infinity or a NaN: what is laid beside images is multiplied by zeros.
bool convolution_weight_directly(const Tensor& x, const Tensor& g, const Box&, int64_t groups, const Tensor& out);

}  // namespace shim
