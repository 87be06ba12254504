#pragma once
// Convolutions of float32 and float64 images with one kernel a channel: vectors hold one place of neighbouring channels, so that borders,
// strides and dilations cost nothing and small images fill vectors as large ones do.
#include "cpu/convolution.h"

namespace shim {

// All give false, with nothing done, where the processor has no kernel or where other ways are as good: several channels a group, few
// channels, volumes. Operands as in convolution.h.
bool convolve_depthwise(
    const Tensor& x, const Tensor& w, const Tensor& bias, const Box&, int64_t groups, const Tensor& out);
bool convolve_transposed_depthwise(
    const Tensor& x, const Tensor& w, const Tensor& bias, const Box&, int64_t groups, const Tensor& out);
// False too where the result has an infinity or a NaN: zeros beside the image are multiplied.
bool convolution_weight_depthwise(const Tensor& x, const Tensor& g, const Box&, int64_t groups, const Tensor& out);

}  // namespace shim
