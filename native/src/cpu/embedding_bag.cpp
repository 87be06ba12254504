// Sums, means and maxima of rows of a table: bags.
#include <algorithm>

#include "cpu/kernel_table.h"
#include "cpu/index_bounds.h"
#include "cpu/parallel.h"
#include "cpu/scatter.h"
#include "cpu/types.h"
#include "ops/kernels.h"

namespace shim {

namespace {

template <class T> SHIM_CLONES void add_row(T* to, const T* row, T factor, int64_t n) {
  typedef T Vector __attribute__((vector_size(32), aligned(alignof(T)), may_alias));
  int64_t i = 0;
  for (constexpr int64_t kWide = 32 / sizeof(T); i + kWide <= n; i += kWide)
    *reinterpret_cast<Vector*>(to + i) += *reinterpret_cast<const Vector*>(row + i) * factor;
  for (; i < n; ++i) to[i] += row[i] * factor;
}

template <class T>
void fill_bag(const T* table, const int64_t* index, int64_t from, int64_t to, int64_t ends, int64_t padding, int mode,
    const T* samples, int64_t width, T* out, int64_t* count, int64_t* most) {
  std::fill_n(out, width, T(0));
  if (most) std::fill_n(most, width, 0);
  int64_t found = 0;
  for (int64_t i = from; i < to; ++i) {
    if (index[i] == padding) continue;
    const T* row = table + index[i] * width;
    if (mode != 2)
      add_row(out, row, samples ? samples[i] : T(1), width);
    else
      for (int64_t k = 0; k < width; ++k)
        if (!found || row[k] > out[k]) out[k] = row[k], most[k] = index[i];
    ++found;
  }
  if (padding < 0) found = std::max<int64_t>(0, ends - from);
  if (mode == 1 && found)
    for (int64_t k = 0; k < width; ++k) out[k] /= T(found);
  *count = found;
}

}  // namespace

bool bags_of_rows(const Tensor& weight, const Tensor& indices, const Tensor& offsets, const Tensor& samples, int mode,
    bool closed, int64_t padding, Bags* found) {
  const int64_t rows = weight->sizes()[0], width = weight->sizes()[1], n = indices->numel(),
                bags = offsets->numel() - closed;
  const auto *index = indices->data_as<int64_t>(), *offset = offsets->data_as<int64_t>();
  if (bags < 1 || !within(*indices, rows) || !within(*offsets, n + 1)) return false;
  found->out = empty(Dims{bags, width}, weight->dtype(), Device{}),
  found->bag_of = empty(Dims{n}, DType::i64, Device{});
  found->counts = empty(Dims{bags}, DType::i64, Device{}),
  found->most = mode == 2 ? empty(Dims{bags, width}, DType::i64, Device{}) : empty(Dims{0}, DType::i64, Device{});
  auto *bag_of = found->bag_of->data_as<int64_t>(), *counts = found->counts->data_as<int64_t>(),
       *most = mode == 2 ? found->most->data_as<int64_t>() : nullptr;
  std::fill_n(bag_of, n, bags);
  // As in PyTorch, whose fast sums of float32 are the only ones that heed the offset of the end; means divide theirs by all of the bag.
  const bool heeded = closed && padding < 0 && weight->dtype() == DType::f32;
  auto end_of = [&](int64_t b) { return b + 1 == bags && !(heeded && mode == 0) ? n : offset[b + 1]; };
  auto taken_to = [&](int64_t b) { return b + 1 == bags && heeded && mode == 1 ? offset[b + 1] : end_of(b); };
  for (int64_t b = 0; b < bags; ++b)
    for (int64_t i = offset[b]; i < end_of(b); ++i) bag_of[i] = b;
  auto run = [&]<class T>(const T* table, T* out) {
    const T* factors = samples ? samples->data_as<T>() : nullptr;
    parallel_for(
        bags, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n / bags * width)), [&](int64_t begin, int64_t end) {
          for (int64_t b = begin; b < end; ++b)
            fill_bag(table, index, offset[b], taken_to(b), end_of(b), padding, mode, factors, width, out + b * width,
                counts + b, most ? most + b * width : nullptr);
        });
  };
  if (weight->dtype() == DType::f32)
    run(weight->data_as<float>(), found->out->data_as<float>());
  else
    run(weight->data_as<double>(), found->out->data_as<double>());
  return true;
}

}  // namespace shim
