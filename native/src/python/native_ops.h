#pragma once
// Between the files that give operators their native fast paths.
#include <initializer_list>

#include "ops/kernels.h"
#include "python/operator.h"
#include "python/object.h"

namespace shim {

bool number_of(PyObject*, Scalar*);  // a Python number; false if it is none

int bind_cuda_kernels(PyObject* module);
int bind_cuda_foreach(PyObject* module);      // bind_cuda_foreach.cpp
int bind_optimizers(PyObject* module);        // bind_optimizers.cpp
int bind_cuda_memory(PyObject* module);       // bind_cuda_memory.cpp
int bind_cache(PyObject* module);             // bind_cache.cpp
int bind_cuda_convolution(PyObject* module);  // bind_cuda_convolution.cpp
int bind_cuda_recurrent(PyObject* module);    // bind_cuda_recurrent.cpp
int bind_cpu_formulas(PyObject* module);      // bind_cpu_formulas.cpp
int bind_cpu_random(PyObject* module);        // bind_cpu_draws.cpp
int bind_numbers(PyObject* module);           // bind_numbers.cpp
int bind_getitem(PyObject* module);           // bind_getitem.cpp

}  // namespace shim
