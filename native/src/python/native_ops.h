#pragma once
// Between the files that give operators their native fast paths.
#include <initializer_list>

#include "ops/kernels.h"
#include "python/operator.h"
#include "python/object.h"

namespace shim {

bool number_of(PyObject*, Scalar*);  // a Python number; false if it is none

// The kernels of operators, a file a kind; the order of calls is bind_kernels.cpp's.
void register_index_kernels();           // kernels_index.cpp
void register_formula_kernels();         // kernels_formulas.cpp
void register_gemm_kernels();            // kernels_gemm.cpp
void register_image_kernels();           // kernels_image.cpp
void register_indexing_kernels();        // kernels_indexing.cpp
void register_layer_kernels();           // kernels_layers.cpp
void register_linalg_kernels();          // kernels_linalg.cpp
void register_move_kernels();            // kernels_moves.cpp
void register_pointwise_kernels();       // kernels_pointwise.cpp
void register_random_kernels();          // kernels_random.cpp
void register_recurrent_kernels();       // kernels_recurrent.cpp
void register_reduce_kernels();          // kernels_reduce.cpp
void register_row_kernels();             // kernels_rows.cpp
void register_scatter_kernels();         // kernels_scatter.cpp
void register_shape_kernels();           // kernels_shape.cpp
void register_signal_kernels();          // kernels_signal.cpp
void register_cuda_creation_kernels();   // kernels_cuda_creation.cpp
void register_cuda_image_kernels();      // kernels_cuda_image.cpp
void register_cuda_losses();             // kernels_cuda_losses.cpp
void register_cuda_moves();              // kernels_cuda_moves.cpp
void register_cuda_nn_kernels();         // kernels_cuda_nn.cpp
void register_cuda_recurrent();          // kernels_cuda_recurrent.cpp
void register_cuda_scatter();            // kernels_cuda_scatter.cpp
void register_cuda_pointwise_kernels();  // kernels_cuda_pointwise.cpp
int bind_cuda_kernels(PyObject* module);
int bind_cuda_foreach(PyObject* module);      // bind_cuda_foreach.cpp
int bind_cuda_memory(PyObject* module);       // bind_cuda_memory.cpp
int bind_cache(PyObject* module);             // bind_cache.cpp
int bind_cuda_convolution(PyObject* module);  // bind_cuda_convolution.cpp
int bind_cuda_recurrent(PyObject* module);    // bind_cuda_recurrent.cpp
int bind_cpu_formulas(PyObject* module);      // bind_cpu_formulas.cpp
int bind_cpu_random(PyObject* module);        // bind_cpu_draws.cpp
int bind_numbers(PyObject* module);           // bind_numbers.cpp
int bind_getitem(PyObject* module);           // bind_getitem.cpp

}  // namespace shim
