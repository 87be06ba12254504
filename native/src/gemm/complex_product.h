#pragma once
// Products of complex matrices on CUDA.
#include "core/sparse.h"
#include "core/tensor.h"

namespace shim::gemm {

bool complex_on_cuda(const TensorImpl&);                  // whether there are products of such
Tensor complex_matmul(const Tensor& a, const Tensor& b);  // any dimensions, as torch.matmul; null: no kernel

}  // namespace shim::gemm
