#include "trace/whole.h"

#include <algorithm>
#include <utility>

#include "autograd/autograd.h"
#include "core/interpreter_lock.h"
#include "dispatch/call.h"
#include "trace/run_together.h"

namespace shim::trace {

Surroundings Surroundings::now() { return {GradMode::enabled(), default_dtype(), Session::device_of_factories()}; }

std::unique_ptr<Whole> Whole::of(const Session& s, Tensors arguments, Tensors results) {
  const Tree& tree = s.tree();
  const bool all = s.quiet() && s.any_deferred() && !s.flushes && s.at_once == s.aliased && tree.together;
  if (!all || tree.backend || results.empty()) return nullptr;
  std::unique_ptr<Whole> w(new Whole);
  for (const Session::Deferred& d : s.path()) {
    const bool writes = d.node->form == Results::none || d.node->op->schema.is_mutable();
    if (writes || d.node->wants_gradient || !d.node->kept) return nullptr;
    w->path_.push_back(d);
  }
  w->numbers_.assign(s.numbers().begin(), s.numbers().end());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TensorImpl& t = *arguments[i];
    if (w->surroundings_.gradients && t.requires_grad()) return nullptr;
    const auto first = [&](auto&& is) { return size_t(std::ranges::find_if(arguments, is) - arguments.begin()); };
    w->arguments_.push_back({TensorSpec::of(t), first([&](TensorImpl* o) { return o == &t; }),
        first([&](TensorImpl* o) { return o->storage() == t.storage(); })});
    w->arguments_.back().spec.slot = s.knows(*t.storage()) ? t.storage()->trace_slot : UINT32_MAX;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const TensorImpl& t = *results[i];
    const bool plain = s.knows(*t.storage()) && t.storage()->hidden() && !t.autograd() && !t.is_inference;
    if (!plain || std::find(results.begin(), results.begin() + int64_t(i), &t) != results.begin() + int64_t(i))
      return nullptr;
    w->results_.push_back({TensorSpec::of(t), t.storage()->trace_slot, true});
  }
  return w;
}

bool Whole::ran(const Session& s) {
  if (s.flushes != 1 || s.programs != 1 || !s.ran_as) return false;
  together_ = *s.ran_as;
  const auto& storages = together_.program->steps().storages;
  const std::vector<uint32_t>& slots = *s.ran_slots;
  for (size_t i = 0; i < slots.size(); ++i) {
    const auto argument = std::ranges::find(arguments_, slots[i], [](const Argument& a) { return a.spec.slot; });
    const auto result = std::ranges::find(results_, slots[i], &Result::storage);
    const bool given = argument != arguments_.end(), made = storages[i].origin == program::StorageSlot::made;
    if (given == made || (made && storages[i].outlives != (result != results_.end()))) return false;
    from_.push_back(given ? int(argument - arguments_.begin()) : -1);
  }
  for (Result& r : results_) {
    const auto at = std::ranges::find(slots, uint32_t(r.storage));
    if (at == slots.end() || from_[size_t(at - slots.begin())] >= 0) return false;
    r.storage = size_t(at - slots.begin());
  }
  for (size_t i = 0; i < results_.size(); ++i)
    results_[i].last = std::none_of(results_.begin() + int64_t(i) + 1, results_.end(),
        [&](const Result& r) { return r.storage == results_[i].storage; });
  return true;
}

bool Whole::fits(Tensors given) const {
  if (given.size() != arguments_.size()) return false;
  for (size_t i = 0; i < given.size(); ++i) {
    const Argument& a = arguments_[i];
    const TensorImpl& t = *given[i];
    const Storage& memory = *t.storage();
    const bool alike = a.spec.lies_like(t) && memory.nbytes() == a.spec.nbytes;
    if ((!alike && looks_at(Check::whole_tensors)) || memory.hidden() || !has_data(t)) return false;
    if (surroundings_.gradients && t.requires_grad() && looks_at(Check::whole_modes)) return false;
    for (size_t k = 0; k < i && looks_at(Check::whole_memory); ++k) {
      const bool tensor = given[k] == &t, storage = given[k]->storage() == t.storage();
      if (tensor != (arguments_[k].same_tensor == a.same_tensor)) return false;
      if (storage != (arguments_[k].same_memory == a.same_memory)) return false;
    }
  }
  return surroundings_ == Surroundings::now() || !looks_at(Check::whole_modes);
}

namespace {

// A program's storages. Those of arguments are not counted, for the caller holds them, and a program puts nothing in their place.
class OneRun {
 public:
  OneRun(std::vector<Ref<Storage>>& room, const std::vector<int>& from, Whole::Tensors arguments)
      : room_(room), from_(from), storages_(std::exchange(room, {})) {
    for (int a : from)
      storages_.push_back(a < 0 ? Ref<Storage>() : Ref<Storage>::adopt(arguments[size_t(a)]->storage().get()));
  }
  OneRun(const OneRun&) = delete;
  ~OneRun() {
    for (size_t i = 0; i < from_.size(); ++i)
      if (from_[i] >= 0) storages_[i].detach();
    storages_.clear();
    room_ = std::move(storages_);
  }
  std::vector<Ref<Storage>>& all() { return storages_; }

 private:
  std::vector<Ref<Storage>>& room_;
  const std::vector<int>& from_;
  std::vector<Ref<Storage>> storages_;
};

}  // namespace

void Whole::run(Tensors arguments, std::vector<Tensor>& results) {
  // Another thread could run the same program meanwhile.
  const LockKept kept(!interpreter_calls.alone());
  struct Runs {
    Runs() { runs_whole = true; }
    ~Runs() { runs_whole = false; }
  } runs;
  OneRun given(given_, from_, arguments);
  run_program(together_, given.all(), numbers_, path_);
  for (const Result& r : results_) {
    Ref<Storage>& made = given.all()[r.storage];
    CHECK(Kind::Runtime, made && made->nbytes() >= r.spec.nbytes, "a compiled program gave too little memory");
    made->set_own();
    made->version().store(0, std::memory_order_relaxed);
    results.push_back(r.spec.over(r.last ? std::move(made) : made));
  }
  ++told.calls;
  ++told.whole;
  told.deferred += path_.size();
  ++told.runs;
  ++told.programs;
}

}  // namespace shim::trace
