#pragma once
#include "core/tensor.h"
#include "ops/kernels.h"

namespace shim {

// copy_ and fill_ for tensors of which one is not in the CPU's memory. The definitions lie in cuda/copy.cpp.
void copy_across(const Tensor& self, const Tensor& src, bool non_blocking);  // of equal shape
bool fill_on_device(
    const Tensor& self, Scalar value);  // by the driver's memset; false where it cannot, nothing was written

// Copies between two tensors of one CUDA device where the driver's byte copy does not do: strided, or of different dtypes.
// Set when a backend that can do it is there (bind_kernels.cpp); null otherwise.
extern void (*copy_on_device)(const Tensor& self, const Tensor& src);

}  // namespace shim
