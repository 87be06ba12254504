// Kernels on CUDA that only move elements.
#include "cuda/gather.h"
#include "cuda/pad.h"
#include "cuda/rearrange.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {

void register_cuda_moves() {
  register_kernel<&cuda::flip, kCuda>("flip");
  register_kernel<&cuda::roll, kCuda>("roll");
  register_kernel<&cuda::circular_pad, kCuda>("circular_pad");
  register_kernel<&cuda::rot90, kCuda>("rot90");
  register_kernel<&cuda::take, kCuda>("take");
  register_kernel<&cuda::diag_embed, kCuda>("diag_embed");
}

}  // namespace shim
