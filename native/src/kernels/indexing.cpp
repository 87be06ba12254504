// Kernels of the operators that take elements by their indices: records/index, and embedding.
#include "cpu/index_operators.h"
#include "cuda/index_operators.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {

void register_indexing_kernels() {
  register_kernel<&index_select, kCpu>("index_select");
  register_kernel<&cuda::index_select, kCuda>("index_select");
  register_kernel<
      [](const Tensor& weight, const Tensor& indices, Ignored, Ignored) { return embedding(weight, indices); }, kCpu>(
      "_embedding");
  register_kernel<[](const Tensor& weight, const Tensor& indices, Ignored, Ignored) {
    return cuda::embedding(weight, indices);
  },
      kCuda>("_embedding");
  register_kernel<[](const Tensor& weight, const Tensor& indices, Ignored, Ignored, Ignored) {
    return embedding(weight, indices);
  },
      kCpuWithoutHistory>("embedding");
  register_kernel<[](const Tensor& weight, const Tensor& indices, Ignored, Ignored, Ignored) {
    return cuda::embedding(weight, indices);
  },
      kCudaWithoutHistory>("embedding");
  register_kernel<[](const Tensor& self, int64_t dim, const Tensor& index, Ignored) {
    return gather_operator(self, dim, index);
  },
      kCpu>("gather");
  register_kernel<[](const Tensor& self, int64_t dim, const Tensor& index, Ignored) {
    return cuda::gather_operator(self, dim, index);
  },
      kCuda>("gather");
  register_kernel<&index_operator, kCpuWithoutHistory>("index");
  register_kernel<&cuda::index_operator, kCudaWithoutHistory>("index");
  register_kernel<&index_at, kCpu>("_index_at");
  register_kernel<&cuda::index_at, kCuda>("_index_at");
  register_kernel<&masked_select, kCpuWithoutHistory>("masked_select");
  register_kernel<&cuda::masked_select, kCudaWithoutHistory>("masked_select");
  register_kernel<&nonzero_operator, kCpu>("_nonzero");
  register_kernel<&cuda::nonzero_operator, kCuda>("_nonzero");
}

}  // namespace shim
