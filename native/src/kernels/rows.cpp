// Kernels over rows and masks: of operators in records/index, shape, pointwise and linalg.
#include "cpu/clamp.h"
#include "cpu/comparison.h"
#include "cpu/flip_tril.h"
#include "cpu/lookup.h"
#include "cpu/mode.h"
#include "cpu/reduce.h"
#include "cpu/vector_product.h"
#include "cuda/kthvalue.h"
#include "kernels/call.h"
#include "kernels/registry.h"
#include "kernels/option_parameters.h"

namespace shim {

void register_row_kernels() {
  register_kernel<&cuda::kthvalue, kCuda>("kthvalue");
  register_kernel<&cuda::nanmedian_dim, kCuda>("nanmedian");
  register_kernel<&mode, kCpu>("mode");
  register_kernel<&cuda::mode, kCuda>("mode");
  register_kernel<&one_hot, kCpu>("one_hot");
  register_kernel<&repeat_interleave, kCpuWithoutHistory>("repeat_interleave");
  register_kernel<&isin, kCpu>("isin");
  register_kernel<&isclose, kCpu>("isclose");
  register_kernel<&equal, kCpu>("equal");
  register_kernel<&diagonal_sum, kCpuWithoutHistory>("trace");
  register_kernel<&vector_product, kCpu>("vector_product");
  register_kernel<&vector_product, kCpuWithoutHistory>("vector_product_whole");
  register_kernel<&clamp_min_tensor, kCpu>("clamp_min_tensor");
  register_kernel<&clamp_max_tensor, kCpu>("clamp_max_tensor");
  register_kernel<&clamp_tensors, kCpu>("clamp_tensors");
  register_kernel<&masked_fill, kCpu>("masked_fill");
  register_kernel<&masked_fill_, kCpu>("masked_fill_");
  register_kernel<&masked_scale, kCpu>("masked_scale");
  register_kernel<&tril, kCpu>("tril");
  register_kernel<&triu, kCpu>("triu");
  register_kernel<&tril_indices, kCpu>("tril_indices");
  register_kernel<&triu_indices, kCpu>("triu_indices");
  register_kernel<&diag_embed, kCpu>("diag_embed");
  register_kernel<&complex, kCpu>("complex");
}

}  // namespace shim
