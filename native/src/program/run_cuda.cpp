#include "program/run_cuda.h"

#include <algorithm>

#include "cuda/launch.h"

namespace shim::program {
namespace {

constexpr size_t kThreads = 256;

struct Strides {
  int64_t size[kDims] = {};
  int64_t load[kMostLoads][kDims] = {}, store[kMostStores][kDims] = {};
  int dims = 0;
  uint32_t spread = 0;
};

bool along_columns(const std::vector<int64_t>& steps, int64_t size) { return steps[0] == size && steps[1] == 0; }

}  // namespace

// As tensors with channels last and numbers of channels are.
int64_t CudaGroup::columns_of(const Group& g) const {
  if (nest_.sizes.size() != 2 || nest_.sizes[0] > INT32_MAX) return 0;
  for (size_t k = 0; k < g.stores.size(); ++k)
    if (!nest_.packed(nest_.stores[k], int64_t(itemsize(g.stores[k].ref.dtype)))) return 0;
  for (size_t k = 0; k < g.loads.size(); ++k) {
    const auto size = int64_t(itemsize(g.loads[k].ref.dtype));
    if (!nest_.packed(nest_.loads[k], size) && !GroupNest::one(nest_.loads[k]) && !along_columns(nest_.loads[k], size))
      return 0;
  }
  return nest_.sizes[0];
}

CudaGroup::CudaGroup(const Group& g) : nest_(g) {
  for (int64_t s : nest_.sizes) elements_ *= s;
  int64_t widest = 1;
  // Whether an operand is read or written in vectors of the layout; the innermost loop's neighbours are next to each other then.
  const auto place = [&](const TensorRef& r, const std::vector<int64_t>& steps, std::vector<Place>& into) {
    const auto size = int64_t(itemsize(r.dtype));
    const bool one = GroupNest::one(steps);
    if (!one && !nest_.packed(steps, size)) flat_ = false;
    into.push_back({r.storage, r.offset * size, size, !one && steps[0] != 0});
    widest = std::max(widest, one ? 1 : size);
  };
  for (size_t k = 0; k < g.stores.size(); ++k) place(g.stores[k].ref, nest_.stores[k], stores_);
  for (size_t k = 0; k < g.loads.size(); ++k) place(g.loads[k].ref, nest_.loads[k], loads_);
  vector_ = nest_.sizes.empty() ? 1 : int(16 / widest);
  if (flat_) return;
  columns_ = columns_of(g);
  if (columns_) {
    while (columns_ % vector_) vector_ /= 2;
    return;
  }
  dims_ = nest_.sizes.size();
  const auto limit = [&](const std::vector<Place>& places, const std::vector<std::vector<int64_t>>& steps) {
    for (size_t k = 0; k < places.size(); ++k) {
      if (!places[k].in_vectors) continue;
      if (steps[k][0] != places[k].size) vector_ = 1;
      for (size_t d = 1; d < nest_.sizes.size(); ++d)
        while (vector_ > 1 && steps[k][d] % (vector_ * places[k].size)) vector_ /= 2;
    }
  };
  limit(stores_, nest_.stores);
  limit(loads_, nest_.loads);
  while (vector_ > 1 && nest_.sizes[0] % vector_) vector_ /= 2;
  wide_ = elements_ >= int64_t(1) << 31;
}

template <class Strides> void CudaGroup::fill(Strides& s, int vector) const {
  s.dims = int(nest_.sizes.size());
  const auto steps = [&](const Place& p, const std::vector<int64_t>& from, int64_t* to) {
    for (size_t d = 0; d < from.size(); ++d) to[d] = from[d] / p.size * (d ? 1 : vector);
  };
  for (int d = 0; d < s.dims; ++d) s.size[d] = d ? nest_.sizes[size_t(d)] : nest_.sizes[0] / vector;
  for (size_t k = 0; k < stores_.size(); ++k) steps(stores_[k], nest_.stores[k], s.store[k]);
  for (size_t k = 0; k < loads_.size(); ++k) {
    steps(loads_[k], nest_.loads[k], s.load[k]);
    s.spread |= uint32_t(!loads_[k].in_vectors) << k;
  }
}

std::vector<std::string> CudaGroup::macros(const Group& g, int vector) const {
  std::vector<Loaded> how;
  for (size_t k = 0; k < g.loads.size(); ++k) {
    const std::vector<int64_t>& steps = nest_.loads[k];
    how.push_back(GroupNest::one(steps)                                                       ? Loaded::one
                  : columns_ && along_columns(steps, int64_t(itemsize(g.loads[k].ref.dtype))) ? Loaded::of_column
                                                                                              : Loaded::each);
  }
  std::vector<std::string> m = group_macros(g, how);
  for (const std::string& own : {str("V=", vector), str("FLAT=", columns_ ? 2 : int(flat_)), str("WIDE=", int(wide_))})
    m.push_back(own);
  return m;
}

void CudaGroup::launch(cuda::CUfunction f, GroupMemory& memory, int vector, int device) const {
  const bool all = flat_ || columns_;
  int64_t n = all ? elements_ : elements_ / vector;
  const int64_t each = all ? int64_t(kThreads) * vector : int64_t(kThreads);
  Strides strides;
  auto columns = uint32_t(columns_);
  void* arguments[] = {&n, &memory, columns_ ? static_cast<void*>(&columns) : &strides};
  if (!all) fill(strides, vector);
  const int64_t blocks = (n + each - 1) / each;
  cuda::launch(f, all ? blocks : std::min(blocks, cuda::kGridBlocks), 1, kThreads, 1, arguments, device);
}

}  // namespace shim::program
