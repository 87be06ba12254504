#pragma once
// Values looked up, counted and repeated. Null where there is no kernel for the dtypes, or the arguments are for the record to refuse.
#include "core/tensor.h"

namespace shim {

// For each value the first place in an ascending sequence that is not below it (`right`: that is above it). The sequence is one row, or
// one a row of values.
Tensor search_sorted(const Tensor& sequence, const Tensor& values, bool right, bool narrow);
Tensor one_hot(const Tensor& classes, int64_t count);  // count -1: as many as there are
Tensor bincount(const Tensor& self, int64_t least);    // of a row of whole numbers, none below 0
Tensor histogram(const Tensor& self, int64_t bins, double low,
    double high);  // of as many bins of one width; low = high: between its extremes
Tensor repeat_each(const Tensor& self, int64_t times, int64_t dim);  // each slice along dim, `times` in a row
int all_equal(const Tensor& a, const Tensor& b);                     // of one shape and dtype; -1: no kernel
// |a - b| <= absolute + |relative b|, or equal; of contiguous ones of one shape.
Tensor is_close(const Tensor& a, const Tensor& b, double relative, double absolute, bool equal_nan);
Tensor is_among(const Tensor& self, const Tensor& others, bool invert);

}  // namespace shim
