// Recurrent layers by cuDNN: torch._cudnn_rnn and its gradient.
#include <utility>

#include "autograd/autocast.h"
#include "core/warning.h"
#include "cuda/cudnn_rnn.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {

namespace {

constexpr const char* kScatteredWeights =
    "RNN module weights are not part of single contiguous chunk of memory. This means they need to be compacted at "
    "every call, possibly greatly increasing memory usage. To "
    "compact weights again call flatten_parameters().";

void warn_of_copied_weights() {
  static bool warned = false;  // once, as PyTorch
  if (!any_autocast() && !std::exchange(warned, true)) warn_user(kScatteredWeights);
}

}  // namespace

void register_cuda_recurrent() {
  cudnn::weights_copied = warn_of_copied_weights;
  register_kernel<&cudnn::rnn, kCuda>("_cudnn_rnn");
  register_kernel<&cudnn::rnn_backward, kCuda>("_cudnn_rnn_backward");
}

}  // namespace shim
