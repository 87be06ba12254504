#include "program/replay.h"

#include <algorithm>

namespace shim::program {
namespace {

constexpr uint64_t kMostCaptures = 8;
constexpr std::string_view kMovesAndWrites = "an input that it writes to is another tensor at each call";

bool same(const Scalar& a, const Scalar& b) {
  return a.type == b.type && a.i == b.i && a.f == b.f && a.imag == b.imag && a.big == b.big;
}

struct Part {  // of a graph's memory, which lives as long as somebody has it
  Ref<CapturedGraph> graph;
  Ref<Storage> memory;
  const Replay* of;  // only compared
};
void drop_part(void* part, void*) { delete static_cast<Part*>(part); }

// Whether another program's graph gave it: it lies there until that one's next capture. What this one gave lies elsewhere after each capture.
bool of_another_graph(const Storage& s, const Replay& r) {
  return s.deleter() == drop_part && static_cast<const Part*>(s.context())->of != &r;
}

template <class F> void each_parameter(const Value& v, F&& visit) {
  if (auto* list = std::get_if<List>(&v.is))
    for (const Value& i : *list) each_parameter(i, visit);
  else if (auto* p = std::get_if<Parameter>(&v.is))
    visit(*p);
}

size_t tensors_of(const Step& step) {
  size_t n = 0;
  for (const Value& v : step.args) each_tensor(v, [&](const TensorRef&) { ++n; });
  return n;
}

// What small inputs on the CPU held, for a call that starts again.
class Held {
 public:
  Held(Storages storages, std::span<const int32_t> which) {
    for (int32_t s : which) {
      Storage& from = *storages[size_t(s)];
      const auto* bytes = static_cast<const std::byte*>(from.data());
      all_.emplace_back(&from, std::vector<std::byte>(bytes, bytes + from.nbytes()));
    }
  }
  void restore() const {
    for (const auto& [to, bytes] : all_) std::ranges::copy(bytes, static_cast<std::byte*>(to->data()));
  }

 private:
  std::vector<std::pair<Storage*, std::vector<std::byte>>> all_;
};

}  // namespace

// Which steps renew their numbers, and what nobody else has of these.
void Replay::look_at_steps() {
  const Steps& steps = program_->steps();
  fixed_.resize(steps.parameters.size());
  std::vector<bool> of_others(steps.storages.size());
  for (size_t i = 0; i < steps.steps.size(); ++i) {
    const Step& step = steps.steps[i];
    if (step.op->traits->renews_numbers && step.op->native) {
      renewing_.push_back(i);
      continue;
    }
    for (const Value& v : step.args) {
      each_parameter(v, [&](Parameter p) { fixed_[p.slot] = true; });
      each_tensor(v, [&](const TensorRef& r) { of_others[size_t(r.storage)] = true; });
    }
    for (const TensorRef& r : step.results)
      if (r.storage >= 0) of_others[size_t(r.storage)] = true;
  }
  for (size_t s = 0; s < steps.storages.size(); ++s)
    if (const StorageSlot& slot = steps.storages[s];
        slot.device.is_cpu() && slot.origin == StorageSlot::input && !of_others[s])
      on_cpu_.push_back(int32_t(s));
}

Replay::Replay(Ref<Program> program, Ref<GraphMemory> memory, int calls_before)
    : program_(std::move(program)), memory_(std::move(memory)), calls_before_(calls_before) {
  look_at_steps();
  Awaited::counted = true;
  const Steps& steps = program_->steps();
  std::vector<bool> written(steps.storages.size());
  for (const Step& step : steps.steps)
    for (size_t i = 0; i < step.args.size(); ++i)
      if (writes(step, i))
        each_tensor(step.args[i], [&](const TensorRef& r) {
          written[size_t(r.storage)] = true;
          if (steps.storages[size_t(r.storage)].origin != StorageSlot::made) changed_.push_back(r.storage);
        });
  const std::vector<bool> filled = filled_first(steps);
  bool first = true;
  for (size_t s = 0; s < steps.storages.size(); ++s) {
    const StorageSlot& slot = steps.storages[s];
    if (slot.origin == StorageSlot::constant) constants_.push_back(int32_t(s));
    if (std::ranges::find(on_cpu_, int32_t(s)) != on_cpu_.end()) continue;
    if (slot.origin == StorageSlot::input) inputs_.push_back({int32_t(s), nullptr, written[s], filled[s], false, {}});
    if (!slot.device.is_cuda()) give_up("it has tensors of " + to_string(slot.device));
    if (!first && slot.device != device_) give_up("it has tensors of several devices");
    device_ = slot.device;
    first = false;
  }
  if (first) give_up("it has no tensors");
}

void Replay::give_up(std::string why) {
  why_not_ = std::move(why);
  graph_ = {};
  kept_.clear();
}

// Storages as large as at the trace: what moves is copied whole.
bool Replay::fits(Storages storages) const {
  const auto same = [&](int32_t s) {
    return storages[size_t(s)]->nbytes() == program_->steps().storages[size_t(s)].nbytes;
  };
  return std::ranges::all_of(inputs_, same, &Input::storage) && std::ranges::all_of(on_cpu_, same);
}

bool Replay::same_numbers(std::span<const Scalar> parameters) const {
  for (size_t i = 0; i < parameters.size(); ++i)
    if (fixed_[i] && !same(parameters[i], parameters_[i])) return false;
  return true;
}

// How often kernels took operators that renew numbers.
uint64_t Replay::kernels_of_renewing() const {
  std::vector<const Operator*> all;
  for (size_t i : renewing_) all.push_back(program_->steps().steps[i].op);
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  uint64_t n = 0;
  for (const Operator* op : all) n += op->calls_native;
  return n;
}

// Which inputs are elsewhere than before. A graph that read such a one in its place is given up, for another capture.
void Replay::look_at(Storages storages) {
  for (Input& i : inputs_) {
    const Ref<Storage>& given = storages[size_t(i.storage)];
    const Storage& s = *given;
    void* at = s.data();
    const bool elsewhere = i.address && i.address != at;
    i.address = at;
    if (of_another_graph(s, *this) && counts_.captured < kMostCaptures / 2) {
      if (elsewhere || i.moves) graph_ = {};
      i.moves = false;
      i.own = {};
    } else if (elsewhere && !i.moves) {
      i.moves = true;
      graph_ = {};
    }
    if (calls_ < calls_before_ || !i.moves || !i.written) continue;
    const bool void_soon = std::ranges::find(given_, given) != given_.end();
    if (!i.filled || void_soon) last_was_ = kMovesAndWrites;
  }
}

void Replay::run_plain(Storages storages, std::span<const Scalar> parameters) {
  ++counts_.plain;
  last_was_ = "plain";
  const uint64_t before = kernels_of_renewing();
  program_->run(storages, parameters);
  if (why_not_.empty() && kernels_of_renewing() != before + renewing_.size())
    give_up("an optimizer's step is more than its kernel");
}

void Replay::run(Storages storages, std::span<const Scalar> parameters) {
  last_was_ = {};
  if (why_not_.empty()) look_at(storages);
  if (last_was_ == kMovesAndWrites) {  // for now: it may be another program's, which is no graph yet
    run_plain(storages, parameters);
    last_was_ = kMovesAndWrites;
    return;
  }
  if (graph_ && (settings_ != cuda::settings || !same_numbers(parameters))) graph_ = {};
  if (!why_not_.empty() || !fits(storages) || calls_++ < calls_before_) return run_plain(storages, parameters);
  last_was_ = kReplayed;
  if (program_->renew_copies(storages)) graph_ = {};
  if (!graph_) {
    if (counts_.captured == kMostCaptures) {
      give_up("its inputs or numbers differed too often");
      return run_plain(storages, parameters);
    }
    const Held before(storages, on_cpu_);
    try {
      capture(storages, parameters);
    } catch (const Error& e) {
      before.restore();
      give_up(std::string("the capture failed: ") + e.what());
      return run_plain(storages, parameters);
    }
    last_was_ = "captured";
  } else {
    renew(storages, parameters);
  }
  replay(storages);
}

// What an earlier graph gave keeps that graph's memory.
void Replay::capture(Storages storages, std::span<const Scalar> parameters) {
  given_.clear();
  kept_.clear();
  settings_ = cuda::settings;
  std::vector<Ref<Storage>> all(storages.begin(), storages.end());
  for (Input& i : inputs_) {
    if (!i.moves) continue;
    if (!i.own) i.own = allocate(storages[size_t(i.storage)]->nbytes(), device_);
    all[size_t(i.storage)] = i.own;
  }
  const int device = device_.index < 0 ? 0 : device_.index;
  size_t launches = 0;
  for (size_t i : renewing_) launches += tensors_of(program_->steps().steps[i]);
  numbers_ = launches ? std::make_unique<cuda::GraphNumbers>(device, launches) : nullptr;
  {
    const cuda::WithGraphNumbers with(numbers_.get());
    graph_ = CapturedGraph::of(device, memory_, [&] { program_->run_renewed(all, parameters); });
  }
  parameters_.assign(parameters.begin(), parameters.end());
  const std::vector<StorageSlot>& slots = program_->steps().storages;
  for (size_t s = 0; s < all.size(); ++s)
    if (slots[s].origin == StorageSlot::made && slots[s].outlives && all[s]) {
      CHECK(Kind::Runtime, graph_->keeps(*all[s]), "what it gives lies where other graphs write");
      kept_.emplace_back(int32_t(s), all[s]);
    }
  ++counts_.captured;
}

// The operators see where tensors lie; what they hold is the graph's, but for those on the CPU.
void Replay::renew(Storages storages, std::span<const Scalar> parameters) {
  if (!numbers_) return;
  std::vector<Ref<Storage>> all(program_->steps().storages.size());
  for (int32_t s : on_cpu_) all[size_t(s)] = storages[size_t(s)];
  numbers_->renew();
  const cuda::WithGraphNumbers with(numbers_.get());
  for (size_t i : renewing_) {
    const Step& step = program_->steps().steps[i];
    for (const Value& v : step.args)
      each_tensor(v, [&](const TensorRef& r) {
        const StorageSlot& slot = program_->steps().storages[size_t(r.storage)];
        if (auto& s = all[size_t(r.storage)]; !s)
          s = make<Storage>(nullptr, slot.nbytes, slot.device, nullptr, nullptr);
      });
    CHECK(Kind::Runtime, run_kernel(step, all, parameters), "a kernel of a graph leaves its operator to others");
  }
  CHECK(Kind::Runtime, numbers_->all_renewed(), "an operator has other launches than at the capture");
}

void Replay::replay(Storages storages) {
  const int device = device_.index < 0 ? 0 : device_.index;
  const auto copied = [&](const Input& i, void* to, const void* from) {
    cuda::copy_bytes(to, from, i.own->nbytes(), device, cuda::current_stream(device));
    ++counts_.copied;
  };
  for (const Input& i : inputs_)  // one of them may be what the last run gave
    if (i.moves && !i.filled) copied(i, i.own->data(), storages[size_t(i.storage)]->data());
  make_stale();
  if (numbers_) numbers_->upload(cuda::current_stream(device));
  graph_->launch();
  for (const Input& i : inputs_)
    if (i.moves && i.filled) copied(i, storages[size_t(i.storage)]->data(), i.own->data());
  for (const auto& [slot, memory] : kept_) {
    auto* part = new Part{graph_, memory, this};
    auto given = make<Storage>(memory->data(), memory->nbytes(), device_, drop_part, part);
    storages[size_t(slot)] = given;
    given_.push_back(std::move(given));
  }
  for (int32_t s : constants_) storages[size_t(s)] = program_->steps().storages[size_t(s)].constant_storage;
  for (int32_t s : changed_) storages[size_t(s)]->count_write();
  ++counts_.replayed;
}

bool Replay::awaited() const {
  return std::ranges::any_of(given_, [](const Ref<Storage>& s) { return s->awaited.load() != 0; });
}

void Replay::handed(const Storage* given, Ref<Storage> to) {
  for (Ref<Storage>& s : given_)
    if (s.get() == given) s = std::move(to);
}

// Who still has what the last run gave finds no memory there.
void Replay::make_stale() {
  for (Ref<Storage>& s : given_)
    if (s->use_count() > 1) {
      s->set_resizable(true);
      s->resize(0);
      s->overwritten = true;
    }
  given_.clear();
}

}  // namespace shim::program
