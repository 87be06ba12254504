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

// Why there is no kernel for a matrix and these indices; null where there is one.
const char* why_no_bags(const Tensor& matrix, const Tensor& indices) {
  if (!kernels_ready()) return "no NVRTC";
  if (!floating(matrix->dtype())) return "a dtype without a CUDA kernel";
  if (matrix->dim() != 2) return "a table that is no matrix";
  return is_index(indices) ? nullptr : "indices that are no vector of int32 or int64";
}

constexpr NotMine kOtherSamples{"samples' weights that are not one an index, of the table's dtype"};
constexpr NotMine kOtherBags{"bags of other indices"};

}  // namespace

Outcome<std::tuple<Tensor, Tensor, Tensor, Tensor>> embedding_bags(const Tensor& given, const Tensor& given_indices,
    const Tensor& given_offsets, const OptionalTensor& given_samples, int64_t mode, bool closed, int64_t padding) {
  const Tensor& samples = or_null(given_samples);
  const DType t = given->dtype();
  if (const char* why = why_no_bags(given, given_indices)) return NotMine{why};
  if (!is_index(given_offsets) || given_offsets->dtype() != given_indices->dtype())
    return NotMine{"offsets that are no vector of the indices' dtype"};
  if (given_indices->device() != given->device() || given_offsets->device() != given->device())
    return NotMine{"indices or offsets of another device"};
  if (!suits(samples, given_indices, t)) return kOtherSamples;
  int64_t rows = given->sizes()[0], width = given->sizes()[1], count = given_indices->numel(),
          bags = given_offsets->numel() - closed;
  if (bags < 1 || width < 1) return NotMine{"no bags or no columns"};
  const Tensor table = contiguous(given), indices = contiguous(given_indices), offsets = contiguous(given_offsets),
               weights = contiguous_or_null(samples);
  const Device where = given->device();
  const Tensor out = empty(Dims{bags, width}, t, where), bag_of = empty(Dims{count}, DType::i64, where),
               counts = empty(Dims{bags}, DType::i64, where),
               most = empty(mode == 2 ? Dims{bags, width} : Dims{0}, DType::i64, where);
  const int device = where.index, v = vector_for(width, {&table, &out});
  const CUfunction f = embedding_bag_kernel("bags_forward", t, indices->dtype(), v, device);
  if (!f) return NotMine{"a kernel that could not be compiled"};
  const void *from = table->data(), *named = indices->data(), *starts = offsets->data(), *w = data_or_null(weights);
  void *to = out->data(), *of = bag_of->data(), *many = counts->data(), *greatest = mode == 2 ? most->data() : nullptr;
  int how = int(mode), open = 1;  // as in PyTorch's kernels, whatever the last offset says
  void* arguments[] = {
      &from, &named, &starts, &w, &to, &of, &many, &greatest, &bags, &count, &rows, &width, &padding, &how, &open};
  launch(f, blocks_for(bags * (width / v)), 1, 256, 1, arguments, device);
  return std::tuple{out, bag_of, counts, most};
}

Outcome<Tensor> embedding_bags_backward(const Tensor& g, const Tensor& given, const Tensor& bag_of,
    const Tensor& counts, const OptionalTensor& given_samples, int64_t rows, bool mean, int64_t padding) {
  const Tensor& samples = or_null(given_samples);
  const DType t = g->dtype();
  if (const char* why = why_no_bags(g, given)) return NotMine{why};
  if (!suits(samples, given, t)) return kOtherSamples;
  int64_t count = given->numel(), bags = g->sizes()[0], width = g->sizes()[1];
  if (bag_of->dtype() != DType::i64 || bag_of->numel() != count || counts->dtype() != DType::i64 ||
      counts->numel() != bags)
    return kOtherBags;
  if (rows >= INT32_MAX || count > kMostBlocks) return NotMine{"2**31 rows or indices"};
  const Device where = g->device();
  const Tensor out = empty(Dims{rows, width}, t, where);
  const Tensor grad = contiguous(g), indices = contiguous(given), weights = contiguous_or_null(samples),
               spots = contiguous(bag_of), many = contiguous(counts);
  const int device = where.index, v = vector_for(width, {&grad, &out});
  const CUfunction keyed = embedding_bag_kernel("bag_keys", t, indices->dtype(), 1, device),
                   f = embedding_bag_kernel("bags_backward", t, indices->dtype(), v, device);
  if (!keyed || !f) return NotMine{"a kernel that could not be compiled"};
  fill_(out, Scalar{});
  if (!count || !width) return out;
  const Tensor keys = empty(Dims{count}, DType::i32, where);
  const void *named = indices->data(), *of = spots->data();
  void* to_keys = keys->data();
  void* first[] = {&named, &of, &to_keys, &count, &bags, &padding};
  launch(keyed, (count + 255) / 256, 1, 256, 1, first, device);
  auto in_order = sort(keys, 0, false);
  if (!in_order) return in_order.why();
  const auto& [sorted, order] = *in_order;
  const void *slopes = grad->data(), *key = sorted->data(), *at = order->data(), *w = data_or_null(weights),
             *sizes = many->data();
  void* to = out->data();
  int over = mean;
  void* second[] = {&slopes, &key, &at, &of, &w, &sizes, &to, &count, &width, &over};
  launch(f, count, 1, std::min(threads_for(width / v), 256), 1, second, device);
  return out;
}

Outcome<Tensor> embedding_bags_samples(
    const Tensor& g, const Tensor& given, const Tensor& given_indices, const Tensor& bag_of, int64_t padding) {
  const DType t = g->dtype();
  if (const char* why = why_no_bags(given, given_indices)) return NotMine{why};
  if (given->dtype() != t || g->dim() != 2 || g->sizes()[1] != given->sizes()[1])
    return NotMine{"a gradient of another table"};
  int64_t count = given_indices->numel(), bags = g->sizes()[0], rows = given->sizes()[0], width = given->sizes()[1];
  if (bag_of->dtype() != DType::i64 || bag_of->numel() != count) return kOtherBags;
  if ((count + 7) / 8 > kMostBlocks) return NotMine{"more indices than a grid has blocks for"};
  const Tensor grad = contiguous(g), table = contiguous(given), indices = contiguous(given_indices),
               spots = contiguous(bag_of), out = empty(Dims{count}, t, g->device());
  const int device = g->device().index;
  const CUfunction f = embedding_bag_kernel("bag_samples", t, indices->dtype(), 1, device);
  if (!f) return NotMine{"a kernel that could not be compiled"};
  if (!count) return out;
  const void *slopes = grad->data(), *from = table->data(), *named = indices->data(), *of = spots->data();
  void* to = out->data();
  void* arguments[] = {&slopes, &from, &named, &of, &to, &count, &bags, &rows, &width, &padding};
  launch(f, (count + 7) / 8, 1, 256, 1, arguments, device);
  return out;
}

}  // namespace shim::cuda
