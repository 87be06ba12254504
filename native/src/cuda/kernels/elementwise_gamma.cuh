#pragma once
// elementwise.cuh with the incomplete gamma functions, whose tables the other operators do not carry.
#define GAMMA 1
#include "ops/special/incomplete_gamma.h"
#include "cuda/kernels/elementwise.cuh"
