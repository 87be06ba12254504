// Kernels of norms, softmax's gradient and losses: of operators in records/nn and shim.
#include "cpu/ctc_loss.h"
#include "cpu/losses.h"
#include "cpu/row_gradients.h"
#include "cuda/layer_norm.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {

void register_layer_kernels() {
  register_kernel<&layer_norm, kCpuWithoutHistory>("layer_norm");
  register_kernel<&cuda::layer_norm, kCudaWithoutHistory>("layer_norm");
  register_kernel<&rms_norm, kCpuWithoutHistory>("rms_norm");
  register_kernel<&cuda::rms_norm, kCudaWithoutHistory>("rms_norm");
  register_kernel<&norm, kCpu>("norm");
  register_kernel<&norm_backward, kCpu>("norm_backward");
  register_kernel<&softmax_backward, kCpu>("softmax_backward");
  register_kernel<&cross_entropy, kCpu>("cross_entropy");
  register_kernel<&cross_entropy_backward, kCpu>("cross_entropy_backward");
  register_kernel<&cross_entropy_loss, kCpuWithoutHistory>("cross_entropy_loss");
  register_kernel<&nll_loss, kCpuWithoutHistory>("nll_loss_whole");
  register_kernel<&binary_cross_entropy_each, kCpu>("bce_each");
  register_kernel<&ctc_loss, kCpu>("ctc_alignments");
  register_kernel<&ctc_loss_backward, kCpu>("ctc_alignments_backward");
  for (const char* name : {"squared_error", "absolute_error", "smooth_l1", "huber"}) {
    const PointwiseFormula* formula = pointwise_formula(name);
    const std::string loss = std::string(name) + "_loss";
    register_kernel<&formula_loss, kCpuWithoutHistory>(loss.c_str(), formula);
    register_kernel<&formula_loss_with_number, kCpuWithoutHistory>(loss.c_str(), formula);
  }
}

}  // namespace shim
