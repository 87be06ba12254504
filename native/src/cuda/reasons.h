#pragma once
// Why kernels on CUDA leave calls to operators' bodies, where many have the same reason.
#include <initializer_list>

#include "ops/kernel.h"

namespace shim::cuda {

inline constexpr NotMine kNoCompiler{"no NVRTC"}, kNotCompiled{"a kernel that could not be compiled"},
    kOtherDtype{"a dtype without a CUDA kernel"}, kMixedDtypes{"tensors of several dtypes"},
    kStrided{"a strided tensor"}, kTooManyDims{"more dims than a kernel walks"},
    kMixedDevices{"tensors of several devices"}, kNoElements{"no elements"},
    kTooMany{"more elements than a kernel counts"}, kOtherSizes{"sizes that the kernel does not take"};

// Why kernels of real floats, with elements and no bits that negate or conjugate them, do not take these; null where they
// do. Null tensors are absent.
const char* not_floats(std::initializer_list<const Tensor*> tensors);

}  // namespace shim::cuda
