#pragma once
// Pools over windows of lines, images and volumes, and norms over the channels of a batch, of real floats; float16 and bfloat16 are computed
// in float32. Settings are one number or one a dim, as the operators' are; a stride of none is the kernel's.
#include "ops/kernel.h"

namespace shim {

// Of lines and images (n: 1 or 2): maxima, and the flat places they come from in their planes (int64). Not-a-number beats all.
template <int n>
Outcome<ValuesAndIndices> max_pool_with_indices(const Tensor& self, IntArrayRef kernel, IntArrayRef stride,
    IntArrayRef padding, IntArrayRef dilation, bool ceil_mode);
// Means over windows; padding counts where `include_pad`, and `divisor` is what sums are divided by unless it is 0.
template <int n>
Outcome<Tensor> mean_pool(const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
    bool ceil_mode, bool include_pad, int64_t divisor);
// `size`: the input's height and width.
Outcome<Tensor> mean_pool_backward(const Tensor& grad_output, IntArrayRef size, IntArrayRef kernel, IntArrayRef stride,
    IntArrayRef padding, bool include_pad, int64_t divisor);

// The same of volumes (pool_nd.cpp).
Outcome<ValuesAndIndices> max_pool3d_with_indices(const Tensor& self, IntArrayRef kernel, IntArrayRef stride,
    IntArrayRef padding, IntArrayRef dilation, bool ceil_mode);
Outcome<Tensor> mean_pool3d(const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
    bool ceil_mode, bool include_pad, int64_t divisor);

// Over as many parts of each of the last n dims as `output_size` says (pool_nd.cpp).
template <int n> Outcome<ValuesAndIndices> adaptive_max_pool(const Tensor& self, IntArrayRef output_size);
template <int n> Outcome<Tensor> adaptive_avg_pool(const Tensor& self, IntArrayRef output_size);

// (batch, channels, ...) by each channel's mean and variance: the given ones, or the batch's where there are none. Times weight plus bias.
// The result, the mean and the variance; given ones come back as copies: what a node keeps is not what the next batch moves.
Outcome<std::tuple<Tensor, Tensor, Tensor>> channel_norm(const Tensor& x, const OptionalTensor& weight,
    const OptionalTensor& bias, const OptionalTensor& mean, const OptionalTensor& variance, bool of_batch, double eps);
// The gradients of x, the weight and the bias.
Outcome<std::tuple<Tensor, Tensor, Tensor>> channel_norm_backward(const Tensor& g, const Tensor& x,
    const OptionalTensor& weight, const Tensor& mean, const Tensor& variance, double eps, bool of_batch);

}  // namespace shim
