#include "cuda/search.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

const Family searches{"search"}, triangles{"triangle"};

}  // namespace

Tensor searchsorted(const Tensor& sequences, const Tensor& values, const Tensor& order, bool right, DType places) {
  const DType t = sequences->dtype();
  const int dims = sequences->dim();
  if (!kernels_ready() || !has_kernel(t) || t == DType::b8 || values->dtype() != t ||
      values->device() != sequences->device() || dims == 0)
    return {};
  if (order && (order->device() != sequences->device() || order->dtype() != DType::i64 ||
                   !std::ranges::equal(order->sizes(), sequences->sizes())))
    return {};
  if (dims > 1 && (values->dim() != dims ||
                      !std::equal(sequences->sizes().begin(), sequences->sizes().end() - 1, values->sizes().begin())))
    return {};
  const int device = values->device().index;
  const CUfunction f = find_kernel(searches, "search", key_of(int(t), int(places)), device, [&] {
    return std::vector<std::string>{
        std::string("ELEMENT=") + element_type(t), std::string("OUT=") + element_type(places), "MAKES=0"};
  });
  if (!f) return {};
  Tensor out = empty(values->sizes(), places, values->device());
  int64_t total = values->numel(), n = sequences->sizes().back(), per_row = dims > 1 ? values->sizes().back() : 0;
  if (!total) return out;
  const Tensor among = contiguous(sequences), wanted = contiguous(values), sorter = order ? contiguous(order) : order;
  const void *s = among->data(), *v = wanted->data(), *o = data_or_null(sorter);
  void* to = out->data();
  int after = right;
  void* arguments[] = {&s, &v, &o, &to, &total, &n, &per_row, &after};
  launch(f, blocks_for(total), 1, 256, 1, arguments, device);
  return out;
}

Tensor linspace(double start, double end, int64_t steps, DType t, Device where) {
  if (!kernels_ready() || (t != DType::f32 && t != DType::f64) || steps < 2 || (steps + 255) / 256 > kMostBlocks)
    return {};
  const Tensor out = empty(Dims{steps}, t, where);
  const int device = out->device().index;
  const CUfunction f = find_kernel(searches, "spaced", key_of(int(t), 63), device,
      [&] { return std::vector<std::string>{std::string("ELEMENT=") + element_type(t), "OUT=i64", "MAKES=1"}; });
  if (!f) return {};
  void* to = out->data();
  float first = float(start), last = float(end), by = (last - first) / float(steps - 1);
  double step = (end - start) / double(steps - 1);
  void* of_floats[] = {&to, &steps, &first, &last, &by};
  void* of_doubles[] = {&to, &steps, &start, &end, &step};
  launch(f, (steps + 255) / 256, 1, 256, 1, t == DType::f32 ? of_floats : of_doubles, device);
  return out;
}

Tensor triangle_indices(int64_t rows, int64_t cols, int64_t diagonal, bool upper, DType t, Device where) {
  constexpr int64_t kMost = int64_t(1) << 31;
  if (!kernels_ready() || (t != DType::i64 && t != DType::i32) || rows < 1 || cols < 1 || rows >= kMost ||
      cols >= kMost || std::abs(diagonal) >= kMost)
    return {};
  // The columns on and below the diagonal, one less for what is above it, row by row.
  const int64_t d = upper ? diagonal - 1 : diagonal, first = std::clamp<int64_t>(-d, 0, rows),
                full = std::clamp<int64_t>(cols - 1 - d, first, rows);
  const int64_t grown = full - first,
                below = grown * std::min(first + d + 1, cols) + grown * (grown - 1) / 2 + (rows - full) * cols;
  int64_t total = upper ? rows * cols - below : below;
  const Tensor out = empty(Dims{2, total}, t, where);
  const int device = out->device().index;
  const CUfunction f = find_kernel(triangles, "triangle_indices", key_of(int(t)), device,
      [&] { return std::vector<std::string>{std::string("OUT=") + element_type(t)}; });
  if (!f) return {};
  if (!total) return out;
  void* to = out->data();
  int above = upper;
  void* arguments[] = {&to, &total, &rows, &cols, &diagonal, &above};
  launch(f, blocks_for(total), 1, 256, 1, arguments, device);
  return out;
}

}  // namespace shim::cuda
