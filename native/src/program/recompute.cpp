#include "program/recompute.h"

#include <algorithm>
#include <limits>
#include <map>

#include "program/live.h"

namespace shim::program {
namespace {

constexpr size_t kLeastInGroup = size_t(64) << 10, kLeastApart = size_t(1) << 20;  // bytes that are worth it
constexpr size_t kMostSteps = 16;                                                  // that are repeated for one value
constexpr size_t kMostTraffic = 3;  // bytes read and written besides, for each byte that is not kept
constexpr size_t kReach =
    16;  // items that a reader may come later by, to be behind a group that can make what it reads
constexpr size_t kNever = std::numeric_limits<size_t>::max();

// What a value is made of again.
struct Again {
  std::vector<size_t> steps;       // in their order
  std::map<int32_t, bool> values;  // that these make; whether they are read as memory holds them
  std::set<int32_t> from;          // what is read
  std::set<int32_t> narrow;        // of that, what its own group computed on with more digits than memory holds
  size_t kept = 0;                 // bytes of it that stay longer
};

class Recomputation {
 public:
  Recomputation(Steps& steps, std::vector<Item>& items) : s_(steps), items_(items) {}
  void run();

 private:
  struct Candidate {
    int32_t storage;
    size_t reader;  // the first item behind the peak
    Again again;
  };
  void look();
  std::vector<Candidate> candidates();
  bool make_again(int32_t storage, size_t shape_of, size_t reader, Again&) const;
  size_t kept_for(int32_t storage, size_t maker, size_t reader) const;
  bool worth(const Candidate&, bool alone) const;
  bool apply(const Candidate&);
  int32_t repeat(const Candidate&, std::vector<size_t>& steps);
  bool into_group(size_t at, std::span<const size_t> steps);
  bool round(const std::set<int32_t>& storages);
  bool behind_group(const Candidate&, std::span<const size_t> steps);
  bool move_behind(std::span<const size_t> moved, size_t at);
  bool reads_it(size_t item, int32_t storage) const;
  size_t bytes(int32_t s) const { return s_.storages[size_t(s)].nbytes; }

  Steps& s_;
  std::vector<Item>& items_;
  Live live_;
  std::vector<size_t> item_of_;               // of each step
  std::vector<std::vector<size_t>> written_;  // the items that write to a storage
  std::vector<size_t> maker_;  // the one step that makes it; kNever: there are others, or it writes to an argument
  std::set<int32_t> refused_;
};

template <class Visit> void each_written(const Step& step, Visit&& visit) {
  for (size_t i = 0; i < step.args.size(); ++i)
    if (writes(step, i)) each_tensor(step.args[i], [&](const TensorRef& r) { visit(r.storage); });
  for (const TensorRef& r : step.results)
    if (r.storage >= 0) visit(r.storage);
}

bool in_place(const Step& step) {
  for (size_t i = 0; i < step.args.size(); ++i)
    if (writes(step, i)) return true;
  return false;
}

std::vector<size_t> steps_of(const Item& item) {
  return item.group ? item.group->steps : std::vector<size_t>{item.step};
}

// As Program::form_groups has them: what the steps touch.
void touch(const Steps& all, Item& item) {
  item.reads.clear();
  item.writes.clear();
  for (size_t i : steps_of(item)) {
    for (const Value& v : all.steps[i].args) each_tensor(v, [&](const TensorRef& r) { item.reads.insert(r.storage); });
    each_written(all.steps[i], [&](int32_t s) { item.writes.insert(s); });
  }
}

void Recomputation::look() {
  const size_t n = s_.storages.size();
  item_of_.assign(s_.steps.size(), kNever);
  written_.assign(n, {});
  maker_.assign(n, kNever);
  for (size_t i = 0; i < items_.size(); ++i)
    for (size_t step : steps_of(items_[i])) {
      item_of_[step] = i;
      each_written(s_.steps[step], [&](int32_t s) {
        maker_[size_t(s)] = written_[size_t(s)].empty() && !in_place(s_.steps[step]) ? step : kNever;
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

// Values that live where the most memory is in use, and are not used there.
std::vector<Recomputation::Candidate> Recomputation::candidates() {
  std::vector<Candidate> all;
  for (size_t s = 0; s < s_.storages.size(); ++s) {
    const StorageSlot& slot = s_.storages[s];
    const auto& uses = live_.uses[s];
    if (slot.origin != StorageSlot::made || slot.outlives || slot.nbytes < kLeastInGroup || uses.empty()) continue;
    const auto next = std::ranges::lower_bound(uses, live_.peak);
    if (next == uses.begin() || next == uses.end() || *next == live_.peak || refused_.contains(int32_t(s))) continue;
    Candidate c{int32_t(s), *next, {}};
    c.again.values.emplace(c.storage, true);
    if (maker_[s] != kNever && make_again(c.storage, maker_[s], c.reader, c.again) && worth(c, false))
      all.push_back(std::move(c));
  }
  std::ranges::stable_sort(all, std::ranges::greater{}, [&](const Candidate& c) { return bytes(c.storage); });
  return all;
}

bool Recomputation::reads_it(size_t item, int32_t storage) const {
  bool found = false;
  for (size_t i : steps_of(items_[item]))
    for (const Value& v : s_.steps[i].args)
      each_tensor(v, [&](const TensorRef& r) { found = found || r.storage == storage; });
  return found;
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
    return into_group(item_of_[maker_[size_t(s)]], {});
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
  for (;;) {
    look();
    const std::vector<Candidate> all = candidates();
    if (std::ranges::none_of(all, [&](const Candidate& c) { return apply(c); })) return;
  }
}

}  // namespace

void recompute(Steps& steps, std::vector<Item>& items) { Recomputation(steps, items).run(); }

}  // namespace shim::program
