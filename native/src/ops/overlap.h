#pragma once
// Memory that an operator writes to and reads at once: PyTorch's errors, before anything is written.
#include "core/tensor.h"
#include "ops/operator.h"

namespace shim {

void check_own_places(const TensorImpl& target, const Operator&);  // of an expanded tensor several elements share one
// `read`: another argument of the call.
void check_overlap(const TensorImpl& target, const TensorImpl& read, const Operator&);

}  // namespace shim
