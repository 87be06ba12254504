#pragma once
// Pools over windows of images, and norms over the channels of a batch.
#include "cpu/convolution.h"

namespace shim {

// Maxima of (planes, height, width) float32 or float64, and the flat places they come from in their planes. Not-a-number beats all.
Tensor max_pool(const Tensor& x, const Window&, int64_t height, int64_t width, Tensor* indices);
// Means over windows; padding counts where `include_pad`, and `divisor` is what sums are divided by unless it is 0.
Tensor mean_pool(const Tensor& x, const Window&, int64_t height, int64_t width, bool include_pad, int64_t divisor);
Tensor mean_pool_backward(
    const Tensor& g, const Window&, int64_t height, int64_t width, bool include_pad, int64_t divisor);

// The same over boxes of volumes (planes, depth, height, width): for each dim, where every window lies in the input.
struct BoxSpan {
  int64_t first, last, counted;
};  // `counted`: how many places a mean is of
using Spans = std::vector<BoxSpan>;
Tensor box_max(const Tensor& x, const Spans (&spans)[3], const int64_t (&step)[3], Tensor* indices);
Tensor box_mean(const Tensor& x, const Spans (&spans)[3], int64_t divisor);  // divisor 0: what each span counts

// (batch, channels, ...) by each channel's mean and variance: the given ones, or the batch's where `mean` and `variance` are null,
// which then get them. Times weight plus bias, which may be null.
Tensor channel_norm(
    const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, Tensor* mean, Tensor* variance);
struct ChannelGradients {
  Tensor input, weight, bias;
};
ChannelGradients channel_norm_backward(const Tensor& g, const Tensor& x, const Tensor& weight, const Tensor& mean,
    const Tensor& variance, double eps, bool of_batch);

}  // namespace shim
