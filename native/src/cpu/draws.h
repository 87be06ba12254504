#pragma once
// Tensors of random numbers from a generator's stream, whose place the caller has reserved.
#include "core/tensor.h"

namespace shim {

struct Stream { uint64_t seed, start; };

// Fill a contiguous float32 or float64 tensor.
void fill_uniform(const Tensor& out, double low, double high, Stream);
void fill_normal(const Tensor& out, double mean, double deviation, Stream);
void fill_exponential(const Tensor& out, double rate, Stream);
// A contiguous int64 tensor, with numbers from [low, low + span); a span of 0 is 2^64.
void fill_integer(const Tensor& out, int64_t low, uint64_t span, Stream);
// The numbers below n in random order: int64.
Tensor permutation(int64_t n, Stream);
// 1 where a uniform number of its own is below the chance, else 0; of `like`'s dtype, float32 or float64.
Tensor chances(const Tensor& like, Stream);
void fill_chance(const Tensor& out, double chance, Stream);

}  // namespace shim
