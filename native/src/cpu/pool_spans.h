#pragma once
// Where the windows of a pool lie along a dim, and pools of images in channels last by them (pooling_lines.cpp).
#include <type_traits>
#include <vector>

#include "core/tensor.h"
#include "cpu/types.h"

namespace shim {

// Places [first, last) of the input, `step` apart, and how many a mean is of.
struct BoxSpan {
  int64_t first, last, counted;
};
using Spans = std::vector<BoxSpan>;

// Indices while maxima are looked for: as wide as the numbers, so that vectors of both have as many elements.
template <class T> using PlaceIn = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

// `many` windows over `size` places with padding before the first and after the last.
Spans spans_of_windows(
    int64_t size, int64_t many, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool include_pad);
// `many` parts of `size` places.
Spans spans_of_parts(int64_t size, int64_t many);

// Of images of float32 or float64 that lie in channels last, as the results do (`lies_in_lines`).
// The maxima over all pairs of a row's and a column's span, and their flat places in height and width (int64).
Tensor max_of_lines(const Tensor& x, const Spans& rows, const Spans& cols, const int64_t (&step)[2], Tensor* indices);
// The means; divisor 0: of as many as the spans count.
Tensor mean_of_lines(const Tensor& x, const Spans& rows, const Spans& cols, int64_t divisor);
// The gradient of the means by an image of `height` and `width`.
Tensor mean_of_lines_backward(
    const Tensor& g, const Spans& rows, const Spans& cols, int64_t divisor, int64_t height, int64_t width);

}  // namespace shim
