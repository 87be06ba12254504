#pragma once
// elementwise.cuh with the cross entropy of chances, whose assert the other operators do not carry.
#define CHANCES 1
#include "cuda/kernels/asserts.cuh"
#include "cuda/kernels/elementwise.cuh"
