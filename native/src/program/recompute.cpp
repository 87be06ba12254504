#include <algorithm>

#include "program/recomputation.h"

namespace shim::program {
namespace {

constexpr size_t kReach =
    16;  // items that a reader may come later by, to be behind a group that can make what it reads

}  // namespace

bool Recomputation::reads_it(size_t item, int32_t storage) const {
  return std::ranges::any_of(steps_of(items_[item]), [&](size_t i) { return reads(s_.steps[i], storage); });
}

// Copies of the steps, whose results have storages of their own; the one that stands for the candidate's.
int32_t Recomputation::repeat(const Candidate& c, std::vector<size_t>& steps) {
  std::map<int32_t, int32_t> names;
  for (auto [s, rounded] : c.again.values) {
    names.emplace(s, int32_t(s_.storages.size()));
    StorageSlot slot = s_.storages[size_t(s)];
    slot.outlives = false;
    slot.rounded = rounded;
    s_.storages.push_back(std::move(slot));
  }
  for (size_t index : c.again.steps) {
    Step step = s_.steps[index];
    for (Value& v : step.args)
      for (auto [from, to] : names) rename(v, from, to);
    for (TensorRef& r : step.results)
      if (auto known = names.find(r.storage); known != names.end()) r.storage = known->second;
    steps.push_back(s_.steps.size());
    s_.steps.push_back(std::move(step));
  }
  return names.at(c.storage);
}

// From now on groups compute on with what memory holds of these, as one operator after the other does: both times it is the same then.
bool Recomputation::round(const std::set<int32_t>& storages) {
  return std::ranges::all_of(storages, [&](int32_t s) {
    s_.storages[size_t(s)].rounded = true;
    return s_.storages[size_t(s)].rounded = into_group(item_of_[maker_[size_t(s)]], {});
  });
}

// The steps as the first of a group's.
bool Recomputation::into_group(size_t at, std::span<const size_t> steps) {
  Item& item = items_[at];
  std::vector<size_t> all(steps.begin(), steps.end());
  all.insert(all.end(), item.group->steps.begin(), item.group->steps.end());
  std::optional<Group> group = group_of(s_, all);
  if (!group) return false;
  item.group = std::move(group);
  touch(s_, item);
  return true;
}

bool Recomputation::move_behind(std::span<const size_t> moved, size_t at) {
  for (size_t k = moved.size(); k-- > 0;) {
    const auto first = items_.begin() + int64_t(moved[k]);
    std::rotate(first, first + 1, items_.begin() + int64_t(at + 1 - (moved.size() - 1 - k)));
  }
  return true;
}

// The readers come behind a group near by that reads much of what the value is made of, so that this is read once.
bool Recomputation::behind_group(const Candidate& c, std::span<const size_t> steps) {
  const int32_t made = s_.steps[steps.back()].results[0].storage;
  std::vector<size_t> later;  // what reads it
  for (size_t at = c.reader; at < std::min(items_.size(), c.reader + kReach); ++at) {
    const Item& item = items_[at];
    const bool reads = reads_it(at, made);
    if (reads && !item.group) {
      later.push_back(at);
      continue;
    }
    const bool minds = std::ranges::any_of(later, [&](size_t l) {
      return meet(item.reads, items_[l].writes) || meet(item.writes, items_[l].writes) ||
             meet(item.writes, items_[l].reads);
    });
    if (minds) return false;
    size_t shared = 0;
    for (int32_t s : c.again.from) {
      if (kept_for(s, c.reader, at) == kNever) return false;
      if (std::ranges::binary_search(live_.uses[size_t(s)], at)) shared += bytes(s);
    }
    if (item.group && (reads || shared >= bytes(c.storage)) && into_group(at, steps)) return move_behind(later, at);
    if (reads) return false;
  }
  return false;
}

bool Recomputation::apply(const Candidate& c) {
  const size_t n_steps = s_.steps.size(), n_storages = s_.storages.size();
  std::vector<size_t> steps;
  const int32_t made = repeat(c, steps);
  const auto renamed = [&](int32_t from, int32_t to) {
    for (size_t i = c.reader; i < items_.size(); ++i) {
      if (!reads_it(i, from)) continue;
      for (size_t step : steps_of(items_[i]))
        for (Value& v : s_.steps[step].args) rename(v, from, to);
      touch(s_, items_[i]);
      if (!items_[i].group) continue;
      for (Load& l : items_[i].group->loads)
        if (l.ref.storage == from) l.ref.storage = to;
    }
  };
  renamed(c.storage, made);
  const bool possible = round(c.again.narrow);
  bool done = possible && (items_[c.reader].group ? into_group(c.reader, steps) : behind_group(c, steps));
  if (possible && !done && worth(c, true)) {
    Item item;
    item.group = group_of(s_, steps);
    done = item.group.has_value();
    if (done) {
      touch(s_, item);
      items_.insert(items_.begin() + int64_t(c.reader), std::move(item));
    }
  }
  if (done) return true;
  renamed(made, c.storage);
  s_.steps.resize(n_steps);
  s_.storages.resize(n_storages);
  refused_.insert(c.storage);
  return false;
}

void Recomputation::run() {
  const auto less = [&](int32_t storage) {
    const std::optional<Candidate> c = candidate(storage);
    return c && apply(*c);
  };
  do look();
  while (std::ranges::any_of(kept_at_the_peak(), less));
}

void recompute(Steps& steps, std::vector<Item>& items) { Recomputation(steps, items).run(); }

}  // namespace shim::program
