#include "program/program.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <system_error>
#include <thread>

#include "core/interpreter_lock.h"
#include "cuda/graph_pools.h"
#include "cuda/kernel_code.h"
#include "cuda/kernel_store.h"
#include "program/channels_last.h"
#include "program/live.h"
#include "program/recompute.h"

namespace shim::program {

std::vector<size_t> steps_of(const Item& item) {
  return item.group ? item.group->steps : std::vector<size_t>{item.step};
}

void touch(const Steps& all, Item& item) {
  item.reads.clear();
  item.writes.clear();
  for (size_t i : steps_of(item)) {
    for (const Value& v : all.steps[i].args) each_tensor(v, [&](const TensorRef& r) { item.reads.insert(r.storage); });
    each_written(all.steps[i], [&](int32_t s) { item.writes.insert(s); });
  }
}

bool meet(const std::set<int32_t>& a, const std::set<int32_t>& b) {
  return std::ranges::any_of(a, [&](int32_t s) { return b.contains(s); });
}

namespace {

bool writes_argument(const Step& step, int32_t storage) {
  bool found = false;
  for (size_t i = 0; i < step.args.size(); ++i)
    if (writes(step, i)) each_tensor(step.args[i], [&](const TensorRef& r) { found = found || r.storage == storage; });
  return found;
}

constexpr size_t kCompilers = 8;  // threads
constexpr size_t kAligned = 256;
constexpr size_t kLeastAlone = size_t(1) << 20;  // of a temporary that is a block of its own
size_t rounded(size_t bytes) { return (std::max<size_t>(bytes, 1) + kAligned - 1) / kAligned * kAligned; }

}  // namespace

Program::Program(Steps steps, bool channels_last_on_cpu) : given_(steps.storages.size()), steps_(std::move(steps)) {
  join_epilogues(steps_);
  read_narrow_scores(steps_);
  split_joins(steps_);
  take_joins_apart(steps_);
  put_channels_last(steps_, channels_last_on_cpu);
  copies_ = std::make_unique<KeptCopies>(steps_.copies);
  form_groups();
  join_late();
  recompute(steps_, items_);
  remove_dead();
  plan_memory();
  for (Item& item : items_) {
    if (!item.group) continue;
    if (item.group->device.is_cuda())
      item.on_cuda = GroupOnCuda::of(*item.group);
    else if (item.group->rows)
      item.on_rows = std::make_unique<CpuRows>(*item.group);
    else
      join_loops(*item.group), item.on_cpu = std::make_unique<CpuGroup>(*item.group);
  }
  compile_ahead();
}

// The kernels that none has compiled yet, beside each other; what fails here is told where the kernel is asked for.
void Program::compile_ahead() {
  std::map<std::string, cuda::Specialisation> wanted;
  for (const Item& item : items_)
    if (item.on_cuda && item.group->numel()) {
      auto s = item.on_cuda->specialisation(*item.group);
      wanted.emplace(s.text(), std::move(s));
    }
  if (wanted.size() < 2 || !cuda::driver().loaded) return;
  std::vector<cuda::Specialisation> all;
  for (auto& [text, s] : wanted) all.push_back(std::move(s));
  const int architecture = cuda::architecture_of(cuda::current_device());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    try {
      for (size_t i; (i = next++) < all.size();) cuda::make_ahead(all[i], architecture);
    } catch (const std::exception&) { next = all.size(); }
  };
  Unlocked others_run;
  std::vector<std::thread> threads;
  const size_t most = std::min<size_t>({kCompilers, all.size(), std::max(1u, std::thread::hardware_concurrency())});
  try {
    while (threads.size() + 1 < most) threads.emplace_back(work);
  } catch (const std::system_error&) {}  // fewer do
  work();
  for (std::thread& t : threads) t.join();
}

// Each step joins the last group that it can reach: past items that neither write what it touches nor read what it writes.
void Program::form_groups() {
  for (size_t index = 0; index < steps_.steps.size(); ++index) {
    const Step& step = steps_.steps[index];
    Item item;
    item.step = index;
    touch(steps_, item);
    bool joined = false;
    for (size_t i = items_.size(); i-- > 0 && !joined;) {
      Item& other = items_[i];
      if (other.group && add_step(*other.group, steps_, step)) {
        other.reads.merge(item.reads);
        other.writes.merge(item.writes);
        other.group->steps.push_back(index);
        joined = true;
      } else if (meet(other.writes, item.reads) || meet(other.writes, item.writes) || meet(other.reads, item.writes)) {
        break;
      }
    }
    if (joined) continue;
    Group group;
    if (begin_group(group, steps_, step)) {
      group.steps.push_back(index);
      item.group = std::move(group);
    }
    items_.push_back(std::move(item));
  }
  for (Item& item : items_)
    if (item.group && item.group->rows && item.group->steps.size() == 1) {  // nothing joined the reduction
      item.step = item.group->steps[0];
      item.group.reset();
    }
}

// A group is part of the first one that reads what it gives, where nothing between them minds: what it gave is not read again.
void Program::join_late() {
  for (size_t i = items_.size(); i-- > 0;) {
    Item& item = items_[i];
    if (!item.group) continue;
    const auto minds = [&](const Item& other) {
      return meet(other.reads, item.writes) || meet(other.writes, item.writes) || meet(other.writes, item.reads);
    };
    const auto other = std::find_if(items_.begin() + int64_t(i) + 1, items_.end(), minds);
    if (other == items_.end() || !other->group || !meet(other->reads, item.writes)) continue;
    if (item.group->device != other->group->device || item.group->shape != other->group->shape) continue;
    std::vector<size_t> steps = item.group->steps;
    steps.insert(steps.end(), other->group->steps.begin(), other->group->steps.end());
    std::optional<Group> both = group_of(steps_, steps);
    if (!both) continue;
    other->group = std::move(both);
    other->reads.merge(item.reads);
    other->writes.merge(item.writes);
    items_.erase(items_.begin() + int64_t(i));
  }
}

// What groups need not write: temporaries that no later item reads.
void Program::remove_dead() {
  std::vector<bool> needed(steps_.storages.size());
  for (size_t s = 0; s < needed.size(); ++s)
    needed[s] = steps_.storages[s].origin != StorageSlot::made || steps_.storages[s].outlives;
  for (size_t i = items_.size(); i-- > 0;) {
    Item& item = items_[i];
    if (item.group) {
      remove_unused(*item.group, needed);
      item.reads.clear();
      item.writes.clear();
      for (const Load& l : item.group->loads) item.reads.insert(l.ref.storage);
      for (const Store& s : item.group->stores) item.writes.insert(s.ref.storage);
    }
    for (int32_t s : item.reads) needed[size_t(s)] = true;
  }
  std::erase_if(items_, [](const Item& i) { return i.group && i.group->stores.empty(); });
}

void Program::plan_memory() {
  const Live l = live(steps_, items_);
  if (!items_.empty()) most_live_ = l.bytes[l.peak];
  std::vector<Arena::Part> all;
  for (size_t s = 0; s < steps_.storages.size(); ++s) {
    const StorageSlot& slot = steps_.storages[s];
    if (slot.origin != StorageSlot::made) continue;
    Arena::Part part{int32_t(s), 0, slot.nbytes, items_.size(), 0};
    for (size_t i = 0; i < items_.size(); ++i)
      if (items_[i].reads.contains(int32_t(s)) || items_[i].writes.contains(int32_t(s))) {
        part.first = std::min(part.first, i);
        part.last = i;
        items_[i].gives = items_[i].gives || (slot.outlives && items_[i].writes.contains(int32_t(s)));
      }
    if (part.first == items_.size()) continue;
    if (!slot.outlives) items_[part.last].last_read.push_back(int32_t(s));
    if (Item& first = items_[part.first]; !first.group && writes_argument(steps_.steps[first.step], int32_t(s)))
      first.first_written.push_back(int32_t(s));
    if (slot.outlives || !items_[part.first].group) continue;
    // On CUDA operators' results and large temporaries have their memory from the same cache, one after the other.
    if (slot.device.is_cuda() && slot.nbytes >= kLeastAlone) continue;
    if (!arena_.parts.empty() && !(arena_device_ == slot.device)) continue;  // of one device
    arena_device_ = slot.device;
    // The first place below what lives at the same time.
    std::vector<Arena::Part> beside;
    for (const Arena::Part& p : arena_.parts)
      if (p.first <= part.last && part.first <= p.last) beside.push_back(p);
    std::ranges::sort(beside, {}, &Arena::Part::offset);
    for (const Arena::Part& p : beside) {
      if (part.offset + rounded(part.bytes) <= p.offset) break;
      part.offset = std::max(part.offset, p.offset + rounded(p.bytes));
    }
    arena_.bytes = std::max(arena_.bytes, part.offset + rounded(part.bytes));
    arena_.parts.push_back(part);
  }
}

namespace {

void release_arena(void* arena, void*) { static_cast<Storage*>(arena)->release(); }

Ref<Storage> part_of(const Ref<Storage>& arena, const Arena::Part& part) {
  arena->retain();
  auto made = make<Storage>(
      static_cast<char*>(arena->data()) + part.offset, part.bytes, arena->device(), release_arena, arena.get());
  made->set_resizable(false);
  return made;
}

}  // namespace

void Program::run_group(const Item& item, Storages storages, std::span<const Scalar> parameters) {
  const Group& g = *item.group;
  for (const Store& s : g.stores) {
    Ref<Storage>& storage = storages[size_t(s.ref.storage)];
    const StorageSlot& slot = steps_.storages[size_t(s.ref.storage)];
    if (storage) continue;
    const cuda::AmongResults given(slot.outlives);
    storage = allocate(slot.nbytes, slot.device);
  }
  if (item.on_rows) {
    item.on_rows->run(g, storages, parameters);
  } else if (item.on_cpu) {
    item.on_cpu->run(g, storages, parameters);
  } else if (!item.on_cuda->run(g, storages, parameters)) {
    ++apart_;
    const cuda::AmongResults given(item.gives);
    for (size_t step : g.steps) run_step(steps_.steps[step], storages, parameters);
    return;
  }
  for (int32_t s : g.changed) storages[size_t(s)]->count_write();
}

void Program::run(Storages given, std::span<const Scalar> parameters) {
  const bool captured = copies_->on_cuda() && cuda::capturing_now();
  if (!captured) copies_->renew(given);
  run_items(given, parameters, captured);
}

void Program::run_items(Storages given, std::span<const Scalar> parameters, bool copies_anew) {
  running_ = nullptr;
  CHECK(Kind::Runtime, given.size() == given_, "a program of ", given_, " storages got ", given.size());
  std::vector<Ref<Storage>> more;
  Storages storages = given;
  if (steps_.storages.size() > given_) {
    more.assign(given.begin(), given.end());
    more.resize(steps_.storages.size());
    storages = more;
  }
  for (size_t i = 0; i < storages.size(); ++i)
    if (steps_.storages[i].origin == StorageSlot::constant) storages[i] = steps_.storages[i].constant_storage;
  copies_->give(storages, copies_anew);
  if (!arena_.parts.empty()) {
    const Ref<Storage> arena = allocate(arena_.bytes, arena_device_);
    for (const Arena::Part& p : arena_.parts) storages[size_t(p.storage)] = part_of(arena, p);
  }
  for (const Item& item : items_) {
    if (!item.group) {
      running_ = &steps_.steps[item.step];
      const cuda::AmongResults given(item.gives);
      for (int32_t s : item.first_written)
        storages[size_t(s)] = allocate(steps_.storages[size_t(s)].nbytes, steps_.storages[size_t(s)].device);
      run_step(*running_, storages, parameters);
      running_ = nullptr;
    } else {
      run_group(item, storages, parameters);
    }
    for (int32_t s : item.last_read) storages[size_t(s)] = nullptr;
  }
  if (!more.empty()) std::ranges::move(storages.first(given_), given.begin());
}

std::vector<std::string> compile_groups(Program& program, int architecture) {
  std::vector<std::string> logs;
  for (const Item& item : program.items())
    if (item.group && computed_on_cuda(*item.group)) logs.push_back(compile_group(*item.group, architecture));
  return logs;
}

}  // namespace shim::program
