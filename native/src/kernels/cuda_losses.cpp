// Kernels on CUDA of losses and of embedding_bag.
#include "cuda/class_loss.h"
#include "cuda/ctc_loss.h"
#include "cuda/embedding_bag.h"
#include "cuda/pointwise_loss.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {

void register_cuda_losses() {
  register_kernel<&cuda::ctc_loss, kCuda>("ctc_alignments");
  register_kernel<&cuda::ctc_loss_backward, kCuda>("ctc_alignments_backward");
  register_kernel<&cuda::embedding_bags, kCuda>("embedding_bags");
  register_kernel<&cuda::embedding_bags_backward, kCuda>("embedding_bags_backward");
  register_kernel<&cuda::embedding_bags_samples, kCuda>("embedding_bags_samples");
  register_kernel<&cuda::nll_loss, kCuda>("nll_loss");
  register_kernel<&cuda::nll_loss_nd, kCudaWithoutHistory>("nll_loss_whole");
  register_kernel<&cuda::nll_loss_backward, kCuda>("nll_loss_class_backward");
  register_kernel<&cuda::margin_loss, kCuda>("multi_margin_loss_class");
  register_kernel<&cuda::margin_loss_backward, kCuda>("multi_margin_loss_class_backward");
  register_kernel<&cuda::multilabel_loss, kCuda>("multilabel_margin_loss_class");
  register_kernel<&cuda::multilabel_loss_backward, kCuda>("multilabel_margin_loss_class_backward");
  register_kernel<&cuda::pointwise_loss, kCuda>("pointwise_loss");
  register_kernel<&cuda::pointwise_loss_backward, kCuda>("pointwise_loss_backward");
}

}  // namespace shim
