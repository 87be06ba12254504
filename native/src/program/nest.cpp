#include "program/nest.h"

#include <algorithm>

namespace shim::program {

std::vector<int64_t> steps_of(const TensorRef& r, size_t dims) {
  std::vector<int64_t> steps(dims, 0);
  const size_t lead = dims - r.sizes.size();
  for (size_t d = 0; d < r.sizes.size(); ++d)
    if (r.sizes[d] != 1) steps[lead + d] = r.strides[d] * int64_t(itemsize(r.dtype));
  return steps;
}

GroupNest::GroupNest(const Group& g) {
  std::vector<std::vector<int64_t>> all;  // stores first: their order decides
  for (const Store& s : g.stores) all.push_back(steps_of(s.ref, g.shape.size()));
  for (const Load& l : g.loads) all.push_back(steps_of(l.ref, g.shape.size()));
  std::vector<size_t> order;
  for (size_t d = g.shape.size(); d-- > 0;)
    if (g.shape[d] != 1) order.push_back(d);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return all[0][a] < all[0][b]; });
  std::vector<std::vector<int64_t>> steps(all.size());
  for (size_t d : order) {
    bool joins = !sizes.empty();
    for (size_t k = 0; joins && k < all.size(); ++k) joins = all[k][d] == steps[k].back() * sizes.back();
    if (joins) {
      sizes.back() *= g.shape[d];
      continue;
    }
    sizes.push_back(g.shape[d]);
    for (size_t k = 0; k < all.size(); ++k) steps[k].push_back(all[k][d]);
  }
  const auto middle = steps.begin() + int64_t(g.stores.size());
  stores.assign(steps.begin(), middle);
  loads.assign(middle, steps.end());
}

bool GroupNest::packed(const std::vector<int64_t>& steps, int64_t size) const {
  for (size_t d = 0; d < sizes.size(); size *= sizes[d++])
    if (steps[d] != size) return false;
  return true;
}

bool GroupNest::one(const std::vector<int64_t>& steps) {
  return std::ranges::all_of(steps, [](int64_t s) { return s == 0; });
}

}  // namespace shim::program
