#include "cpu/mode.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "cpu/parallel.h"
#include "cpu/sort_keys.h"
#include "ops/kernels.h"

namespace shim {
namespace {

// Elements of all dtypes as keys of 64 bits, so that one piece of code serves them.
using ModeItem = Item<uint64_t>;

template <class T> void keys_of_row(const void* row, int64_t n, ModeItem* to) {
  const T* x = static_cast<const T*>(row);
  for (int64_t i = 0; i < n; ++i) to[i] = {key_of(x[i]), uint32_t(i)};
}

struct Best {
  uint64_t count = 0;
  uint32_t at = 0;
};

// Of keys few of which can differ: how often each is there, and where last.
uint32_t counted(const std::vector<ModeItem>& items, uint64_t least, size_t range, std::vector<Best>& tally) {
  tally.assign(range, Best{});
  for (const ModeItem& i : items) {
    Best& b = tally[size_t(i.key - least)];
    ++b.count, b.at = i.at;
  }
  return std::max_element(tally.begin(), tally.end(), [](const Best& a, const Best& b) {
    return a.count < b.count;
  })->at;
}

uint32_t of_runs(const std::vector<ModeItem>& items, bool floats, uint64_t nan) {
  Best best;
  for (size_t i = 0, end; i < items.size(); i = end) {
    for (end = i + 1; end < items.size() && items[end].key == items[i].key && !(floats && items[i].key == nan);) ++end;
    if (end - i > best.count) best = {end - i, items[end - 1].at};
  }
  return best.at;
}

uint32_t place_of_mode(std::vector<ModeItem>& items, std::vector<ModeItem>& spare, std::vector<Best>& tally, DType t) {
  const bool floats = is_floating(t);
  uint64_t least = ~uint64_t(0), most = 0;
  for (const ModeItem& i : items) least = std::min(least, i.key), most = std::max(most, i.key);
  if (!floats && most - least < std::max<uint64_t>(64, 4 * items.size()))
    return counted(items, least, size_t(most - least + 1), tally);
  if (int64_t(items.size()) < kShort)
    std::sort(items.begin(), items.end(), ByKeyAndPlace<uint64_t>());
  else
    radix_sort(items, spare, itemsize(t));
  return of_runs(items, floats, last_key(t));
}

}  // namespace

Outcome<ValuesAndIndices> mode(const Tensor& self, int64_t dim, bool keepdim) {
  const int64_t dims = self->dim();
  if (dims == 0 || !self->numel()) return NotMine{"no dims or no elements"};
  if (dim < -dims || dim >= dims) return NotMine{"a dim out of range"};
  const UnlockedWork others_run(self->numel());
  const size_t d = size_t(dim < 0 ? dim + dims : dim);
  const int64_t n = self->sizes()[d];
  void (*keys)(const void*, int64_t, ModeItem*) = nullptr;
  if (n > (int64_t(1) << 31)) return NotMine{"rows of more than 2**31 elements"};
  if (!of_type(self->dtype(), [&]<class T>(T) { keys = keys_of_row<T>; })) return NotMine{"a dtype without sort keys"};
  Dims shape(self->sizes().begin(), self->sizes().end());
  shape[d] = 1;
  const Tensor rows = contiguous(transpose(*self, int64_t(d), dims - 1)),
               found = empty(rows->sizes().first(size_t(dims - 1)), self->dtype(), Device{});
  const Tensor index = empty(found->sizes(), DType::i64, Device{});
  const size_t size = self->itemsize();
  parallel_for(found->numel(), std::max<int64_t>(1, kGrain / (8 * n)), [&](int64_t begin, int64_t end) {
    std::vector<ModeItem> items(static_cast<size_t>(n)), spare;
    std::vector<Best> tally;
    for (int64_t r = begin; r < end; ++r) {
      const char* row = static_cast<const char*>(rows->data()) + size_t(r * n) * size;
      keys(row, n, items.data());
      const uint32_t at = place_of_mode(items, spare, tally, self->dtype());
      index->data_as<int64_t>()[r] = at;
      std::memcpy(static_cast<char*>(found->data()) + size_t(r) * size, row + at * size, size);
    }
  });
  if (!keepdim) shape.erase(shape.begin() + int64_t(d));
  const auto back = [&](const Tensor& t) {  // the last dim stands where the reduced one was, unless that was the last
    return view(*contiguous(transpose(*unsqueeze(*t, dims - 1), int64_t(d), dims - 1)), shape);
  };
  return ValuesAndIndices{back(found), back(index)};
}

}  // namespace shim
