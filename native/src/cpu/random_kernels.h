#pragma once
// Kernels of random operators: contiguous CPU tensors of the dtypes that numbers are drawn in, and the options of most calls.
#include "core/sparse.h"
#include "cpu/random.h"
#include "ops/kernel.h"

namespace shim {

inline bool is_drawn(DType t) {
  return t == DType::f32 || t == DType::f64;
}  // what uniform and normal numbers are drawn in

// What a factory is told of its result.
struct RandomOptions {
  std::optional<DType> dtype;
  std::optional<Layout> layout;
  std::optional<bool> pin_memory;
  std::optional<MemoryFormat> memory_format = std::nullopt;
};

// Fill self, which is the result.
Outcome<Tensor> uniform_(const Tensor& self, double low, double high, Mersenne&);
Outcome<Tensor> normal_(const Tensor& self, double mean, double deviation, Mersenne&);
Outcome<Tensor> exponential_(const Tensor& self, double rate, Mersenne&);
Outcome<Tensor> bernoulli_(const Tensor& self, double chance, Mersenne&);
Outcome<Tensor> random_(const Tensor& self, Mersenne&);  // from 0 on all that the dtype holds one by one
Outcome<Tensor> random_to_(const Tensor& self, int64_t high, Mersenne&);
Outcome<Tensor> random_from_(const Tensor& self, int64_t low, std::optional<int64_t> high, Mersenne&);

// New tensors.
Outcome<Tensor> new_uniform(IntArrayRef sizes, Mersenne&, const RandomOptions&);  // from 0 to 1
Outcome<Tensor> new_normal(double mean, double deviation, IntArrayRef sizes, Mersenne&, const RandomOptions&);
Outcome<Tensor> new_integers(int64_t low, int64_t high, IntArrayRef sizes, Mersenne&, const RandomOptions&);
Outcome<Tensor> new_permutation(int64_t n, Mersenne&, const RandomOptions&);
Outcome<Tensor> uniform_like(const Tensor& self, Mersenne&, const RandomOptions&);
Outcome<Tensor> normal_like(const Tensor& self, Mersenne&, const RandomOptions&);
Outcome<Tensor> integers_like(const Tensor& self, int64_t low, int64_t high, Mersenne&, const RandomOptions&);
Outcome<Tensor> bernoulli(const Tensor& chances, Mersenne&);

}  // namespace shim
