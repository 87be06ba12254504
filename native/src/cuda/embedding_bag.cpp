#include "cuda/embedding_bag.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "cuda/sort.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

const Family embedding_bag_family{"embedding_bag"};

CUfunction embedding_bag_kernel(const char* entry, DType t, DType index, int vector, int device) {
  return find_kernel(embedding_bag_family, entry, key_of(int(t), int(index), vector), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t),
        std::string("C=") + compute_type(compute_dtype(t)), "V=" + std::to_string(vector),
        index == DType::i32 ? "INDEX=int" : "INDEX=i64"};
  });
}

bool is_index(const Tensor& t) { return (t->dtype() == DType::i64 || t->dtype() == DType::i32) && t->dim() == 1; }
bool suits(const Tensor& samples, const Tensor& indices, DType t) {
  return !samples ||
         (samples->dtype() == t && samples->numel() == indices->numel() && samples->device() == indices->device());
}

}  // namespace

Bags embedding_bags(const Tensor& given, const Tensor& given_indices, const Tensor& given_offsets,
    const Tensor& samples, int mode, bool closed, int64_t padding) {
  const DType t = given->dtype();
  if (!kernels_ready() || !floating(t) || given->dim() != 2 || !is_index(given_indices) || !is_index(given_offsets) ||
      given_offsets->dtype() != given_indices->dtype())
    return {};
  if (given_indices->device() != given->device() || given_offsets->device() != given->device() ||
      !suits(samples, given_indices, t))
    return {};
  int64_t rows = given->sizes()[0], width = given->sizes()[1], count = given_indices->numel(),
          bags = given_offsets->numel() - closed;
  if (bags < 1 || width < 1) return {};
  const Tensor table = contiguous(given), indices = contiguous(given_indices), offsets = contiguous(given_offsets),
               weights = contiguous_or_null(samples);
  const Device where = given->device();
  Bags r{empty(Dims{bags, width}, t, where), empty(Dims{count}, DType::i64, where),
      empty(Dims{bags}, DType::i64, where), {}};
  if (mode == 2) r.most = empty(Dims{bags, width}, DType::i64, where);
  const int device = where.index, v = vector_for(width, {&table, &r.out});
  const CUfunction f = embedding_bag_kernel("bags_forward", t, indices->dtype(), v, device);
  if (!f) return {};
  const void *from = table->data(), *named = indices->data(), *starts = offsets->data(), *w = data_or_null(weights);
  void *to = r.out->data(), *of = r.bag_of->data(), *many = r.counts->data(), *most = data_or_null(r.most);
  int open = 1;  // as in PyTorch's kernels, whatever the last offset says
  void* arguments[] = {
      &from, &named, &starts, &w, &to, &of, &many, &most, &bags, &count, &rows, &width, &padding, &mode, &open};
  launch(f, blocks_for(bags * (width / v)), 1, 256, 1, arguments, device);
  return r;
}

Tensor embedding_bags_backward(const Tensor& g, const Tensor& given, const Tensor& bag_of, const Tensor& counts,
    const Tensor& samples, int64_t rows, bool mean, int64_t padding) {
  const DType t = g->dtype();
  if (!kernels_ready() || !floating(t) || g->dim() != 2 || !is_index(given) || !suits(samples, given, t) ||
      rows >= INT32_MAX)
    return {};
  int64_t count = given->numel(), bags = g->sizes()[0], width = g->sizes()[1];
  if (bag_of->dtype() != DType::i64 || bag_of->numel() != count || counts->dtype() != DType::i64 ||
      counts->numel() != bags || count > kMostBlocks)
    return {};
  const Device where = g->device();
  const Tensor out = empty(Dims{rows, width}, t, where);
  const Tensor grad = contiguous(g), indices = contiguous(given), weights = contiguous_or_null(samples),
               spots = contiguous(bag_of), many = contiguous(counts);
  const int device = where.index, v = vector_for(width, {&grad, &out});
  const CUfunction keyed = embedding_bag_kernel("bag_keys", t, indices->dtype(), 1, device),
                   f = embedding_bag_kernel("bags_backward", t, indices->dtype(), v, device);
  if (!keyed || !f) return {};
  fill_(out, Scalar{});
  if (!count || !width) return out;
  const Tensor keys = empty(Dims{count}, DType::i32, where);
  const void *named = indices->data(), *of = spots->data();
  void* to_keys = keys->data();
  void* first[] = {&named, &of, &to_keys, &count, &bags, &padding};
  launch(keyed, (count + 255) / 256, 1, 256, 1, first, device);
  auto in_order = sort(keys, 0, false);
  if (!in_order) return {};
  const auto& [sorted, order] = *in_order;
  const void *slopes = grad->data(), *key = sorted->data(), *at = order->data(), *w = data_or_null(weights),
             *sizes = many->data();
  void* to = out->data();
  int over = mean;
  void* second[] = {&slopes, &key, &at, &of, &w, &sizes, &to, &count, &width, &over};
  launch(f, count, 1, std::min(threads_for(width / v), 256), 1, second, device);
  return out;
}

Tensor embedding_bags_samples(
    const Tensor& g, const Tensor& given, const Tensor& given_indices, const Tensor& bag_of, int64_t padding) {
  const DType t = g->dtype();
  if (!kernels_ready() || !floating(t) || given->dtype() != t || given->dim() != 2 || g->dim() != 2 ||
      g->sizes()[1] != given->sizes()[1] || !is_index(given_indices))
    return {};
  int64_t count = given_indices->numel(), bags = g->sizes()[0], rows = given->sizes()[0], width = given->sizes()[1];
  if (bag_of->dtype() != DType::i64 || bag_of->numel() != count || (count + 7) / 8 > kMostBlocks) return {};
  const Tensor grad = contiguous(g), table = contiguous(given), indices = contiguous(given_indices),
               spots = contiguous(bag_of), out = empty(Dims{count}, t, g->device());
  const int device = g->device().index;
  const CUfunction f = embedding_bag_kernel("bag_samples", t, indices->dtype(), 1, device);
  if (!f) return {};
  if (!count) return out;
  const void *slopes = grad->data(), *from = table->data(), *named = indices->data(), *of = spots->data();
  void* to = out->data();
  void* arguments[] = {&slopes, &from, &named, &of, &to, &count, &bags, &rows, &width, &padding};
  launch(f, (count + 7) / 8, 1, 256, 1, arguments, device);
  return out;
}

}  // namespace shim::cuda
