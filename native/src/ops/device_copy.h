#pragma once
#include "core/tensor.h"

namespace shim {

// Copies between two tensors of one CUDA device where the driver's byte copy does not do: strided, or of different dtypes.
// Set when a backend that can do it is there (bind_kernels.cpp); null otherwise.
extern void (*copy_on_device)(const Tensor& self, const Tensor& src);

}  // namespace shim
