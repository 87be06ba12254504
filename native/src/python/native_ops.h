#pragma once
// Between the files that give operators their native fast paths.
#include <initializer_list>

#include "ops/kernels.h"
#include "python/operator.h"
#include "python/object.h"

namespace shim {

bool plain_int(PyObject*, int64_t*);                // an int of Python that a double holds; false for others
bool number_of(PyObject*, Scalar*);                 // a Python number; false if it is none
PyObject* tuple_of(std::initializer_list<Tensor>);  // a Python tuple of them (kernel_call.cpp)
// Marks the dims of a flip, in an array of kMaxDims; false where the record has to say what is wrong with them (bind_cpu_moves.cpp).
bool turned_dims(PyObject* given, const TensorImpl& self, bool* turned);
PyObject* native_roll(Operator&, PyObject* const* args, size_t n);  // of CPU and CUDA tensors (bind_cpu_moves.cpp)
void register_index_kernels();                                      // kernels_index.cpp
void register_layer_kernels();                                      // kernels_layers.cpp
void register_reduce_kernels();                                     // kernels_reduce.cpp
void register_row_kernels();                                        // kernels_rows.cpp
void register_signal_kernels();                                     // kernels_signal.cpp
void register_pointwise();                                          // bind_kernels_pointwise.cpp
void register_memory();                                             // bind_kernels_memory.cpp
void register_matmul();                                             // bind_matmul.cpp
void register_linear();                                             // bind_linear.cpp

void register_cuda_rearrange();         // bind_cuda_rearrange.cpp
void register_cuda_scatter();           // bind_cuda_scatter.cpp
void register_cuda_creation();          // bind_cuda_creation.cpp
void register_cuda_image_rearrange();   // bind_cuda_image_rearrange.cpp
void register_cuda_cross_polar();       // bind_cuda_cross_polar.cpp
void register_cuda_histogram_unique();  // bind_cuda_histogram_unique.cpp
void register_indexing();               // bind_kernels_indexing.cpp
void register_views();                  // bind_kernels_views.cpp
void register_cuda_kernels();           // bind_cuda_kernels.cpp
void register_cuda_norms();             // bind_cuda_norms.cpp
void register_cuda_scatter_add();       // bind_cuda_scatter_add.cpp
void register_cuda_formulas();          // bind_cuda_formulas.cpp
void register_cuda_images();            // bind_cuda_images.cpp
void register_cuda_pooling();           // bind_cuda_pooling.cpp
void register_cuda_convolution();       // bind_cuda_convolution.cpp
void register_cuda_losses();            // bind_cuda_losses.cpp
void register_cpu_formulas();           // bind_cpu_formulas.cpp
void register_cpu_scatters();           // bind_cpu_scatters.cpp
void register_cpu_random();             // bind_cpu_random.cpp
void register_cpu_resample();           // bind_cpu_resample.cpp
void register_cpu_moves();              // bind_cpu_moves.cpp
void register_cpu_recurrent();          // bind_cpu_recurrent.cpp
void register_cpu_images();             // bind_cpu_images.cpp
void register_cpu_convolution();        // bind_cpu_convolution.cpp
void register_cpu_pools();              // bind_cpu_pools.cpp
void register_cpu_linalg();             // bind_cpu_linalg.cpp
int bind_cuda_kernels(PyObject* module);
int bind_cuda_foreach(PyObject* module);      // bind_cuda_foreach.cpp
int bind_cuda_convolution(PyObject* module);  // bind_cuda_convolution.cpp
int bind_cuda_recurrent(PyObject* module);    // bind_cuda_recurrent.cpp
int bind_cpu_formulas(PyObject* module);      // bind_cpu_formulas.cpp
int bind_cpu_random(PyObject* module);        // bind_cpu_draws.cpp
int bind_numbers(PyObject* module);           // bind_numbers.cpp
int bind_getitem(PyObject* module);           // bind_getitem.cpp

}  // namespace shim
