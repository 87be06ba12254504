#include <algorithm>

#include "cpu/kernel_table.h"
#include "program/recomputation.h"

namespace shim::program {
namespace {

constexpr size_t kLeastInGroup = size_t(64) << 10, kLeastApart = size_t(1) << 20;  // bytes that are worth it
constexpr size_t kMostSteps = 16;                                                  // that are repeated for one value
constexpr size_t kMostTraffic = 3;  // bytes read and written besides, for each byte that is not kept

}  // namespace

void Recomputation::look() {
  const size_t n = s_.storages.size();
  item_of_.assign(s_.steps.size(), kNever);
  written_.assign(n, {});
  maker_.assign(n, kNever);
  for (size_t i = 0; i < items_.size(); ++i)
    for (size_t step : steps_of(items_[i])) {
      item_of_[step] = i;
      each_written(s_.steps[step], [&](int32_t s) {
        maker_[size_t(s)] = written_[size_t(s)].empty() && !writes(s_.steps[step]) ? step : kNever;
        written_[size_t(s)].push_back(i);
      });
    }
  live_ = live(s_, items_);
}

// Bytes that are kept longer if the item `reader` reads what the item `maker` read; kNever: it is another value by then.
size_t Recomputation::kept_for(int32_t storage, size_t maker, size_t reader) const {
  const size_t s = size_t(storage);
  if (maker_[s] == kNever)
    for (size_t w : written_[s])
      if (w >= maker && w <= reader) return kNever;
  const StorageSlot& slot = s_.storages[s];
  if (slot.origin != StorageSlot::made || slot.outlives) return 0;
  const auto& uses = live_.uses[s];
  return !uses.empty() && uses.back() >= reader ? 0 : slot.nbytes;
}

// Adds the step that makes the storage, and those that make what it reads where this is not there any more. False: it cannot be.
bool Recomputation::make_again(int32_t storage, size_t shape_of, size_t reader, Again& again) const {
  const size_t index = maker_[size_t(storage)];
  if (index == kNever || again.steps.size() == kMostSteps) return false;
  const Step& step = s_.steps[index];
  const size_t maker = item_of_[index];
  if (maker == kNever || !items_[maker].group || step.results.size() != 1 || reduced_rows(step)) return false;
  if (step.results[0].sizes != s_.steps[shape_of].results[0].sizes) return false;
  bool possible = true;
  const auto take = [&](const TensorRef& r) {
    if (!possible || again.from.contains(r.storage)) return;
    const size_t made_by = maker_[size_t(r.storage)];
    const bool rounded = made_by == kNever || item_of_[made_by] != maker || s_.storages[size_t(r.storage)].rounded;
    if (auto known = again.values.find(r.storage); known != again.values.end()) {
      possible = known->second == rounded;
      return;
    }
    const size_t kept = kept_for(r.storage, maker, reader);
    if (kept) {
      Again longer = again;
      longer.values.emplace(r.storage, rounded);
      if (make_again(r.storage, shape_of, reader, longer) && (kept == kNever || longer.kept < again.kept + kept)) {
        again = std::move(longer);
        return;
      }
    }
    possible = kept != kNever;
    again.from.insert(r.storage);
    if (!rounded && compute_dtype(r.dtype) != r.dtype) again.narrow.insert(r.storage);
    again.kept += possible ? kept : 0;
  };
  for (const Value& v : step.args) each_tensor(v, take);
  again.steps.push_back(index);
  return possible;
}

bool Recomputation::worth(const Candidate& c, bool alone) const {
  const size_t saved = bytes(c.storage);
  if (saved < (alone ? kLeastApart : kLeastInGroup) || c.again.kept * 2 > saved) return false;
  size_t traffic = alone ? saved : 0;
  for (int32_t s : c.again.from)
    if (alone || !std::ranges::binary_search(live_.uses[size_t(s)], c.reader)) traffic += bytes(s);
  return traffic <= kMostTraffic * saved;
}

// Storages of values that live where the most memory is in use and are not used there, the largest first.
std::vector<int32_t> Recomputation::kept_at_the_peak() const {
  std::vector<int32_t> all;
  for (size_t s = 0; s < s_.storages.size(); ++s) {
    const StorageSlot& slot = s_.storages[s];
    const auto& uses = live_.uses[s];
    const bool made = slot.origin == StorageSlot::made && !slot.outlives && maker_[s] != kNever;
    if (!made || slot.nbytes < kLeastInGroup || uses.empty() || refused_.contains(int32_t(s))) continue;
    if (uses.front() < live_.peak && uses.back() > live_.peak && !std::ranges::binary_search(uses, live_.peak))
      all.push_back(int32_t(s));
  }
  std::ranges::stable_sort(all, std::ranges::greater{}, [&](int32_t s) { return bytes(s); });
  return all;
}

std::optional<Recomputation::Candidate> Recomputation::candidate(int32_t storage) const {
  Candidate c{storage, *std::ranges::lower_bound(live_.uses[size_t(storage)], live_.peak), {}};
  c.again.values.emplace(storage, true);
  if (!make_again(storage, maker_[size_t(storage)], c.reader, c.again) || !worth(c, false)) return {};
  return c;
}

}  // namespace shim::program
