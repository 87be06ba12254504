#include "cpu/reduce.h"

#include <algorithm>
#include <vector>

#include "core/order.h"
#include "cpu/parallel.h"
#include "cpu/reduce_loops.h"
#include "ops/cuda_kernels.h"
#include "ops/kernels.h"

namespace shim {
namespace {

void reduce_rows(const Loops& loops, const char* x, Source from, char* to, int64_t rows, int64_t cols) {
  if (!from.load) from.size = loops.size;
  if (rows == 1 &&
      cols >= 2 * kGrain) {  // one long row: fixed pieces, so that the result does not depend on the threads
    const int64_t pieces = (cols + kGrain - 1) / kGrain;
    std::vector<std::complex<double>> partial(
        size_t((pieces * loops.size + 15) / 16));  // as many bytes, aligned for every type
    auto* results = reinterpret_cast<char*>(partial.data());
    parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        loops.piece(x + p * kGrain * from.size, from, results + p * loops.size, std::min(kGrain, cols - p * kGrain));
    });
    return loops.joined(results, {nullptr, loops.size}, to, pieces);
  }
  if (loops.narrow && !from.load && cols > 0 && cols <= kNarrow && rows >= 4) {
    parallel_for(rows, kGrain / cols, [&](int64_t begin, int64_t end) {
      loops.narrow(x + begin * cols * loops.size, to + begin * loops.size, end - begin, cols);
    });
    return;
  }
  parallel_for(rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(cols, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) loops.piece(x + r * cols * from.size, from, to + r * loops.size, cols);
  });
}

// A strip of columns: rows are halved, so that errors grow with the logarithm of their number.
constexpr int64_t kFewRows = 64, kStrip = 128;
void columns(const Loops& loops, const char* x, char* to, int64_t rows, int64_t step, int64_t width) {
  if (rows <= kFewRows) return loops.strip(x, to, rows, step, width);
  alignas(64) char other[kStrip * sizeof(std::complex<double>)];
  columns(loops, x, to, rows / 2, step, width);
  columns(loops, x + rows / 2 * step * loops.size, other, rows - rows / 2, step, width);
  loops.both(to, other, width);
}

// One whose elements are converted as they are read, a few rows at a time.
__attribute__((noinline)) void few_columns(
    const Loops& loops, const char* x, Source from, char* to, int64_t rows, int64_t step, int64_t width) {
  if (from.dtype == DType::bf16 && loops.strip_of_bfloat16) return loops.strip_of_bfloat16(x, to, rows, step, width);
  alignas(64) char buffer[kFewRows * kStrip * sizeof(float)];
  for (int64_t r = 0; r < rows; ++r)
    (*from.load)(x + r * step * from.size, from.size, buffer + r * kStrip * loops.size, loops.size, width);
  loops.strip(buffer, to, rows, kStrip, width);
}
void passing_columns(
    const Loops& loops, const char* x, Source from, char* to, int64_t rows, int64_t step, int64_t width) {
  if (rows <= kFewRows) return few_columns(loops, x, from, to, rows, step, width);
  alignas(64) char halves[2 * kStrip * sizeof(float)];
  const int64_t half = rows / 2;
  passing_columns(loops, x, from, halves, half, step, width);
  passing_columns(loops, x + half * step * from.size, from, halves + kStrip * loops.size, rows - half, step, width);
  loops.strip(halves, to, 2, kStrip, width);
}

// `batches` times rows of columns, one after the other.
void reduce_columns(
    const Loops& loops, const char* x, Source from, char* to, int64_t batches, int64_t rows, int64_t cols) {
  const int64_t strips = (cols + kStrip - 1) / kStrip, size = from.load ? from.size : loops.size;
  const int64_t work = std::max<int64_t>(rows * std::min(cols, kStrip), 1);
  parallel_for(batches * strips, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t batch = i / strips, at = i % strips * kStrip, width = std::min(kStrip, cols - at);
      const char* in = x + (batch * rows * cols + at) * size;
      char* out = to + (batch * cols + at) * loops.size;
      if (from.load)
        passing_columns(loops, in, from, out, rows, cols, width);
      else
        columns(loops, in, out, rows, cols, width);
    }
  });
}

template <class Op> Loops float_loops(DType t) {
  return t == DType::f32 ? loops_of<Op, float>() : t == DType::f64 ? loops_of<Op, double>() : Loops{};
}

template <class Op> Loops sum_loops(DType t) {
  if (t == DType::i64) return loops_of<Op, int64_t>();
  if (t == DType::c64) return loops_of<Op, std::complex<float>>();
  if (t == DType::c128) return loops_of<Op, std::complex<double>>();
  return float_loops<Op>(t);
}

template <class Op> Loops extreme_loops(DType t) {
  switch (t) {
    case DType::b8:
    case DType::u8: return loops_of<Op, uint8_t>();
    case DType::i8: return loops_of<Op, int8_t>();
    case DType::i16: return loops_of<Op, int16_t>();
    case DType::i32: return loops_of<Op, int32_t>();
    case DType::i64: return loops_of<Op, int64_t>();
    default: return float_loops<Op>(t);
  }
}

Loops find_loops(Reduction op, DType t) {
  switch (op) {
    case Reduction::sum:
    case Reduction::mean: return sum_loops<SumOp>(t);
    case Reduction::prod: return sum_loops<ProdOp>(t);
    case Reduction::amax: return extreme_loops<MaxOp>(t);
    case Reduction::amin: return extreme_loops<MinOp>(t);
    case Reduction::any: return t == DType::b8 ? loops_of<MaxOp, uint8_t>() : Loops{};
    case Reduction::all: return t == DType::b8 ? loops_of<MinOp, uint8_t>() : Loops{};
    case Reduction::nansum: return float_loops<NanSumOp>(t);
  }
  return {};
}

DType output_dtype(Reduction op, DType in, DType wanted) {
  if (op == Reduction::any || op == Reduction::all) return in == DType::u8 ? DType::u8 : DType::b8;
  if (wanted != DType::undefined) return wanted;
  const bool adds = op == Reduction::sum || op == Reduction::prod || op == Reduction::nansum;
  return adds && is_integral(in, true) ? DType::i64 : in;
}

Tensor as(const Tensor& t, DType dtype) {  // contiguous, of that dtype
  if (t->dtype() == dtype && t->is_contiguous()) return t;
  Tensor out = empty(t->sizes(), dtype, Device{});
  copy_(out, t);
  return out;
}

// The count of complex means is a complex number, as in PyTorch: an infinite part makes the other one NaN.
void divide(const Tensor& t, int64_t count, DType compute) {
  if (compute == DType::f32)
    for (int64_t i = 0; i < t->numel(); ++i) t->data_as<float>()[i] /= float(count);
  else if (compute == DType::f64)
    for (int64_t i = 0; i < t->numel(); ++i) t->data_as<double>()[i] /= double(count);
  else if (compute == DType::c64)
    for (int64_t i = 0; i < t->numel(); ++i)
      t->data_as<std::complex<float>>()[i] /= std::complex<float>(float(count), 0);
  else
    for (int64_t i = 0; i < t->numel(); ++i)
      t->data_as<std::complex<double>>()[i] /= std::complex<double>(double(count), 0);
}

}  // namespace

float extreme_value(const float* x, int64_t n, bool largest) {
  return largest ? extreme_of<float, true>(x, n) : extreme_of<float, false>(x, n);
}
double extreme_value(const double* x, int64_t n, bool largest) {
  return largest ? extreme_of<double, true>(x, n) : extreme_of<double, false>(x, n);
}
float sum_value(const float* x, int64_t n) {
  return pairwise<SumOp, float>(reinterpret_cast<const char*>(x), {nullptr, sizeof(float)}, n);
}
double sum_value(const double* x, int64_t n) {
  return pairwise<SumOp, double>(reinterpret_cast<const char*>(x), {nullptr, sizeof(double)}, n);
}

namespace {

// A permutation of a contiguous tensor: its dims in the order of memory, and the result's put back.
Tensor reduced_as_in_memory(Reduction op, const Tensor& self, const bool* reduced, bool keepdim, DType result) {
  const int n = self->dim();
  Dims order, dims, shape;
  for (int d = 0; d < n; ++d) order.push_back(d);
  sort_few(order.data(), order.data() + n,
      [&](int64_t a, int64_t b) { return self->strides()[size_t(a)] > self->strides()[size_t(b)]; });
  Dims back(size_t(n), 0);
  for (int i = 0; i < n; ++i) {
    back[size_t(order[size_t(i)])] = i;
    if (reduced[order[size_t(i)]]) dims.push_back(i);
  }
  for (int d = 0; d < n; ++d)
    if (!reduced[d] || keepdim) shape.push_back(reduced[d] ? 1 : self->sizes()[size_t(d)]);
  const Tensor r = reduce(op, contiguous(permute(*self, order)), dims, true, result);
  return r ? view(*contiguous(permute(*r, back)), shape) : r;
}

// Reduced dims on either side of kept ones: the last ones first, as rows, and then the others, in the dtype that is computed in.
Tensor reduced_in_stages(
    Reduction op, const Tensor& self, const bool* reduced, bool keepdim, DType result, int64_t count) {
  const int n = self->dim();
  const Reduction part = op == Reduction::mean ? Reduction::sum : op,
                  whole = op == Reduction::nansum ? Reduction::sum : part;
  const DType compute = op == Reduction::any || op == Reduction::all ? DType::undefined : compute_dtype(result);
  Dims last, others, shape;
  for (int d = n - 1; d >= 0 && reduced[d]; --d) last.push_back(d);
  for (int d = 0; d < n - int(last.size()); ++d)
    if (reduced[d]) others.push_back(d);
  for (int d = 0; d < n; ++d)
    if (!reduced[d] || keepdim) shape.push_back(reduced[d] ? 1 : self->sizes()[size_t(d)]);
  Tensor r = reduce(part, self, last, true, compute);
  if (r) r = reduce(whole, r, others, true, compute);
  if (!r) return r;
  if (op == Reduction::mean) divide(r, count, compute);
  r = view(*r, shape);
  return r->dtype() == result ? r : to_dtype(r, result);
}

Tensor without_nans(const Tensor& self, DType compute) {
  Tensor out = empty(self->sizes(), compute, Device{});
  copy_(out, self);
  auto clean = [&]<class T>(T* x) {
    parallel_for(out->numel(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) x[i] = x[i] == x[i] ? x[i] : T(0);
    });
  };
  compute == DType::f32 ? clean(out->data_as<float>()) : clean(out->data_as<double>());
  return out;
}

}  // namespace

Outcome<Tensor> reduced_over(Reduction op, const Tensor& self, IntArrayRef dims, bool keepdim, DType dtype) {
  const DType in = self->dtype();
  if (self->device().is_meta()) return NotMine{"meta tensors"};
  if (itemsize(in) == 1 && is_floating(in)) return NotMine{"8-bit floats"};
  if (op == Reduction::nansum && is_integral(in, true)) op = Reduction::sum;
  const DType result = output_dtype(op, in, dtype);
  const DType compute = op == Reduction::any || op == Reduction::all ? DType::b8 : compute_dtype(result);
  const Loops loops = find_loops(op, compute);
  if (!loops.piece) return NotMine{"a dtype that is not reduced so"};
  if (op == Reduction::mean && is_integral(result, true)) return NotMine{"means of integers, which PyTorch refuses"};
  const int n = self->dim();
  bool reduced[kMaxDims] = {};
  if (dims.empty()) std::fill_n(reduced, n, true);
  for (int64_t d : dims) {
    bool& r = reduced[wrap_dim(d, n)];
    if (r && n) return NotMine{"a dim named twice"};
    r = true;
  }
  Dims order, kept, shape;
  int64_t rows = 1, cols = 1;
  for (int d = 0; d < n; ++d) {
    if (!reduced[d])
      order.push_back(d), kept.push_back(self->sizes()[d]), rows *= self->sizes()[d];
    else
      cols *= self->sizes()[d];
    if (!reduced[d] || keepdim) shape.push_back(reduced[d] ? 1 : self->sizes()[d]);
  }
  if (cols == 0 && (op == Reduction::amax || op == Reduction::amin)) return NotMine{"no elements"};
  if (!self->device().is_cpu()) {
    Tensor out = empty(shape, result, self->device());
    if (!cuda::reduce(op, *self, reduced, compute, out, op == Reduction::mean ? double(cols) : 1))
      return NotMine{"no CUDA kernel of the dtype, or none that was compiled"};
    return out;
  }
  if (self->numel() > 4096) {
    if (!self->is_contiguous() && dense(*self))
      return or_not_mine(reduced_as_in_memory(op, self, reduced, keepdim, result), "a permutation of memory");
    if (self->is_contiguous() && reduced[n - 1] && rows > 1)
      for (int d = 1; d < n - 1; ++d)
        if (reduced[d - 1] && !reduced[d])
          return or_not_mine(reduced_in_stages(op, self, reduced, keepdim, result, cols), "dims on either side");
  }
  const size_t leading = order.size();
  for (int d = 0; d < n; ++d)
    if (reduced[d]) order.push_back(d);
  Tensor out = empty(shape, compute, Device{});
  // Reduced dims in one block, kept ones behind it: columns, as many times as the dims before the block say. Otherwise rows, copied
  // together if need be.
  bool columns = self->is_contiguous() && leading > 0 && int(leading) < n && !reduced[n - 1] && rows > 1;
  const int block = int(std::find(reduced, reduced + n, true) - reduced);
  for (int d = block + 1; columns && d < n; ++d) columns = !(reduced[d] && !reduced[d - 1]);
  if (columns && op == Reduction::nansum)
    return reduced_over(Reduction::sum, without_nans(self, compute), dims, keepdim, result);
  if (op == Reduction::all && cols == 0)
    std::fill_n(out->data_as<uint8_t>(), rows, uint8_t(1));
  else if (rows) {
    Tensor seen = columns || (leading == 0 && self->is_contiguous()) ? self : permute(*self, order);
    const bool passing = seen->is_contiguous() && compute == DType::f32 && (in == DType::f16 || in == DType::bf16);
    if (!passing) seen = as(seen, compute);
    const Source from = passing ? Source{converter(in, compute), int64_t(itemsize(in)), in} : Source{};
    auto* x = static_cast<const char*>(seen->data());
    auto* to = static_cast<char*>(out->data());
    const int64_t batches = columns ? product_of(self->sizes(), 0, size_t(block)) : 1;
    columns ? reduce_columns(loops, x, from, to, batches, cols, rows / batches)
            : reduce_rows(loops, x, from, to, rows, cols);
  }
  if (op == Reduction::mean) divide(out, cols, compute);
  return result == compute ? out : to_dtype(out, result);
}

Tensor reduce(Reduction op, const Tensor& self, IntArrayRef dims, bool keepdim, DType dtype) {
  const auto r = reduced_over(op, self, dims, keepdim, dtype);
  return r ? *r : Tensor{};
}

}  // namespace shim
