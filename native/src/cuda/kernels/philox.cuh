#pragma once
// The words of shim_torch._impl.tensor.generator: block i of a seed's stream is Philox4x32-10 of the counter offset + i; and uniform numbers
// of them.
#include "cuda/kernels/types.cuh"

struct Words {
  u32 v[4];
};
__device__ inline Words philox(u64 seed, u64 counter, u32 more = 0) {
  u32 c0 = u32(counter), c1 = u32(counter >> 32), c2 = more, c3 = 0, k0 = u32(seed), k1 = u32(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const u32 h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0, h1 = __umulhi(0xCD9E8D57u, c2),
              l1 = 0xCD9E8D57u * c2;
    c0 = h1 ^ c1 ^ k0;
    c1 = l1;
    c2 = h0 ^ c3 ^ k1;
    c3 = l0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}
__device__ inline float unit(u32 w) { return float(w >> 8) * 5.9604644775390625e-08f; }
__device__ inline double unit(u32 high, u32 low) {
  return double(((u64(high) << 21) ^ (low >> 11)) & ((1ull << 53) - 1)) * 1.1102230246251565e-16;
}
// The k-th number of a block, which has two of 53 bits or four of 24.
template <bool wide> __device__ inline auto uniform_number(const Words& w, int k) {
  if constexpr (wide)
    return unit(w.v[2 * k], w.v[2 * k + 1]);
  else
    return unit(w.v[k]);
}
