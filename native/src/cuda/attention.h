#pragma once
// Attention whose scores never reach memory.
#include "ops/kernel.h"

namespace shim::cuda {

// softmax(scale * q k' + mask) v for q (batch, heads, rows, D), k and v (batch, heads / n, cols, D) of float16 or
// bfloat16, D a multiple of 16 up to 128; a mask expands to (batch, heads, rows, cols) and holds truth values or numbers
// of q's dtype. With it the scores' logsumexp, (batch, heads, rows) float32. The result has the heads next to each other
// in memory. Weights are left out with the chance `dropout`: numbers of the generator's stream from block `start` on say
// which.
Outcome<std::tuple<Tensor, Tensor>> attention(const Tensor& q, const Tensor& k, const Tensor& v,
    const OptionalTensor& mask, bool causal, double scale, double dropout, int64_t seed, int64_t start);

// The gradients of q, k and v; those of k and v have as many heads as q. On Hopper the queries' are sums in whatever
// order blocks come by, unless deterministic algorithms are asked for.
Outcome<std::tuple<Tensor, Tensor, Tensor>> attention_backward(const Tensor& g, const Tensor& q, const Tensor& k,
    const Tensor& v, const OptionalTensor& mask, const Tensor& out, const Tensor& lse, bool causal, double scale,
    double dropout, int64_t seed, int64_t start);

}  // namespace shim::cuda
