#pragma once
// Operators that move elements by their places, of tensors of any device with memory.
#include "ops/kernel.h"

namespace shim {

// The dims from the slowest to the fastest in memory of a tensor in channels last, with the channels at the end; else none.
Dims channels_last_order(const TensorImpl&);
Dims inverse_permutation(IntArrayRef order);
// Marks dims in an array of kMaxDims; false where the record has to say what is wrong with them.
bool mark_dims(IntArrayRef dims, const TensorImpl& self, bool* marked);

// Two parts of each dim change places; of no dims, the two parts of all elements in a row.
Outcome<Tensor> roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims);

}  // namespace shim
