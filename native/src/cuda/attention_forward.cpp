#include <algorithm>

#include "cuda/attention_problem.h"
#include "cuda/entries/attention.h"
#include "cuda/entries/attention_hopper.h"
#include "cuda/entries/attention_join.h"
#include "cuda/reasons.h"
#include "cuda/tensor_map.h"

namespace shim::cuda {
namespace {

const Family attention_family{"attention"}, hopper_family{"attention_hopper"}, join_family{"attention_join"};
using Plain = entries::attention::attention;
using Hopper = entries::attention_hopper::attention_hopper;
using Join = entries::attention_join::attention_join;

// The tensor in lines that the copy engine reads in boxes of `rows` rows; null where it does not.
Tensor in_boxes(const Tensor& t, int rows, TensorMap& map) {
  const Tensor lines = in_lines(t);
  if (map_rows(map, lines, rows)) return lines;
  const Tensor own = clone(t, MemoryFormat::contiguous);  // of a repeated head, say
  return map_rows(map, own, rows) ? own : Tensor();
}

// What the kernels are told: sizes, places, and what they write, `out` and the logarithms of the weights' sums.
struct Call {
  const Problem& problem;
  Tensor q, k, v, mask, out, lse;
  int batches, heads, group, rows, cols, device;
  Strides out_strides;
  MaskStrides mask_strides;
  float scale;
  Drops drops;

  int lines() const { return batches * heads; }
};

Call call_of(const Problem& p, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double scale,
    const AttentionDropout& dropout) {
  const IntArrayRef of = q->sizes(), keys = k->sizes();
  const Tensor out = beside(of, of[2], p.type, q->device()),
               lse = empty(Dims{of[0], of[1], of[2]}, DType::f32, q->device());
  return {p, q, k, v, mask, out, lse, int(of[0]), int(of[1]), int(of[1] / keys[1]), int(of[2]), int(keys[2]),
      q->device().index, strides_of(out), mask_strides(mask, of, keys), float(scale), drops_of(dropout)};
}

// One query of each of the heads that share keys: they are the queries of one head, which reads the keys once.
void put_heads_together(Call& c) {
  if (c.group == 1 || c.rows != 1 || c.problem.causal || c.problem.drops || c.mask_strides.head) return;
  const IntArrayRef s = c.q->strides();
  c.heads /= c.group;
  c.rows = c.group;
  c.q = as_strided(*c.q, Dims{c.batches, c.heads, c.rows, c.problem.size}, Dims{s[0], s[1] * c.rows, s[1], s[3]},
      c.q->storage_offset());
  c.out_strides.row = c.out_strides.head;
  c.out_strides.head *= c.rows;
  c.mask_strides.row = 0;
  c.group = 1;
}

// The keys' parts of `each` keys, and what the kernels write of them.
struct KeyParts {
  Kernel<Join> join;
  int count = 1, each;
  Tensor pieces, levels;
};
KeyParts key_parts_of(const Call& c, int span, int64_t places) {
  KeyParts r{{}, 1, c.cols};
  const int tiles = (c.cols + span - 1) / span;
  const int64_t parts = c.rows <= 64 && !c.problem.causal ? key_parts(c.lines(), tiles, places) : 1;
  if (parts == 1) return r;
  const DType t = c.problem.type;
  r.join = {find_kernel(join_family, Join::name, uint64_t(t), c.device,
      [&] { return std::vector<std::string>{std::string("ELEMENT=") + element_type(t)}; })};
  if (!r.join) return r;
  r.each = int((tiles + parts - 1) / parts) * span;
  r.count = (c.cols + r.each - 1) / r.each;
  r.pieces = empty(Dims{r.count, c.lines(), c.rows, c.problem.size}, DType::f32, c.q->device());
  r.levels = empty(Dims{r.count, c.lines(), c.rows}, DType::f32, c.q->device());
  return r;
}
void join_results(const Call& c, const KeyParts& parts) {
  if (parts.count == 1) return;
  launch(parts.join, {int64_t(c.lines()) * c.rows, 1, c.problem.size}, c.device, parts.pieces->data(),
      parts.levels->data(), c.out->data(), c.lse->data(), c.out_strides, c.heads, c.rows, parts.count);
}

// By Hopper's kernels; whether it was.
bool in_tiles(const Call& c) {
  const Problem& p = c.problem;
  const int least = c.cols >= 128 ? 1 : 65;  // where reading keys takes as long as all else
  if (!takes_tiles(p, c.q->sizes(), c.k->sizes(), c.scale, c.device, least)) return false;
  const int processors = hopper_processors(c.device);
  const AttentionBlocks form =
      attention_blocks({p.size, p.causal, p.kind || p.drops, c.lines(), c.rows, c.cols}, processors);
  const MaskStrides& sm = c.mask_strides;
  const int64_t bytes = c.mask ? int64_t(c.mask->itemsize()) * 2 : 1;
  const bool even = sm.batch % 2 == 0 && sm.head % 2 == 0 && sm.row % 2 == 0 && c.cols % 2 == 0,
             pairs =
                 c.mask && sm.col == 1 && even && reinterpret_cast<uintptr_t>(c.mask->data()) % uintptr_t(bytes) == 0;
  TensorMap maps[3];
  const Tensor q = in_boxes(c.q, form.groups * 64, maps[0]), k = q ? in_boxes(c.k, form.span, maps[1]) : q,
               v = k ? in_boxes(c.v, form.span, maps[2]) : k;
  if (!v) return false;
  const KeyParts keys = key_parts_of(c, form.span, int64_t(processors) * form.blocks);
  const bool split = keys.count > 1;
  const auto f = hopper_kernel_of<Hopper>(hopper_family, p, pairs, form.bytes(p.size), c.device, &form, split);
  if (!f) return false;
  // Parts that are alike are shared out among the blocks; others are blocks of their own, which come longest first.
  const int64_t parts = form.parts(c.lines(), c.rows) * keys.count;
  const bool alike = form.blocks == 1 && !p.causal;
  launch(f, {alike ? std::min<int64_t>(parts, processors) : parts, 1, form.threads(), 1, form.bytes(p.size)}, c.device,
      maps[0], maps[1], maps[2], data_or_null(c.mask), (split ? keys.pieces : c.out)->data(),
      (split ? keys.levels : c.lse)->data(), c.out_strides, sm, c.heads, c.group, c.lines(), c.rows, c.cols, keys.each,
      c.scale, c.drops);
  join_results(c, keys);
  return true;
}

// By the kernel of any processor.
bool in_rows(const Call& c) {
  const KeyParts keys = key_parts_of(c, 64, int64_t(multiprocessors(c.device)) * 2);
  const bool split = keys.count > 1;
  const auto f = kernel_of<Plain>(attention_family, c.problem, c.device, split);
  if (!f) return false;
  const int64_t block = 64 * tiles_of(c.problem), parts = split ? keys.count : (c.rows + block - 1) / block;
  const Tensor q = in_lines(c.q), k = in_lines(c.k), v = in_lines(c.v);
  launch(f, {parts, c.lines(), kAttentionThreads}, c.device, q->data(), k->data(), v->data(), data_or_null(c.mask),
      (split ? keys.pieces : c.out)->data(), (split ? keys.levels : c.lse)->data(), strides_of(q), strides_of(k),
      strides_of(v), c.out_strides, c.mask_strides, c.heads, c.group, c.rows, c.cols, keys.each, c.scale, c.drops);
  join_results(c, keys);
  return true;
}

}  // namespace

Outcome<std::tuple<Tensor, Tensor>> attention(const Tensor& q, const Tensor& k, const Tensor& v,
    const OptionalTensor& given, bool causal, double scale, double chance, int64_t seed, int64_t start) {
  const Tensor& mask = or_null(given);
  const AttentionDropout dropout{chance, seed, start};
  auto problem = problem_of(q, k, v, mask, causal, dropout);
  if (!problem) return problem.why();
  Call c = call_of(*problem, q, k, v, mask, scale, dropout);
  put_heads_together(c);
  if (!in_tiles(c) && !in_rows(c)) return kNotCompiled;
  return std::tuple{c.out, c.lse};
}

}  // namespace shim::cuda
