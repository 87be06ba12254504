#pragma once
// Pointwise operators, copies and casts on CUDA: one kernel an operator and its types, compiled when first needed.
#include <string>

#include "cpu/loops.h"
#include "cuda/driver.h"
#include "cuda/functors.h"
#include "ops/cuda_kernels.h"

namespace shim::cuda {

const char* element_type(DType);  // its name in our CUDA sources; null if it has none
const char* compute_type(DType);  // the name of the type it is computed in
bool copy_elementwise(
    const Tensor& self, const Tensor& src);                // on one device, any strides, any dtypes; shapes are equal
bool fill_elementwise(const Tensor& self, void* element);  // with one of its dtype; its math bits are not looked at
// What the compiler says of a kernel, empty when it compiles: needs NVRTC and no GPU.
std::string compile_elementwise(
    const char* op, DType in, DType result, DType out, int inputs, bool flat, int architecture);

}  // namespace shim::cuda
