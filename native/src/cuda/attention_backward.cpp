#include <algorithm>

#include "cuda/attention_problem.h"
#include "cuda/entries/attention_backward.h"
#include "cuda/entries/attention_hopper_backward.h"
#include "cuda/reasons.h"
#include "ops/gemm_settings.h"

namespace shim::cuda {
namespace {

const Family backward_family{"attention_backward"}, hopper_backward_family{"attention_hopper_backward"};

// Keys and values, the scores' slopes, two tiles of queries and of what comes back, with two numbers a query.
unsigned hopper_backward_bytes(const Problem& p) {
  return unsigned(1024 + 2 * 128 * p.size * 2 + 128 * 64 * 2 + 2 * (2 * 64 * p.size * 2 + 64 * 8));
}

struct AttentionSlopes {
  Tensor query, key, value;
};

// The queries' gradients are added up in memory, each block of keys adding its part when it comes by.
AttentionSlopes slopes_in_tiles(const Problem& p, const Tensor& g0, const Tensor& q0, const Tensor& k0,
    const Tensor& v0, const Tensor& mask, const Tensor& out0, const Tensor& lse, double scale,
    const AttentionDropout& dropout) {
  const IntArrayRef of = q0->sizes(), keys = k0->sizes();
  const int device = q0->device().index;
  const unsigned bytes = hopper_backward_bytes(p);
  const auto before = hopper_kernel_of<entries::attention_hopper_backward::attention_levels>(
      hopper_backward_family, p, false, 0, device);
  const auto slopes = hopper_kernel_of<entries::attention_hopper_backward::attention_slopes>(
      hopper_backward_family, p, false, bytes, device);
  const auto after = hopper_kernel_of<entries::attention_hopper_backward::attention_collect>(
      hopper_backward_family, p, false, 0, device);
  if (!before || !slopes || !after) return {};
  const Tensor g = in_lines(g0), q = in_lines(q0), k = in_lines(k0), v = in_lines(v0), out = in_lines(out0);
  const int64_t tiles = (of[2] + 63) / 64, blocks = of[0] * of[1], kInTiles = 2 * kAttentionThreads;
  int lines = int(tiles * 64), heads = int(of[1]), group = int(of[1] / keys[1]), rows = int(of[2]), cols = int(keys[2]);
  const Tensor numbers = empty(Dims{2, blocks, int64_t(lines)}, DType::f32, q0->device()),
               parts = empty(Dims{blocks, int64_t(lines), of[3]}, DType::f32, q0->device());
  AttentionSlopes r{beside(of, of[2], p.type, q0->device()), beside(of, keys[2], p.type, q0->device()),
      beside(of, keys[2], p.type, q0->device())};
  MaskStrides sm = mask_strides(mask, of, keys);
  const void* grad = g->data();
  void *levels = numbers->data(), *inner = static_cast<float*>(levels) + blocks * lines, *sums = parts->data();
  Strides sg = strides_of(g), sq = strides_of(q), sk = strides_of(k), sv = strides_of(v), so = strides_of(out),
          sd = strides_of(r.query), sh = strides_of(r.key);
  float factor = float(scale);
  Drops drops = drops_of(dropout);
  const int64_t lines_a_block = kInTiles * 8 / p.size;
  launch(before, {(lines + lines_a_block - 1) / lines_a_block, blocks, int(kInTiles)}, device, grad, out->data(),
      lse->data(), levels, inner, sums, sg, so, heads, rows, lines);
  launch(slopes, {(keys[2] + 127) / 128 * blocks, 1, int(kInTiles), 1, bytes}, device, q->data(), k->data(), v->data(),
      data_or_null(mask), grad, levels, inner, sums, r.key->data(), r.value->data(), sq, sk, sv, sg, sh, sm, heads,
      group, rows, cols, lines, factor, drops);
  launch(after, {tiles, blocks, int(kInTiles)}, device, sums, r.query->data(), sd, heads, rows, lines, factor);
  return r;
}

}  // namespace

Outcome<std::tuple<Tensor, Tensor, Tensor>> attention_backward(const Tensor& g0, const Tensor& q0, const Tensor& k0,
    const Tensor& v0, const OptionalTensor& given, const Tensor& out0, const Tensor& lse, bool causal, double scale,
    double chance, int64_t seed, int64_t start) {
  const Tensor& mask = or_null(given);
  const AttentionDropout dropout{chance, seed, start};
  if (const char* why = not_floats({&g0, &out0, &lse})) return NotMine{why};
  auto problem = problem_of(q0, k0, v0, mask, causal, dropout);
  if (!problem) return problem.why();
  const Problem& p = *problem;
  if (g0->dtype() != p.type || out0->dtype() != p.type || lse->dtype() != DType::f32) return kMixedDtypes;
  if (!lse->is_contiguous()) return kStrided;
  const IntArrayRef of = q0->sizes(), keys = k0->sizes();
  if (!std::ranges::equal(g0->sizes(), of) || !std::ranges::equal(out0->sizes(), of)) return kOtherSizes;
  const int device = q0->device().index;
  if (takes_tiles(p, of, keys, scale, device) && !gemm::settings().deterministic)
    if (AttentionSlopes r = slopes_in_tiles(p, g0, q0, k0, v0, mask, out0, lse, scale, dropout); r.query)
      return std::tuple{r.query, r.key, r.value};
  const auto inner = kernel_of<entries::attention_backward::attention_inner>(backward_family, p, device);
  const auto queries = kernel_of<entries::attention_backward::attention_queries>(backward_family, p, device);
  const auto key_kernel = kernel_of<entries::attention_backward::attention_keys>(backward_family, p, device);
  if (!inner || !queries || !key_kernel) return kNotCompiled;
  const Tensor g = in_lines(g0), q = in_lines(q0), k = in_lines(k0), v = in_lines(v0), out = in_lines(out0);
  const Tensor inners = empty(Dims{of[0], of[1], of[2]}, DType::f32, q0->device());
  AttentionSlopes r{beside(of, of[2], p.type, q0->device()), beside(of, keys[2], p.type, q0->device()),
      beside(of, keys[2], p.type, q0->device())};
  MaskStrides sm = mask_strides(mask, of, keys);
  const void *grad = g->data(), *from = q->data(), *of_keys = k->data(), *values = v->data(),
             *bias = data_or_null(mask), *levels = lse->data();
  void* sums = inners->data();
  Strides sg = strides_of(g), sq = strides_of(q), sk = strides_of(k), sv = strides_of(v), so = strides_of(out),
          sd = strides_of(r.query), sh = strides_of(r.key);
  int heads = int(of[1]), group = int(of[1] / keys[1]), rows = int(of[2]), cols = int(keys[2]);
  float factor = float(scale);
  Drops drops = drops_of(dropout);
  launch(
      inner, {(of[2] + 3) / 4, of[0] * of[1], kAttentionThreads}, device, grad, out->data(), sums, sg, so, heads, rows);
  launch(queries, {(of[2] + 63) / 64, of[0] * of[1], kAttentionThreads}, device, from, of_keys, values, bias, grad,
      levels, sums, r.query->data(), sq, sk, sv, sg, sd, sm, heads, group, rows, cols, factor, drops);
  launch(key_kernel, {(keys[2] + 63) / 64, of[0] * of[1], kAttentionThreads}, device, from, of_keys, values, bias, grad,
      levels, sums, r.key->data(), r.value->data(), sq, sk, sv, sg, sh, sm, heads, group, rows, cols, factor, drops);
  return std::tuple{r.query, r.key, r.value};
}

}  // namespace shim::cuda
