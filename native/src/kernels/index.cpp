// Kernels of the operators in records/index.
#include "cpu/sorting.h"
#include "cuda/sort.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {

void register_index_kernels() {
  register_kernel<&sort, kCpu>("sort");
  register_kernel<&cuda::sort, kCuda>("sort");
  register_kernel<[](const Tensor& self, Ignored, int64_t dim, bool down) { return sort(self, dim, down); }, kCpu>(
      "sort");
  register_kernel<[](const Tensor& self, Ignored, int64_t dim, bool down) { return cuda::sort(self, dim, down); },
      kCuda>("sort");
  register_kernel<&top_k, kCpu>("topk");
  register_kernel<&cuda::top_k, kCuda>("topk");
  register_kernel<&kthvalue, kCpu>("kthvalue");
  register_kernel<&median, kCpu>("median");
  register_kernel<&median_dim, kCpu>("median");
}

}  // namespace shim
