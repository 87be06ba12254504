#pragma once
// What of tensors NumPy's arrays can be, and the reverse.
#include "core/tensor.h"

namespace shim {

bool of_ml_dtypes(DType);    // a dtype that NumPy has by the package ml_dtypes
char array_kind(DType);      // NumPy's letter for its own; 0: it has none such
DType computed_in(DType);    // low precision is computed one step up and rounded once, at the end
char kind_of_number(DType);  // b, c, f or i

void check_lends_array(const TensorImpl&);  // TypeError or RuntimeError where no array can be over its memory
// Of an array's strides in bytes. ValueError where a tensor cannot have them.
Dims strides_in_elements(IntArrayRef sizes, IntArrayRef bytes, DType);

}  // namespace shim
