#pragma once
// searchsorted, bucketize, one_hot, bincount, histc, repeat_interleave and isin of CPU tensors.
#include "ops/kernel.h"

namespace shim {

// For each value of `self` the first index in an ascending sequence whose element is not below it (`right`: is above it). The sequence is
// one row, or has a row for each row of values.
Outcome<Tensor> searchsorted(const Tensor& sequence, const Tensor& self, bool out_int32, bool right,
    std::optional<std::string_view> side, const OptionalTensor& sorter);
Outcome<Tensor> bucketize(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right);
Outcome<Tensor> one_hot(const Tensor& classes, int64_t count);  // count -1: as many as there are
// Of a 1-d tensor of integers, none below 0: at least so many counts.
Outcome<Tensor> bincount(const Tensor& self, const OptionalTensor& weights, int64_t least);
// Of as many bins of one width; low = high: between its extremes.
Outcome<Tensor> histc(const Tensor& self, int64_t bins, double low, double high);
// Each slice along dim, or each element, repeated `times`.
Outcome<Tensor> repeat_interleave(
    const Tensor& given, int64_t times, std::optional<int64_t> dim, std::optional<int64_t> output_size);
Outcome<Tensor> isin(const Tensor& self, const Tensor& others, Ignored assume_unique, bool invert);

}  // namespace shim
