#pragma once
// Products of complex matrices on CUDA.
#include "core/sparse.h"
#include "core/tensor.h"

namespace shim::gemm {

bool complex_on_cuda(const TensorImpl&);  // whether there are products of such
// Null: operands of another kind, or no kernel.
Tensor complex_matmul(const Tensor& a, const Tensor& b);                             // any dimensions, as torch.matmul
Tensor complex_weight_gradient(const Tensor& dy, const Tensor& x, bool transposed);  // as linear_backward_weight

}  // namespace shim::gemm
