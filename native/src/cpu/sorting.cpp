#include "cpu/sorting.h"

#include <cstring>
#include <functional>

#include "core/order.h"
#include "cpu/parallel.h"
#include "cpu/sort_keys.h"

namespace shim {
namespace {

// Rows of the last dim: contiguous, copied together where they are not.
struct Rows {
  Tensor data;
  int64_t rows = 0, cols = 0;
  bool moved = false;
  int64_t dim = 0;
};

Outcome<Rows> rows_of(const Tensor& self, int64_t dim) {
  const int64_t n = self->dim();
  if (!has_keys(self->dtype())) return NotMine{"a dtype without sort keys"};
  if (n == 0) return NotMine{"no dims"};
  if (dim < -n || dim >= n) return NotMine{"a dim out of range"};
  Rows r;
  r.dim = dim < 0 ? dim + n : dim;
  r.moved = r.dim != n - 1;
  r.data = contiguous(r.moved ? transpose(*self, r.dim, n - 1) : self);
  r.cols = self->sizes()[size_t(r.dim)];
  r.rows = r.cols ? self->numel() / r.cols : 0;
  if (r.cols >= (int64_t(1) << 32)) return NotMine{"rows of 2**32 elements"};
  return r;
}

Tensor moved_back(const Rows& r, const Tensor& t) {
  return r.moved ? contiguous(transpose(*t, r.dim, t->dim() - 1)) : t;
}

// f(items, spare, row, elements) for each row, items holding its keys (inverted where the largest come first) and places.
template <class K, class F> void each_row(const Rows& r, bool inverted, F&& f) {
  const DType t = r.data->dtype();
  const char* x = static_cast<const char*>(r.data->data());
  parallel_for(
      r.rows, std::max<int64_t>(1, kGrain / (8 * std::max<int64_t>(r.cols, 1))), [&](int64_t begin, int64_t end) {
        std::vector<Item<K>> items, spare;
        for (int64_t row = begin; row < end; ++row) {
          const char* from = x + row * r.cols * int64_t(itemsize(t));
          items.resize(size_t(r.cols));
          keys_of(t, from, r.cols, inverted, items.data());
          f(items, spare, row, from);
        }
      });
}

// Which of equal items a selection gives depends on its steps: these are those of PyTorch's, on the same library.
template <class K> void select_first(std::vector<Item<K>>& items, int64_t count, bool in_order) {
  const auto first = items.begin(), last = items.end();
  if (count * 64 <= int64_t(items.size())) {
    std::partial_sort(first, first + count, last, ByKey<K>());
  } else if (count > 0) {
    std::nth_element(first, first + count - 1, last, ByKey<K>());
    if (in_order) std::sort(first, first + count - 1, ByKey<K>());
  }
}

// The first `count` of each row's keys, in order where `in_order`. All of them: the first of equal ones first.
ValuesAndIndices ranked(const Tensor& self, const Rows& r, int64_t count, bool inverted, bool all, bool in_order) {
  Dims shape(r.data->sizes().begin(), r.data->sizes().end());
  shape.back() = count;
  Tensor index = empty(shape, DType::i64, Device{}), picked = empty(shape, self->dtype(), Device{});
  const size_t bytes = self->itemsize();
  with_key(self->dtype(), [&]<class K>(K) {
    const Taker<K> take = taker<K>(bytes);
    each_row<K>(
        r, inverted, [&](std::vector<Item<K>>& items, std::vector<Item<K>>& spare, int64_t row, const char* from) {
          if (!all)
            select_first(items, count, in_order);
          else if (r.cols <= kShort)
            std::sort(items.begin(), items.end(), ByKeyAndPlace<K>());
          else
            radix_sort(items, spare, bytes);
          int64_t* indices = index->data_as<int64_t>() + row * count;
          for (int64_t i = 0; i < count; ++i) indices[i] = items[size_t(i)].at;
          take(items.data(), count, from, static_cast<char*>(picked->data()) + row * count * int64_t(bytes));
        });
  });
  return {moved_back(r, picked), moved_back(r, index)};
}

// The k-th smallest (from 0) of n keys, with room for n in `a` and in `b`. Both sides of the pivot are written without branches, which
// nobody could predict.
template <class K> K kth_key(const K* keys, K* a, K* b, int64_t n, int64_t k) {
  const K* from = keys;
  for (int round = 0; n > 16; ++round) {
    if (round == 64) {  // pivots that never split: the library's way is bounded
      std::copy_n(from, n, b);
      std::nth_element(b, b + k, b + n);
      return b[k];
    }
    K p[3] = {from[n / 4], from[n / 2], from[n - 1 - n / 4]};
    sort_few(p, p + 3, std::less<K>());
    int64_t less = 0, more = 0;
    for (int64_t i = 0; i < n; ++i) {
      const K v = from[i];
      a[less] = v;
      a[n - 1 - more] = v;
      less += v < p[1];
      more += v > p[1];
    }
    if (k >= less && k < n - more) return p[1];
    const bool low = k < less;
    from = low ? a : a + (n - more);
    k = low ? k : k - (n - more);
    n = low ? less : more;
    std::swap(a, b);
  }
  std::copy_n(from, n, b);
  sort_few(b, b + n, std::less<K>());
  return b[k];
}

// Hoare's FIND (1961): puts the k-th smallest (from 0) in its place, smaller ones before it. The pivot is the median of the first, the
// middle and the last, which Sedgewick's exchanges (1978) leave first, between what stops either scan: where equal ones go, and so
// which of them is found, follows from this order, PyTorch's.
template <class I> void put_kth_in_place(std::vector<I>& items, int64_t k) {
  const auto in_order = [](I& a, I& b) {
    if (a.key > b.key) std::swap(a, b);
  };
  I *low = items.data(), *high = low + items.size() - 1, *const kth = low + k;
  while (high - low > 1) {
    I &pivot = *low, &second = low[1];
    std::swap(second, low[(high - low) / 2]);
    in_order(second, *high), in_order(pivot, *high), in_order(second, pivot);
    I *up = low + 1, *down = high;
    for (;;) {
      while ((++up)->key < pivot.key) {}
      while ((--down)->key > pivot.key) {}
      if (up > down) break;
      std::swap(*up, *down);
    }
    std::swap(pivot, *down);
    if (down == kth) return;
    if (down < kth)
      low = up;
    else
      high = down - 1;
  }
  if (low < high) in_order(*low, *high);
}

// The place of each row's k-th smallest; of a row with a NaN its first one.
template <class K> void kth_of_rows(const Rows& r, int64_t k, int64_t* indices) {
  const int64_t n = r.cols;
  const DType t = r.data->dtype();
  const bool nans = is_floating(t);
  const K last = K(last_key(t));
  parallel_for(r.rows, std::max<int64_t>(1, kGrain / (8 * n)), [&](int64_t begin, int64_t end) {
    std::vector<K> keys(size_t(3 * n));
    for (int64_t row = begin; row < end; ++row) {
      keys_of(t, static_cast<const char*>(r.data->data()) + row * n * int64_t(itemsize(t)), n, false, keys.data());
      K most = 0;
      for (int64_t i = 0; nans && i < n; ++i) most = std::max(most, keys[size_t(i)]);
      const bool nan = nans && most == last;
      const K wanted = nan ? most : kth_key(keys.data(), keys.data() + n, keys.data() + 2 * n, n, k);
      int64_t before = 0, at = 0;
      for (int64_t i = 0; i < n; ++i) before += keys[size_t(i)] < wanted;
      for (int64_t left = nan ? 0 : k - before; keys[size_t(at)] != wanted || left-- > 0;) ++at;
      indices[row] = at;
    }
  });
}

// The k-th smallest (from 0) of each row. `nan_first`: the first of equal ones, and a NaN is taken wherever there is one.
ValuesAndIndices kth(const Tensor& self, const Rows& r, int64_t k, bool keepdim, bool nan_first) {
  Dims shape(r.data->sizes().begin(), r.data->sizes().end()), kept(self->sizes().begin(), self->sizes().end());
  shape.back() = 1;
  if (keepdim)
    kept[size_t(r.dim)] = 1;
  else
    kept.erase(kept.begin() + r.dim);
  Tensor index = empty(shape, DType::i64, Device{}), picked = empty(shape, self->dtype(), Device{});
  int64_t* indices = index->data_as<int64_t>();
  with_key(self->dtype(), [&]<class K>(K) {
    if (nan_first) return kth_of_rows<K>(r, k, indices);
    each_row<K>(r, false, [&](std::vector<Item<K>>& items, auto&, int64_t row, const char*) {
      put_kth_in_place(items, k);
      indices[row] = items[size_t(k)].at;
    });
  });
  const size_t bytes = self->itemsize();
  auto* from = static_cast<const char*>(r.data->data());
  auto* to = static_cast<char*>(picked->data());
  for (int64_t row = 0; row < r.rows; ++row)
    std::memcpy(to + size_t(row) * bytes, from + size_t(row * r.cols + indices[row]) * bytes, bytes);
  return {view(*moved_back(r, picked), kept), view(*moved_back(r, index), kept)};
}

}  // namespace

Outcome<ValuesAndIndices> kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  if (self->dtype() == DType::b8) return NotMine{"bool tensors, which PyTorch refuses"};
  Outcome<Rows> r = rows_of(self, dim);
  if (!r) return r.why();
  if (k < 1 || k > r->cols) return NotMine{"k out of range"};
  return unlocked(self->numel(), [&] { return kth(self, *r, k - 1, keepdim, false); });
}

Outcome<ValuesAndIndices> median_dim(const Tensor& self, int64_t dim, bool keepdim) {
  if (self->dtype() == DType::b8) return NotMine{"bool tensors, which PyTorch refuses"};
  if (!self->numel()) return NotMine{"no elements"};
  Outcome<Rows> r = rows_of(self, dim);
  if (!r) return r.why();
  return unlocked(self->numel(), [&] { return kth(self, *r, (r->cols - 1) / 2, keepdim, true); });
}

Outcome<Tensor> median(const Tensor& self) {
  auto found = median_dim(view(*contiguous(self), Dims{self->numel()}), 0, false);
  if (!found) return found.why();
  return std::get<0>(*found);
}

Outcome<ValuesAndIndices> sort(const Tensor& self, int64_t dim, bool descending) {
  Outcome<Rows> r = rows_of(self, dim);
  if (!r) return r.why();
  return unlocked(self->numel(), [&]() -> ValuesAndIndices {
    const auto [values, indices] = ranked(self, *r, r->cols, descending, true, true);
    return {laid_out_as(values, *self), laid_out_as(indices, *self)};
  });
}

Outcome<ValuesAndIndices> top_k(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted) {
  if (self->dtype() == DType::b8) return NotMine{"bool tensors, which PyTorch does not rank"};
  Outcome<Rows> r = rows_of(self, dim);
  if (!r) return r.why();
  if (k < 0 || k > r->cols) return NotMine{"k out of range"};
  return unlocked(self->numel(), [&] { return ranked(self, *r, k, largest, false, sorted); });
}

}  // namespace shim
