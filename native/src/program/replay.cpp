#include "program/replay.h"

#include <algorithm>

namespace shim::program {
namespace {

constexpr uint64_t kMostCaptures = 8;
constexpr int kCallsBefore = 2;  // kernels are compiled, libraries chosen, and inputs seen to move or not

bool same(const Scalar& a, const Scalar& b) {
  return a.type == b.type && a.i == b.i && a.f == b.f && a.imag == b.imag && a.big == b.big;
}

struct Part {  // of a graph's memory, which lives as long as somebody has it
  Ref<CapturedGraph> graph;
  Ref<Storage> memory;
};
void drop_part(void* part, void*) { delete static_cast<Part*>(part); }

}  // namespace

Replay::Replay(Ref<Program> program) : program_(std::move(program)) {
  const Steps& steps = program_->steps();
  std::vector<bool> written(steps.storages.size());
  for (const Step& step : steps.steps)
    for (size_t i = 0; i < step.args.size(); ++i)
      if (writes(step, i))
        each_tensor(step.args[i], [&](const TensorRef& r) {
          written[size_t(r.storage)] = true;
          if (steps.storages[size_t(r.storage)].origin != StorageSlot::made) changed_.push_back(r.storage);
        });
  bool first = true;
  for (size_t s = 0; s < steps.storages.size(); ++s) {
    const StorageSlot& slot = steps.storages[s];
    if (slot.origin == StorageSlot::input) inputs_.push_back({int32_t(s), nullptr, written[s], false, {}});
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
  return std::ranges::all_of(inputs_, [&](const Input& i) {
    return storages[size_t(i.storage)]->nbytes() == program_->steps().storages[size_t(i.storage)].nbytes;
  });
}

// Which inputs are elsewhere than before. A graph that read such a one in its place is given up, for another capture.
void Replay::look_at(Storages storages) {
  for (Input& i : inputs_) {
    void* at = storages[size_t(i.storage)]->data();
    if (i.address && i.address != at && !i.moves) {
      i.moves = true;
      graph_ = {};
    }
    i.address = at;
    if (i.moves && i.written) give_up("an input that it writes to is another tensor at each call");
  }
}

void Replay::run_plain(Storages storages, std::span<const Scalar> parameters) {
  ++counts_.plain;
  last_was_ = "plain";
  program_->run(storages, parameters);
}

void Replay::run(Storages storages, std::span<const Scalar> parameters) {
  if (why_not_.empty()) look_at(storages);
  if (graph_ && (settings_ != cuda::settings || !std::ranges::equal(parameters, parameters_, same))) graph_ = {};
  if (!why_not_.empty() || !fits(storages) || calls_++ < kCallsBefore) return run_plain(storages, parameters);
  last_was_ = "replayed";
  if (!graph_) {
    if (counts_.captured == kMostCaptures) {
      give_up("its inputs or numbers differed too often");
      return run_plain(storages, parameters);
    }
    try {
      capture(storages, parameters);
    } catch (const Error& e) {
      give_up(std::string("the capture failed: ") + e.what());
      return run_plain(storages, parameters);
    }
    last_was_ = "captured";
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
  graph_ = CapturedGraph::of(device, [&] { program_->run(all, parameters); });
  parameters_.assign(parameters.begin(), parameters.end());
  const std::vector<StorageSlot>& slots = program_->steps().storages;
  for (size_t s = 0; s < slots.size(); ++s)
    if (slots[s].origin == StorageSlot::made && slots[s].outlives && all[s]) kept_.emplace_back(int32_t(s), all[s]);
  ++counts_.captured;
}

void Replay::replay(Storages storages) {
  const int device = device_.index < 0 ? 0 : device_.index;
  for (const Input& i : inputs_) {  // one of them may be what the last run gave
    if (!i.moves) continue;
    cuda::copy_bytes(
        i.own->data(), storages[size_t(i.storage)]->data(), i.own->nbytes(), device, cuda::current_stream(device));
    ++counts_.copied;
  }
  make_stale();
  graph_->launch();
  for (const auto& [slot, memory] : kept_) {
    auto* part = new Part{graph_, memory};
    auto given = make<Storage>(memory->data(), memory->nbytes(), device_, drop_part, part);
    storages[size_t(slot)] = given;
    given_.push_back(std::move(given));
  }
  for (size_t s = 0; s < storages.size(); ++s)
    if (program_->steps().storages[s].origin == StorageSlot::constant)
      storages[s] = program_->steps().storages[s].constant_storage;
  for (int32_t s : changed_) ++storages[size_t(s)]->version();
  ++counts_.replayed;
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
