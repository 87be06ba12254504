#include "cpu/loops.h"

#include <algorithm>
#include <cstdlib>

#include "core/order.h"
#include "cpu/parallel.h"

namespace shim {

Nest make_nest(IntArrayRef shape, const Operand* operands, int count) {
  Nest nest;
  nest.operands = count;
  for (int k = 0; k < count; ++k) nest.data[k] = operands[k].data;
  const int n = int(shape.size());
  int64_t steps[kMaxOperands][kMaxDims];
  int order[kMaxDims], used = 0;
  for (int d = n - 1; d >= 0; --d) {
    if (shape[d] == 1) continue;
    for (int k = 0; k < count; ++k) {
      const int at = d - (n - int(operands[k].sizes.size()));
      const bool spread = at < 0 || operands[k].sizes[at] == 1;
      steps[k][d] = spread ? 0 : operands[k].strides[at] * int64_t(itemsize(operands[k].dtype));
    }
    order[used++] = d;
  }
  sort_few(order, order + used, [&](int a, int b) {  // smallest steps innermost; the output decides first
    for (int k = 0; k < count; ++k) {
      int64_t x = std::abs(steps[k][a]), y = std::abs(steps[k][b]);
      if (x && y && x != y) return x < y;
    }
    return false;
  });
  for (int i = 0; i < used; ++i) {
    const int d = order[i];
    bool merges = nest.dims > 0;
    for (int k = 0; merges && k < count; ++k)
      merges = steps[k][d] == nest.steps[k][nest.dims - 1] * nest.sizes[nest.dims - 1];
    if (merges) {
      nest.sizes[nest.dims - 1] *= shape[d];
      continue;
    }
    nest.sizes[nest.dims] = shape[d];
    for (int k = 0; k < count; ++k) nest.steps[k][nest.dims] = steps[k][d];
    ++nest.dims;
  }
  if (nest.dims == 0) {
    nest.sizes[0] = 1;
    for (int k = 0; k < count; ++k) nest.steps[k][0] = 0;
    nest.dims = 1;
  }
  return nest;
}

namespace {

void run_part(const Nest& nest, LoopFn f, void* context, int64_t begin, int64_t end) {  // a part of the outermost loop
  const int outer = nest.dims - 1;
  char* data[kMaxOperands];
  int64_t steps[kMaxOperands], index[kMaxDims] = {};
  for (int k = 0; k < nest.operands; ++k) {
    data[k] = nest.data[k] + begin * nest.steps[k][outer];
    steps[k] = nest.steps[k][0];
  }
  if (outer == 0) return f(context, data, steps, end - begin);
  int64_t sizes[kMaxDims];
  std::copy(nest.sizes, nest.sizes + nest.dims, sizes);
  sizes[outer] = end - begin;
  for (;;) {
    f(context, data, steps, sizes[0]);
    int d = 1;
    for (; d <= outer; ++d) {
      for (int k = 0; k < nest.operands; ++k) data[k] += nest.steps[k][d];
      if (++index[d] < sizes[d]) break;
      for (int k = 0; k < nest.operands; ++k) data[k] -= index[d] * nest.steps[k][d];
      index[d] = 0;
    }
    if (d > outer) return;
  }
}

}  // namespace

void run_nest(const Nest& nest, LoopFn f, void* context) {
  int64_t all = 1;
  for (int d = 0; d < nest.dims; ++d) all *= nest.sizes[d];
  if (all == 0) return;
  const int64_t outer = nest.sizes[nest.dims - 1];
  if (all < 2 * kGrain) return run_part(nest, f, context, 0, outer);
  const int64_t inside = all / outer;
  parallel_for(outer, std::max<int64_t>(1, kGrain / inside),
      [&](int64_t begin, int64_t end) { run_part(nest, f, context, begin, end); });
}

namespace {

struct Blocks {
  int count;
  DType in, result;
  size_t in_size, out_size;
  BlockKernel kernel;
  const Conversion* load[kMaxOperands];    // of the inputs; null: no dtype conversion
  const Conversion* gather[kMaxOperands];  // for strided or repeated elements of the compute dtype
  const Conversion* store;                 // null: the output has the result dtype
  const Conversion* scatter;
};

void block_loop(void* context, char* const* data, const int64_t* steps, int64_t n) {
  const Blocks& b = *static_cast<const Blocks*>(context);
  alignas(64) char buffers[kMaxOperands][kBlock * 16];
  const char* in[kMaxOperands];
  bool direct[kMaxOperands], all = !b.store && steps[0] == int64_t(b.out_size);
  for (int k = 1; k < b.count; ++k) {
    direct[k] = !b.load[k] && steps[k] == int64_t(b.in_size);
    all = all && direct[k];
    in[k - 1] = data[k];
  }
  if (all) return b.kernel(data[0], in, n);
  const bool out_direct = !b.store && (steps[0] == int64_t(b.out_size) || n == 1);
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t m = std::min(kBlock, n - at);
    for (int k = 1; k < b.count; ++k) {
      if (direct[k]) {
        in[k - 1] = data[k] + at * steps[k];
      } else if (at == 0 || steps[k] != 0) {  // a repeated element is spread once
        (*(b.load[k] ? b.load[k] : b.gather[k]))(data[k] + at * steps[k], steps[k], buffers[k], int64_t(b.in_size), m);
        in[k - 1] = buffers[k];
      }
    }
    char* to = out_direct ? data[0] + at * steps[0] : buffers[0];
    b.kernel(to, in, m);
    if (!out_direct)
      (*(b.store ? b.store : b.scatter))(buffers[0], int64_t(b.out_size), data[0] + at * steps[0], steps[0], m);
  }
}

// Of a nest whose innermost loops are short: so many of them at a time as fill a block. What does not lie packed is packed by the way.
struct ShortLoops {
  const Blocks* blocks;
  int64_t n, steps[kMaxOperands];  // of an innermost loop
};

struct Wide {
  uint64_t halves[2];
};
template <class E>
void pack_loops(const char* given, int64_t step, int64_t n, int64_t across, int64_t count, char* result) {
  E* to = reinterpret_cast<E*>(result);
  for (int64_t r = 0; r < count; ++r, given += across, to += n) {
    const E* from = reinterpret_cast<const E*>(given);
    if (step == 0) {
      const E one = *from;
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) to[i] = one;
    } else if (step == int64_t(sizeof(E))) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) to[i] = from[i];
    } else {
      for (int64_t i = 0; i < n; ++i) to[i] = *reinterpret_cast<const E*>(given + i * step);
    }
  }
}

void short_loops(void* context, char* const* data, const int64_t* across, int64_t count) {
  const ShortLoops& s = *static_cast<const ShortLoops*>(context);
  const Blocks& b = *s.blocks;
  const auto pack = b.in_size == 1   ? pack_loops<uint8_t>
                    : b.in_size == 2 ? pack_loops<uint16_t>
                    : b.in_size == 4 ? pack_loops<uint32_t>
                    : b.in_size == 8 ? pack_loops<uint64_t>
                                     : pack_loops<Wide>;
  alignas(64) char buffers[kMaxOperands][kBlock * 16];
  const char* in[kMaxOperands];
  const int64_t most = kBlock / s.n;
  for (int64_t at = 0; at < count; at += most) {
    const int64_t m = std::min(most, count - at);
    for (int k = 1; k < b.count; ++k) {
      if (s.steps[k] == int64_t(b.in_size) && across[k] == s.n * s.steps[k]) {
        in[k - 1] = data[k] + at * across[k];
      } else if (at == 0 || across[k] != 0) {  // the same loop again and again is packed once
        pack(data[k] + at * across[k], s.steps[k], s.n, across[k], m, buffers[k]);
        in[k - 1] = buffers[k];
      }
    }
    b.kernel(data[0] + at * across[0], in, m * s.n);
  }
}

// Whether the nest was one of short loops into a packed output, without conversions.
bool run_short_loops(const Nest& nest, const Blocks& b) {
  constexpr int64_t kShort = 64;
  if (nest.dims < 2 || nest.sizes[0] > kShort || nest.sizes[1] < 4 || b.store ||
      nest.steps[0][0] != int64_t(b.out_size) || nest.steps[0][1] != nest.sizes[0] * int64_t(b.out_size))
    return false;
  ShortLoops s{&b, nest.sizes[0], {}};
  Nest outer = nest;
  for (int k = 0; k < nest.operands; ++k) {
    if (b.load[k]) return false;
    s.steps[k] = nest.steps[k][0];
    std::copy(nest.steps[k] + 1, nest.steps[k] + nest.dims, outer.steps[k]);
  }
  std::copy(nest.sizes + 1, nest.sizes + nest.dims, outer.sizes);
  outer.dims = nest.dims - 1;
  int64_t all = s.n;
  for (int d = 0; d < outer.dims; ++d) all *= outer.sizes[d];
  if (all == 0) return true;
  const int64_t last = outer.sizes[outer.dims - 1];
  if (all < 2 * kGrain)
    run_part(outer, short_loops, &s, 0, last);
  else
    parallel_for(last, std::max<int64_t>(1, kGrain / (all / last)),
        [&](int64_t begin, int64_t end) { run_part(outer, short_loops, &s, begin, end); });
  return true;
}

}  // namespace

void run_blocks(IntArrayRef shape, const Operand* operands, int count, DType in, DType result, BlockKernel kernel) {
  Blocks b{count, in, result, itemsize(in), itemsize(result), kernel, {}, {}, nullptr, nullptr};
  for (int k = 1; k < count; ++k) {
    b.gather[k] = converter(in, in);
    if (operands[k].dtype != in) b.load[k] = converter(operands[k].dtype, in);
  }
  b.scatter = converter(result, result);
  if (operands[0].dtype != result) b.store = converter(result, operands[0].dtype);
  const Nest nest = make_nest(shape, operands, count);
  if (!run_short_loops(nest, b)) run_nest(nest, block_loop, &b);
}

// As PyTorch's iterator lays results out: operands of one shape may agree on a format; otherwise the strides of the first operand that
// tells two dimensions apart decide, those of size 1 too. A number beside a tensor (null here) is an operand of another shape.
Tensor allocate_like(IntArrayRef shape, const TensorImpl* const* inputs, int count, DType dtype, Device device) {
  auto fits = [&](const TensorImpl& t) { return std::ranges::equal(shape, t.sizes()); };
  if (count == 1 && inputs[0] && inputs[0]->is_contiguous() && fits(*inputs[0])) return empty(shape, dtype, device);
  bool whole = true, contiguous = true, last = shape.size() == 4, last_3d = shape.size() == 5, equal = true;
  const TensorImpl* first = nullptr;
  for (int k = 0; k < count; ++k) {
    const TensorImpl* t = inputs[k];
    if (!t || !fits(*t)) whole = false;
    if (!t) continue;
    if (!first) first = t;
    if (!whole) break;
    contiguous &= t->is_contiguous();
    last &= t->is_contiguous(MemoryFormat::channels_last);
    last_3d &= t->is_contiguous(MemoryFormat::channels_last_3d);
    equal &= std::ranges::equal(first->strides(), t->strides());
  }
  if (!first || (whole && contiguous)) return empty(shape, dtype, device);
  if (whole && (last || last_3d)) return empty_strided(shape, channels_last_strides(shape), dtype, device);
  if (whole && equal && dense(*first)) return empty_strided(shape, first->strides(), dtype, device);
  if (first->is_contiguous() && fits(*first) && std::ranges::equal(first->strides(), contiguous_strides(shape)))
    return empty(shape, dtype, device);
  std::vector<Dims> strides;
  for (int k = 0; k < count; ++k) {
    if (!inputs[k]) continue;
    Dims& s = strides.emplace_back(shape.size(), 0);
    const TensorImpl& t = *inputs[k];
    const size_t lead = shape.size() - size_t(t.dim());
    for (size_t d = lead; d < shape.size(); ++d)
      if (t.sizes()[d - lead] == shape[d]) s[d] = t.strides()[d - lead];
  }
  return empty_strided(shape, dense_strides(shape, strides), dtype, device);
}

}  // namespace shim
