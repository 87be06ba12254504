#include "kernels/registry.h"

namespace shim {

void register_kernels() {
  register_pointwise_kernels();  // first: its general kernels are for names that have none yet
  register_index_kernels();
  register_formula_kernels();
  register_gemm_kernels();
  register_image_kernels();
  register_indexing_kernels();
  register_layer_kernels();
  register_linalg_kernels();
  register_move_kernels();
  register_optimizer_kernels();
  register_random_kernels();
  register_recurrent_kernels();
  register_reduce_kernels();
  register_row_kernels();
  register_scatter_kernels();
  register_shape_kernels();
  register_signal_kernels();
  register_cuda_creation_kernels();
  register_cuda_image_kernels();
  register_cuda_losses();
  register_cuda_moves();
  register_cuda_nn_kernels();
  register_cuda_recurrent();
  register_cuda_scatter();
  register_cuda_pointwise_kernels();  // last: functors are for operators that have no other kernel
}

}  // namespace shim
