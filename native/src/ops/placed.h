#pragma once
#include "ops/cuda_kernels.h"

namespace shim {

// Where a tensor asked for on `d` really is: "cuda" is the current GPU, "cpu:0" the CPU.
inline Device placed(Device d) {
  if (d.is_cuda()) return d.index < 0 ? Device{d.type, int8_t(cuda::current_device())} : d;
  return Device{d.type, -1};
}

}  // namespace shim
