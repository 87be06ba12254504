#pragma once
// Tensors of random numbers from a generator, in PyTorch's order of draws: the same seed gives PyTorch's numbers.
#include <mutex>

#include "core/tensor.h"
#include "cpu/mersenne.h"

namespace shim {

extern std::mutex drawing;  // threads that share a generator take turns
// f(data) of a float32 or float64 tensor, while no other thread draws.
template <class F> void drawn_into(const Tensor& t, F&& f) {
  const std::lock_guard lock(drawing);
  if (t->dtype() == DType::f64)
    f(t->data_as<double>());
  else
    f(t->data_as<float>());
}

// One number, drawn in float64: uniform in [0, 1); normal (they come in pairs; the generator keeps the second).
double draw_uniform(Mersenne&);
double draw_normal(Mersenne&);

// Fill a contiguous float32 or float64 tensor.
void fill_uniform(const Tensor& out, double low, double high, Mersenne&);
void fill_normal(const Tensor& out, double mean, double deviation, Mersenne&);  // 16 and more: in blocks
void fill_normal_singly(const Tensor& out, double mean, double deviation, Mersenne&);
void fill_exponential(const Tensor& out, double rate, Mersenne&);
void fill_log_normal(const Tensor& out, double mean, double deviation, Mersenne&);
void fill_cauchy(const Tensor& out, double median, double sigma, Mersenne&);
// Fills a contiguous int64 tensor with integers from [low, low + span); a span of 0 means 2^64. A number takes one 32-bit word of the
// generator where the span is below 2^28 or `short_words` is set, else two.
void fill_integer(const Tensor& out, int64_t low, uint64_t span, Mersenne&, bool short_words = false);
// 0 .. n - 1 in random order: int64.
Tensor permutation(int64_t n, Mersenne&);
// 1 with the probability that each element of `like` gives, else 0; of its dtype, float32 or float64.
Tensor chances(const Tensor& like, Mersenne&);
void fill_chance(const Tensor& out, double chance, Mersenne&);  // bool too

// Each number with parameters of its own, all contiguous, of the result's sizes and dtype, float32 or float64.
void fill_poisson(const Tensor& out, const Tensor& rate, Mersenne&);
void fill_gamma(const Tensor& out, const Tensor& shape, Mersenne&);  // of rate 1, never zero
void fill_binomial(const Tensor& out, const Tensor& count, const Tensor& prob, Mersenne&);

}  // namespace shim
