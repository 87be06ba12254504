#pragma once
// Running a pointwise kernel: dtypes from the operator's rule, result allocated, any strides.
#include "cpu/kernel_table.h"
#include "ops/kernels.h"

namespace shim {

Scalar rounded(Scalar, DType);  // to a dtype of 16 bits; other dtypes leave the number as it is

// Whether an input overlaps the output other than element by element: it is to be copied first.
bool clashes(const TensorImpl& out, const TensorImpl& in);

// Null when a dtype or device has no kernel here. `out` is written in place of a new tensor; it must have the result's shape
// and a dtype that the result can be cast to.
Tensor run_unary(const PointwiseOp&, const Tensor& self, Tensor out = {});
Tensor run_binary(const PointwiseOp&, const TensorOrScalar& a, const TensorOrScalar& b, Tensor out = {});
Tensor run_add(const TensorOrScalar& a, const TensorOrScalar& b, Scalar alpha, bool subtract, Tensor out = {});
Tensor run_where(const Tensor& condition, const TensorOrScalar& a, const TensorOrScalar& b);
Tensor run_clamp(const Tensor& self, const Scalar* least, const Scalar* most);  // null: no bound on that side

}  // namespace shim
