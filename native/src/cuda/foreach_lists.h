#pragma once
// How lists of tensors are given to the kernels of foreach.cuh: in groups that fit one launch.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <vector>

#include "core/dense.h"
#include "cuda/elementwise.h"
#include "cuda/entries/foreach.h"

namespace shim::cuda::foreach_lists {

constexpr int kMost = 40;  // MOST of foreach.cuh
using Tensors = std::span<const Tensor>;

inline const Family foreach_family{"foreach"};

template <int pointers, class C> struct Lists {
  void* of[pointers][kMost];
  int64_t size[kMost];
  uint32_t first[kMost + 1];
  C number[kMost];
  int count;
};

// Whether each tensor of a list is one block of memory, in whose order that of the other goes through the elements too.
inline bool in_order_of(const TensorImpl& t, const TensorImpl& first) {
  if (first.is_contiguous()) return t.is_contiguous() && t.numel() == first.numel();
  return std::ranges::equal(t.sizes(), first.sizes()) && std::ranges::equal(t.strides(), first.strides()) &&
         dense(first);
}

// Whether every list has as many tensors as the first, of one dtype and device, that lie as the first's do.
inline bool alike(std::initializer_list<Tensors> lists) {
  const Tensors first = *lists.begin();
  if (first.empty() || !kernels_ready() || !floating(first[0]->dtype()) || !first[0]->device().is_cuda()) return false;
  for (Tensors l : lists) {
    if (l.empty()) continue;  // an optional one
    if (l.size() != first.size()) return false;
    for (size_t i = 0; i < l.size(); ++i)
      if (l[i]->dtype() != first[0]->dtype() || l[i]->device() != first[0]->device() || !in_order_of(*l[i], *first[i]))
        return false;
  }
  return true;
}

inline int vector_of_all(std::initializer_list<Tensors> lists) {
  int v = 16;
  for (Tensors l : lists)
    for (const Tensor& t : l)
      if (t->numel()) v = std::min(v, vector_of(t->data(), t->itemsize()));
  return v;
}

inline std::vector<std::string> macros(DType t, int vector, const std::string& own) {
  return {std::string("ELEMENT=") + element_type(t), std::string("C=") + compute_type(cuda::compute_dtype(t)),
      "V=" + std::to_string(vector), own};
}

template <class E> Kernel<E> foreach_kernel(const char* part, int which, DType t, int vector, int device) {
  return find_kernel<E>(foreach_family, key_of(which, int(t), vector), device,
      [&] { return macros(t, vector, std::string(part) + "=" + std::to_string(which)); });
}

// f(lists, first tensor, how many, blocks) for groups of tensors that fit one launch; empty tensors are left out.
template <int pointers, class C, class F>
void groups(const std::array<Tensors, size_t(pointers)>& all, int vector, F f) {
  Lists<pointers, C> l{};
  std::vector<size_t> taken;
  const int64_t chunk = 256 * int64_t(vector);
  int64_t blocks = 0;
  const auto flush = [&] {
    if (taken.empty()) return;
    l.count = int(taken.size());
    l.first[l.count] = uint32_t(blocks);
    f(l, taken, blocks);
    taken.clear();
    blocks = 0;
  };
  for (size_t i = 0; i < all[0].size(); ++i) {
    const int64_t n = all[0][i]->numel(), more = (n + chunk - 1) / chunk;
    if (!n) continue;
    if (taken.size() == size_t(kMost) || blocks + more > kMostBlocks) flush();
    const size_t at = taken.size();
    for (int p = 0; p < pointers; ++p) l.of[p][at] = all[size_t(p)].empty() ? nullptr : all[size_t(p)][i]->data();
    l.size[at] = n;
    l.first[at] = uint32_t(blocks);
    blocks += more;
    taken.push_back(i);
  }
  flush();
}

// F<C>() with the compute type of these dtypes.
template <class F> auto computed(DType t, F f) { return t == DType::f64 ? f(double()) : f(float()); }

}  // namespace shim::cuda::foreach_lists
