#pragma once
// What convolutions, pools and resampling on CUDA read of their arguments.
#include "cuda/images.h"
#include "ops/kernel.h"

namespace shim::cuda {

constexpr int64_t kMostSide = int64_t(1) << 30;

// n numbers, or one for all of n dims; false where one is below `least` or not below kMostSide.
bool numbers_of(IntArrayRef given, int n, int64_t least, Dims* to);
Tensor in_format_of(const Tensor& t, const Tensor& like);  // t in the memory format that `like` suggests
// (planes, depth, height, width) of an input whose last n dims are pooled; null where it has no dims for that.
Tensor as_planes(const Tensor& x, int n, Sides*);
// (batch, 1, height, width, channels) of images with channels last; null where x lies otherwise.
Tensor as_planes_of_channels(const Tensor& x, int n, Sides*);
// A result of planes, or of these, with the input's leading dims, in its memory format.
Outcome<Tensor> planes_back(Outcome<Tensor> out, const Tensor& x, int n);

}  // namespace shim::cuda
