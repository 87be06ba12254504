#pragma once
// searchsorted, one_hot, bincount, histc, repeat_interleave, equal, isclose and isin. Null where there is no kernel for the dtypes or the
// arguments are wrong: the record's body then runs, or raises the error.
#include "core/tensor.h"

namespace shim {

// For each value the first index in an ascending sequence whose element is not below it (`right`: is above it). The sequence is one row,
// or has a row for each row of values.
Tensor searchsorted(const Tensor& sequence, const Tensor& values, bool right, bool narrow);
Tensor one_hot(const Tensor& classes, int64_t count);  // count -1: as many as there are
Tensor bincount(const Tensor& self, int64_t least);    // of a 1-d tensor of integers, none below 0
Tensor histc(const Tensor& self, int64_t bins, double low,
    double high);  // of as many bins of one width; low = high: between its extremes
Tensor repeat_interleave(const Tensor& self, int64_t times, int64_t dim);  // each slice along dim repeated `times`
int equal(const Tensor& a, const Tensor& b);                               // of one shape and dtype; -1: no kernel
// |a - b| <= absolute + |relative b|, or equal; of contiguous ones of one shape.
Tensor isclose(const Tensor& a, const Tensor& b, double relative, double absolute, bool equal_nan);
Tensor isin(const Tensor& self, const Tensor& others, bool invert);

}  // namespace shim
