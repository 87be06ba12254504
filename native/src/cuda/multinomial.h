#pragma once
// Places drawn from rows of weights on CUDA. Null where there is no kernel.
#include "ops/kernel.h"

namespace shim::cuda {

// Of weights (rows, n): what is wrong with any, as an int32 on the device (1: a weight that is negative, infinite or no number, 2: a row without
// one above zero).
Outcome<Tensor> multinomial_faults(const Tensor& weights);
// One place a row, (rows, 1); and the faults.
Outcome<std::tuple<Tensor, Tensor>> multinomial_one(const Tensor& weights, int64_t seed, int64_t start);
// (rows, draws), with replacement; of at most 4096 places.
Outcome<Tensor> multinomial_many(const Tensor& weights, int64_t draws, int64_t seed, int64_t start);

}  // namespace shim::cuda
