#pragma once
#include "core/tensor.h"

namespace shim {

bool dense(const TensorImpl&);  // whether it is a permutation of a contiguous tensor

}  // namespace shim
