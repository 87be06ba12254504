#pragma once
// Random numbers on CUDA: the words of shim_torch._impl.tensor.generator's stream, turned into numbers as its CPU form does.
#include <string_view>

#include "ops/draw_bounds.h"
#include "ops/kernel.h"

namespace shim::cuda {

enum class Draw { uniform, normal, log_normal, integer };
// Fills `self`, contiguous, from block `start` of the stream. uniform: [a, b); normal: mean a, deviation b; log_normal: e to the power of
// that; integer: [low, low + span), span 0 for 2**64. False where there is no kernel for the dtype.
bool draw(const Tensor& self, Draw, double a, double b, int64_t low, uint64_t span, uint64_t seed, uint64_t start);
// Numbers of other distributions, from as many uniform ones as draw() makes; random.cuh says what a and b are.
enum class Shaped : int { exponential = 1, cauchy = 2, geometric = 3, chance = 4 };
bool draw_shaped(const Tensor& self, Shaped, double a, double b, uint64_t seed, uint64_t start);
// Either of both, by the distribution's name: fills a CUDA tensor in place.
bool draw(const Tensor& self, std::string_view kind, const DrawBounds&, uint64_t seed, uint64_t start);
// Counts of Poisson's distribution at `rates`, one block of the stream each. Null where there is no kernel for the dtype.
Tensor draw_poisson(const Tensor& rates, uint64_t seed, uint64_t start);
// The numbers below like's elements in random order, of which there are at most 4096.
Outcome<Tensor> permutation(const Tensor& like, int64_t seed, int64_t start);
// 1 where a uniform number is below the chance, else 0.
Outcome<Tensor> bernoulli(const Tensor& chances, int64_t seed, int64_t start);
// self times slopes, and these: 1 where self is positive, else uniform numbers of [lower, upper).
Outcome<std::tuple<Tensor, Tensor>> rrelu(const Tensor& self, double lower, double upper, int64_t seed, int64_t start);
// self / (1 - p) where a uniform number is at least p, else 0, and a mask (bool) that says where. Both lie in memory like self.
Outcome<std::tuple<Tensor, Tensor>> dropout(const Tensor& self, double p, int64_t seed, int64_t start);

}  // namespace shim::cuda
