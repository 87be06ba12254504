#pragma once
// Results on their way into tensors that the caller gave: out= and in-place operators.
#include <string>

#include "core/tensor.h"
#include "ops/operator.h"

namespace shim {

void write_result(const Tensor& target, const Tensor& result);  // copies, and counts a version
// What a functional operator gave for an in-place call: PyTorch's errors where self cannot hold it.
void check_inplace_result(const Operator& functional, const TensorImpl& result, const TensorImpl& self);

OutResize resized_by(const Operator& functional);  // factories resize their out silently
// `argument`: out's name; `any_dtype`: only that the result can be cast to out's is asked for.
void store_output(const Tensor& out, Tensor result, const Operator& functional, const std::string& argument,
    OutResize how = OutResize::warned, bool any_dtype = false);

}  // namespace shim
