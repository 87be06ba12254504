#include "program/live.h"

#include <algorithm>

namespace shim::program {
namespace {

// What an item reads and writes once it has no more than what is needed.
template <class Visit>
void each_use(const Steps& all, const Item& item, const std::vector<bool>& needed, Visit&& visit) {
  if (!item.group) {
    const Step& step = all.steps[item.step];
    for (const Value& v : step.args) each_tensor(v, [&](const TensorRef& r) { visit(r.storage, true); });
    for (const TensorRef& r : step.results)
      if (r.storage >= 0) visit(r.storage, false);
    return;
  }
  const Group& g = *item.group;
  const auto used = used_parts(g, needed);
  for (const Store& s : g.stores)
    if (needed[size_t(s.ref.storage)]) visit(s.ref.storage, false);
  for (size_t k = 0; k < g.loads.size(); ++k)
    if (used[Source::load][k]) visit(g.loads[k].ref.storage, true);
}

}  // namespace

Live live(const Steps& steps, const std::vector<Item>& items) {
  Live l;
  const size_t n = steps.storages.size();
  std::vector<bool> needed(n);
  for (size_t s = 0; s < n; ++s)
    needed[s] = steps.storages[s].origin != StorageSlot::made || steps.storages[s].outlives;
  l.uses.resize(n);
  std::vector<int32_t> read;
  for (size_t i = items.size(); i-- > 0;) {
    read.clear();
    each_use(steps, items[i], needed, [&](int32_t s, bool reads) {
      auto& uses = l.uses[size_t(s)];
      if (uses.empty() || uses.back() != i) uses.push_back(i);
      if (reads) read.push_back(s);
    });
    for (int32_t s : read) needed[size_t(s)] = true;
  }
  std::vector<int64_t> change(items.size() + 1, 0);
  for (size_t s = 0; s < n; ++s) {
    auto& uses = l.uses[s];
    std::ranges::reverse(uses);
    const StorageSlot& slot = steps.storages[s];
    if (uses.empty() || slot.origin != StorageSlot::made) continue;
    change[uses.front()] += int64_t(slot.nbytes);
    if (!slot.outlives) change[uses.back() + 1] -= int64_t(slot.nbytes);
  }
  int64_t now = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    l.bytes.push_back(size_t(now += change[i]));
    if (l.bytes[i] > l.bytes[l.peak]) l.peak = i;
  }
  return l;
}

}  // namespace shim::program
