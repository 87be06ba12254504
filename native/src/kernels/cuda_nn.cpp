// Kernels of CUDA tensors for the operators of neural networks: convolutions, norms, attention, recurrent steps, dropout,
// cross entropy; and of small matrices' decompositions.
#include "cuda/attention.h"
#include "cuda/channel_norm.h"
#include "cuda/convolution.h"
#include "cuda/decompositions.h"
#include "cuda/norm.h"
#include "cuda/random.h"
#include "cuda/recurrent.h"
#include "cuda/reduce.h"
#include "cuda/rows.h"
#include "cuda/score_loss.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {

void register_cuda_nn_kernels() {
  using namespace cuda;
  register_kernel<&convolution, kCuda>("convolution");
  register_kernel<&convolution_weight, kCuda>("_convolution_weight");
  register_kernel<&channel_norm, kCuda>("channel_norm");
  register_kernel<&channel_norm_backward, kCuda>("channel_norm_backward");
  register_kernel<&norm_forward, kCuda>("norm");
  register_kernel<&norm_backward, kCuda>("norm_backward");
  register_kernel<&attention, kCuda>("attention");
  register_kernel<&attention_backward, kCuda>("attention_backward");
  register_kernel<&cuda::cholesky, kCuda>("cholesky");
  register_kernel<&cuda::solve, kCuda>("solve");
  register_kernel<&cuda::inverse, kCuda>("inverse");
  register_kernel<&cuda::svd, kCuda>("svd");
  register_kernel<&lstm_step, kCuda>("lstm_step");
  register_kernel<&lstm_step_backward, kCuda>("lstm_step_backward");
  register_kernel<&gru_step, kCuda>("gru_step");
  register_kernel<&gru_step_backward, kCuda>("gru_step_backward");
  register_kernel<&dropout, kCuda>("cuda_dropout");
  register_kernel<&cuda::permutation, kCuda>("permutation");
  register_kernel<&cuda::bernoulli, kCuda>("bernoulli_at");
  register_kernel<&cuda::rrelu, kCuda>("rrelu_at");
  register_kernel<&safe_softmax, kCuda>("safe_softmax");
  register_kernel<&softmax_backward, kCuda>("softmax_backward");
  register_kernel<&cross_entropy, kCuda>("cross_entropy");
  register_kernel<&cross_entropy_backward, kCuda>("cross_entropy_backward");
  register_kernel<&cross_entropy_scores, kCuda>("cross_entropy_scores");
  register_kernel<&cross_entropy_scores_backward, kCuda>("cross_entropy_scores_backward");
  register_kernel<&put_slope, kCudaWithoutHistory>("cross_entropy_scores_put_");
}

}  // namespace shim
