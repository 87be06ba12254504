#pragma once
// A pointwise operator over a list of tensors in one launch: the functors of elementwise.cuh on the blocks of foreach.cuh.
#include "cuda/kernels/functors.cuh"
#include "cuda/kernels/foreach.cuh"
