#pragma once
// What the forward and the backward of attention have in common: which problems the kernels take, and how they are told of one.
#include <string>

#include "cuda/attention.h"
#include "cuda/attention_blocks.h"
#include "cuda/elementwise.h"
#include "cuda/kernel_entry.h"
#include "ops/kernels.h"

namespace shim::cuda {

constexpr int kAttentionThreads = 128;

struct Strides {
  int64_t batch, head, row;
};
struct MaskStrides {
  int64_t batch = 0, head = 0, row = 0, col = 0;
};

inline Strides strides_of(const Tensor& t) { return {t->strides()[0], t->strides()[1], t->strides()[2]}; }

// Weights that are left out with the chance p, and which.
struct AttentionDropout {
  double p;
  int64_t seed, start;
};

// The macros of a problem.
struct Problem {
  DType type;
  int size, kind;
  bool causal, drops;
};

Outcome<Problem> problem_of(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal,
    const AttentionDropout& dropout);

// Rows of neighbouring elements that begin at 16 bytes; a copy where they do not.
Tensor in_lines(const Tensor&);

inline int tiles_of(const Problem& p) { return p.size <= 64 ? 2 : 1; }

// `split`: the forward's kernels that give parts of results.
std::vector<std::string> macros_of(const Problem& p, int tiles, bool split);

template <class E> Kernel<E> kernel_of(const Family& which, const Problem& p, int device, bool split = false) {
  const uint64_t key = key_of(int(p.type), p.size / 16, int(p.causal), p.kind, int(p.drops), int(split));
  return find_kernel<E>(which, key, device, [&] { return macros_of(p, tiles_of(p), split); });
}

// Whether Hopper's kernels take it: what they have to fill are tiles of 64 queries, of which fewer than `least` would leave most empty. Their
// blocks are counted in one number.
bool takes_tiles(const Problem& p, IntArrayRef of, IntArrayRef keys, double scale, int device, int64_t least = 65);

// `pairs`: two neighbours of the mask are one load. `cut` and `split`: of the forward, whose kernels differ by it.
template <class E>
Kernel<E> hopper_kernel_of(const Family& which, const Problem& p, bool pairs, unsigned bytes, int device,
    const AttentionBlocks* cut = nullptr, bool split = false) {
  const uint64_t key = key_of(int(p.type), p.size / 16, int(p.causal), p.kind, int(p.drops), int(pairs),
      cut ? cut->groups * 4 + cut->blocks : 0, int(split));
  bool known = false;
  CUfunction f = known_kernel(which, E::name, key, device, &known);
  if (known) return {f};
  std::vector<std::string> macros = macros_of(p, 1, split);
  for (const std::string& macro :
      {str("KIND_HALF=", int(p.type == DType::f16)), str("PAIRS=", int(pairs)), str("HOPPER=1")})
    macros.push_back(macro);
  if (cut)
    for (const std::string& macro : {str("GROUPS=", cut->groups), str("BLOCKS=", cut->blocks), str("SPAN=", cut->span),
             str("STAGES=", cut->stages)})
      macros.push_back(macro);
  f = compiled_kernel(which, E::name, key, device, macros);
  constexpr int kDynamicShared = 8;
  OnDevice current(device);
  if (f && bytes && driver().function_attribute(f, kDynamicShared, int(bytes)) != 0) return {};
  return {f};
}

MaskStrides mask_strides(const Tensor& mask, IntArrayRef q, IntArrayRef k);

struct Drops {
  uint64_t seed, start;
  uint32_t least;
  float rest;
};  // as in attention.cuh
inline Drops drops_of(const AttentionDropout& d) {
  return {uint64_t(d.seed), uint64_t(d.start), uint32_t(d.p * 65536 + 0.5), float(1 / (1 - d.p))};
}

// (batch, heads, rows, size) with the heads next to each other in memory.
Tensor beside(IntArrayRef of, int64_t rows, DType, Device);

}  // namespace shim::cuda
