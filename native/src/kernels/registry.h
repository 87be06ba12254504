#pragma once
// The kernels of operators, a file a kind.

namespace shim {

void register_kernels();  // all of them, before the records are defined

void register_index_kernels();
void register_formula_kernels();
void register_gemm_kernels();
void register_image_kernels();
void register_indexing_kernels();
void register_layer_kernels();
void register_linalg_kernels();
void register_move_kernels();
void register_optimizer_kernels();
void register_pointwise_kernels();
void register_random_kernels();
void register_recurrent_kernels();
void register_reduce_kernels();
void register_row_kernels();
void register_scatter_kernels();
void register_shape_kernels();
void register_signal_kernels();
void register_cuda_creation_kernels();
void register_cuda_image_kernels();
void register_cuda_losses();
void register_cuda_moves();
void register_cuda_nn_kernels();
void register_cuda_recurrent();
void register_cuda_scatter();
void register_cuda_pointwise_kernels();

}  // namespace shim
