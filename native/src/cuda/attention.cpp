#include "cuda/attention.h"

#include <algorithm>

#include "cuda/attention_blocks.h"
#include "cuda/elementwise.h"
#include "cuda/entries/attention.h"
#include "cuda/entries/attention_backward.h"
#include "cuda/entries/attention_hopper.h"
#include "cuda/entries/attention_hopper_backward.h"
#include "cuda/reasons.h"
#include "cuda/tensor_map.h"
#include "ops/gemm_settings.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

const Family attention_family{"attention"}, backward_family{"attention_backward"}, hopper_family{"attention_hopper"};
const Family hopper_backward_family{"attention_hopper_backward"};
constexpr int kAttentionThreads = 128;

struct Strides {
  int64_t batch, head, row;
};
struct MaskStrides {
  int64_t batch = 0, head = 0, row = 0, col = 0;
};

Strides strides_of(const Tensor& t) { return {t->strides()[0], t->strides()[1], t->strides()[2]}; }

// With rows of neighbouring elements that begin at 16 bytes.
Tensor in_lines(const Tensor& t) {
  bool good = t->strides()[3] == 1 && reinterpret_cast<uintptr_t>(t->data()) % 16 == 0;
  for (int d = 0; d < 3; ++d) good = good && t->strides()[size_t(d)] % 8 == 0;
  return good ? t : clone(t, MemoryFormat::contiguous);
}

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
    const AttentionDropout& dropout) {
  if (const char* why = not_floats({&q, &k, &v})) return NotMine{why};
  if (!(dropout.p >= 0 && dropout.p < 1)) return NotMine{"all weights left out"};
  const DType t = q->dtype();
  if (!kernels_ready()) return kNoCompiler;
  if (t != DType::f16 && t != DType::bf16) return kOtherDtype;
  if (k->dtype() != t || v->dtype() != t) return kMixedDtypes;
  if (q->dim() != 4 || k->dim() != 4) return kOtherSizes;
  const IntArrayRef of = q->sizes(), keys = k->sizes();
  if (!std::ranges::equal(keys, v->sizes()) || of[0] != keys[0] || of[3] != keys[3] || !keys[1] || of[1] % keys[1])
    return kOtherSizes;
  if (of[3] % 16 || of[3] > 128) return NotMine{"a head size other than a multiple of 16 up to 128"};
  if (of[0] * of[1] > kMostRows || std::max(of[2], keys[2]) > (1 << 24)) return kTooMany;
  if (mask && mask->dtype() != DType::b8 && mask->dtype() != t) return kMixedDtypes;
  if (mask && mask->dim() > 4) return kOtherSizes;
  return Problem{t, int(of[3]), !mask ? 0 : mask->dtype() == DType::b8 ? 1 : 2, causal, dropout.p > 0};
}

int tiles_of(const Problem& p) { return p.size <= 64 ? 2 : 1; }

template <class E> Kernel<E> kernel_of(const Family& which, const Problem& p, int device) {
  return find_kernel<E>(which, key_of(int(p.type), p.size / 16, int(p.causal), p.kind, int(p.drops)), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(p.type), "D=" + std::to_string(p.size),
        "TILES=" + std::to_string(tiles_of(p)), std::string("CAUSAL=") + (p.causal ? "1" : "0"),
        "MASK=" + std::to_string(p.kind), std::string("DROPS=") + (p.drops ? "1" : "0")};
  });
}

// Whether Hopper's kernels take it: what they have to fill are tiles of 64 queries. Their blocks are counted in one number. Fewer queries
// than `least` would leave most of a tile empty.
bool takes_tiles(const Problem& p, IntArrayRef of, IntArrayRef keys, double scale, int device, int64_t least = 65) {
  return (p.size == 64 || p.size == 128) && of[2] >= least && scale > 0 && hopper_processors(device) > 0 &&
         (std::max(of[2], keys[2]) + 127) / 128 * of[0] * of[1] <= kMostBlocks;
}
// Keys and values, the scores' slopes, two tiles of queries and of what comes back, with two numbers a query.
unsigned hopper_backward_bytes(const Problem& p) {
  return unsigned(1024 + 2 * 128 * p.size * 2 + 128 * 64 * 2 + 2 * (2 * 64 * p.size * 2 + 64 * 8));
}

// `pairs`: two neighbours of the mask are one load. `cut`: of the forward, whose kernels differ by it.
template <class E>
Kernel<E> hopper_kernel_of(const Family& which, const Problem& p, bool pairs, unsigned bytes, int device,
    const AttentionBlocks* cut = nullptr) {
  const uint64_t key = key_of(int(p.type), p.size / 16, int(p.causal), p.kind, int(p.drops), int(pairs),
      cut ? cut->groups * 4 + cut->blocks : 0);
  bool known = false;
  CUfunction f = known_kernel(which, E::name, key, device, &known);
  if (known) return {f};
  std::vector<std::string> macros{std::string("ELEMENT=") + element_type(p.type),
      std::string("KIND_HALF=") + (p.type == DType::f16 ? "1" : "0"), "D=" + std::to_string(p.size), "TILES=1",
      std::string("CAUSAL=") + (p.causal ? "1" : "0"), "MASK=" + std::to_string(p.kind),
      std::string("PAIRS=") + (pairs ? "1" : "0"), std::string("DROPS=") + (p.drops ? "1" : "0"), "HOPPER=1"};
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

// The tensor in lines that the copy engine reads in boxes of `rows` rows; null where it does not.
Tensor in_boxes(const Tensor& t, int rows, TensorMap& map) {
  const Tensor lines = in_lines(t);
  if (map_rows(map, lines, rows)) return lines;
  const Tensor own = clone(t, MemoryFormat::contiguous);  // of a repeated head, say
  return map_rows(map, own, rows) ? own : Tensor();
}

MaskStrides mask_strides(const Tensor& mask, IntArrayRef q, IntArrayRef k) {
  if (!mask) return {};
  const Tensor whole = expand(*mask, Dims{q[0], q[1], q[2], k[2]});
  return {whole->strides()[0], whole->strides()[1], whole->strides()[2], whole->strides()[3]};
}

struct Drops {
  uint64_t seed, start;
  uint32_t least;
  float rest;
};  // as in attention.cuh
Drops drops_of(const AttentionDropout& d) {
  return {uint64_t(d.seed), uint64_t(d.start), uint32_t(d.p * 65536 + 0.5), float(1 / (1 - d.p))};
}

// (batch, heads, rows, size) with the heads next to each other in memory.
Tensor beside(IntArrayRef of, int64_t rows, DType t, Device device) {
  const int64_t order[] = {0, 2, 1, 3};
  return permute(*empty(Dims{of[0], rows, of[1], of[3]}, t, device), order);
}

}  // namespace

Outcome<std::tuple<Tensor, Tensor>> attention(const Tensor& q0, const Tensor& k0, const Tensor& v0,
    const OptionalTensor& given, bool causal, double scale, double chance, int64_t seed, int64_t start) {
  const Tensor& mask = or_null(given);
  const AttentionDropout dropout{chance, seed, start};
  auto problem = problem_of(q0, k0, v0, mask, causal, dropout);
  if (!problem) return problem.why();
  const Problem& p = *problem;
  const IntArrayRef of = q0->sizes(), keys = k0->sizes();
  const int device = q0->device().index, block = 64 * tiles_of(p);
  MaskStrides sm = mask_strides(mask, of, keys);
  using Plain = entries::attention::attention;
  Kernel<entries::attention_hopper::attention_hopper> whole_tiles;
  AttentionBlocks form{};
  TensorMap maps[3];
  Tensor q, k, v;
  const bool many_keys = p.size == 128 && keys[2] >= 512;  // whose reading takes as long as all else
  if (takes_tiles(p, of, keys, scale, device, many_keys ? 1 : 65)) {
    form =
        attention_blocks({p.size, causal, p.kind || p.drops, of[0] * of[1], of[2], keys[2]}, hopper_processors(device));
    const int64_t bytes = mask ? int64_t(mask->itemsize()) * 2 : 1;
    const bool even = sm.batch % 2 == 0 && sm.head % 2 == 0 && sm.row % 2 == 0 && keys[2] % 2 == 0,
               pairs = mask && sm.col == 1 && even && reinterpret_cast<uintptr_t>(mask->data()) % uintptr_t(bytes) == 0;
    if ((q = in_boxes(q0, form.groups * 64, maps[0])) && (k = in_boxes(k0, form.span, maps[1])) &&
        (v = in_boxes(v0, form.span, maps[2])))
      whole_tiles = hopper_kernel_of<entries::attention_hopper::attention_hopper>(
          hopper_family, p, pairs, form.bytes(p.size), device, &form);
  }
  const auto f = whole_tiles ? Kernel<Plain>{} : kernel_of<Plain>(attention_family, p, device);
  if (!f && !whole_tiles) return kNotCompiled;
  const Tensor out = beside(of, of[2], p.type, q0->device()),
               lse = empty(Dims{of[0], of[1], of[2]}, DType::f32, q0->device());
  const void* bias = data_or_null(mask);
  void *to = out->data(), *sums = lse->data();
  const Strides so = strides_of(out);
  const int heads = int(of[1]), group = int(of[1] / keys[1]), lines = int(of[0] * of[1]), rows = int(of[2]),
            cols = int(keys[2]);
  const float factor = float(scale);
  const Drops drops = drops_of(dropout);
  if (whole_tiles) {
    // Parts that are alike are shared out among the blocks; others are blocks of their own, which come longest first.
    const int64_t parts = form.parts(lines, rows);
    const bool alike = form.blocks == 1 && !causal;
    const int64_t blocks = alike ? std::min<int64_t>(parts, hopper_processors(device)) : parts;
    launch(whole_tiles, {blocks, 1, form.threads(), 1, form.bytes(p.size)}, device, maps[0], maps[1], maps[2], bias, to,
        sums, so, sm, heads, group, lines, rows, cols, factor, drops);
  } else {
    q = in_lines(q0), k = in_lines(k0), v = in_lines(v0);
    launch(f, {(of[2] + block - 1) / block, of[0] * of[1], kAttentionThreads}, device, q->data(), k->data(), v->data(),
        bias, to, sums, strides_of(q), strides_of(k), strides_of(v), so, sm, heads, group, rows, cols, factor, drops);
  }
  return std::tuple{out, lse};
}

namespace {

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
