#pragma once
// Attention whose scores never reach memory.
#include "core/tensor.h"

namespace shim::cuda {

// Weights that are left out with the chance p, and which: numbers of the generator's stream from block `start` on.
struct AttentionDropout {
  double p = 0;
  uint64_t seed = 0, start = 0;
};

// softmax(scale * q k' + mask) v for q (batch, heads, rows, D), k and v (batch, heads / n, cols, D) of float16 or bfloat16, D a multiple of 16
// up to 128; `mask` (null: none) expands to (batch, heads, rows, cols) and holds truth values or numbers of q's dtype. `lse`, (batch, heads,
// rows) float32, gets the scores' logsumexp. The result has the heads next to each other in memory. Null where there is no kernel.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal, double scale,
    const AttentionDropout&, Tensor* lse);

// Its gradients; those of k and v have as many heads as q. On Hopper the queries' are sums in whatever order blocks come by, unless deterministic
// algorithms are asked for.
struct AttentionSlopes {
  Tensor query, key, value;
};
AttentionSlopes attention_backward(const Tensor& g, const Tensor& q, const Tensor& k, const Tensor& v,
    const Tensor& mask, const Tensor& out, const Tensor& lse, bool causal, double scale, const AttentionDropout&);

}  // namespace shim::cuda
