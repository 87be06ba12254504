#include "trace/run_together.h"

#include <algorithm>
#include <optional>

#include "cuda/driver.h"

namespace shim::trace {

using Path = std::span<const Session::Deferred>;
using Slots = std::vector<Ref<Storage>>;

namespace {

// The numbers that a program's storages have: slots of the path, as they are met.
struct Numbering {
  std::vector<int32_t> of_slot;
  std::vector<uint32_t> slots;
  explicit Numbering(size_t n) : of_slot(n, -1) {}
  int32_t of(uint32_t slot) {
    if (of_slot[slot] < 0) {
      of_slot[slot] = int32_t(slots.size());
      slots.push_back(slot);
    }
    return of_slot[slot];
  }
};

bool outlives(const Ref<Storage>& s) { return s->use_count() > 1; }

Numbering numbers_of(Path path, const Slots& storages) {
  Numbering all(storages.size());
  for (const Session::Deferred& d : path)
    for (const auto* specs : {&d.node->inputs, &d.node->results})
      for (const TensorSpec& s : *specs) all.of(s.slot);
  return all;
}

program::TensorRef ref_of(const TensorSpec& s, Numbering& numbers, const Slots& storages) {
  return program::TensorRef::of(*s.over(storages[s.slot]), numbers.of(s.slot));
}

program::Value value_of(const TreeNode& node, const ArgumentSpec& a, Numbering& numbers, const Slots& storages,
    const Scalar* number, program::Steps& steps) {
  if (a.kind == ArgumentSpec::tensor) return {ref_of(node.inputs[a.first], numbers, storages)};
  if (a.kind == ArgumentSpec::parameter) {
    steps.parameters.push_back(*number);
    return {program::Parameter{uint32_t(steps.parameters.size() - 1)}};
  }
  if (a.kind == ArgumentSpec::tensors) {
    program::List items;
    size_t at = a.first;
    for (bool given : a.given)
      items.push_back(given ? program::Value{ref_of(node.inputs[at++], numbers, storages)} : program::Value{});
    return {std::move(items)};
  }
  return a.value;
}

// Nobody else has a tensor over this memory, which is there already.
bool only_deferred(const Ref<Storage>& s) { return !s->hidden() && s->use_count() == 1; }

// Memory that a step of the path overwrites before any reads it.
std::vector<bool> overwritten(Path path, const Slots& storages) {
  std::vector<bool> met(storages.size()), found(storages.size());
  for (const Session::Deferred& d : path) {
    const TreeNode& n = *d.node;
    if (!n.inputs.empty() && program::fills(*n.op)) {
      const TensorSpec& to = n.inputs[0];
      const size_t bytes = size_t(to.numel) * itemsize(to.dtype);
      const bool whole = to.offset == 0 && to.contiguous && bytes == storages[to.slot]->nbytes();
      if (whole && !met[to.slot]) found[to.slot] = true;
    }
    for (const auto* specs : {&n.inputs, &n.results})
      for (const TensorSpec& s : *specs) met[s.slot] = true;
  }
  return found;
}

Ref<program::Program> program_of(Path path, std::span<const Scalar> given, const Slots& storages) {
  Numbering numbers = numbers_of(path, storages);
  program::Steps steps;
  const std::vector<bool> anew = overwritten(path, storages);
  for (uint32_t slot : numbers.slots) {
    program::StorageSlot s;
    // What is there already was shown. What only it has, and has nothing in it yet, the program makes itself, when it is time.
    const bool made = storages[slot]->hidden() || (anew[slot] && only_deferred(storages[slot]));
    s.origin = made ? program::StorageSlot::made : program::StorageSlot::input;
    s.device = storages[slot]->device();
    s.nbytes = storages[slot]->nbytes();
    s.outlives = made && outlives(storages[slot]);
    steps.storages.push_back(std::move(s));
  }
  for (const Session::Deferred& d : path) {
    program::Step step;
    step.op = d.node->op;
    step.line = d.node->line;
    step.apart = d.node->apart;
    const Scalar* number = given.data() + d.first;
    for (const ArgumentSpec& a : d.node->arguments)
      step.args.push_back(
          value_of(*d.node, a, numbers, storages, a.kind == ArgumentSpec::parameter ? number++ : nullptr, steps));
    for (const TensorSpec& r : d.node->results) step.results.push_back(ref_of(r, numbers, storages));
    if (d.node->form == Results::none) step.results.push_back(ref_of(d.node->inputs[0], numbers, storages));
    steps.steps.push_back(std::move(step));
  }
  return make<program::Program>(std::move(steps));
}

constexpr uint8_t kOwn = 2;

// What a run needs of its memory, by the numbers that the program's storages have. There is one run at a time.
struct Memory {
  std::vector<Ref<Storage>> given;  // what is there already
  std::vector<uint32_t> versions;   // writes were counted when the operators were called
  std::vector<uint8_t>
      outlive;  // of what is to be made: whether somebody has a tensor over it; else 2 where nobody has

  void clear() {
    given.clear();
    versions.clear();
    outlive.clear();
  }
  void look_at(const std::vector<uint32_t>& slots, const Slots& storages) {
    for (uint32_t slot : slots) {
      const Ref<Storage>& s = storages[slot];
      outlive.push_back(only_deferred(s) ? kOwn : s->hidden() && outlives(s));
      versions.push_back(s->version().load(std::memory_order_relaxed));
    }
  }
  void take(const std::vector<uint32_t>& slots, Slots& storages, const program::Steps& steps) {
    for (size_t i = 0; i < slots.size(); ++i) {
      Ref<Storage>& s = storages[slots[i]];
      given.push_back(s->hidden() ? Ref<Storage>() : std::move(s));
      if (steps.storages[i].origin == program::StorageSlot::made) given[i] = {};
    }
  }
};

const TreeNode* of_tree(const TreeNode* n) { return n->stands_for ? n->stands_for : n; }

// What a stretch runs as: known, or made now. Null: there are too many.
const Together* looked_up(
    Session& session, Path path, std::span<const Scalar> numbers, const Slots& storages, const Memory& memory) {
  Tree& tree = session.tree();
  Stretch stretch{path.front().node, path.back().node, memory.outlive, {}};
  for (const Session::Deferred& d : path) stretch.pass(*d.node);
  if (auto found = tree.programs.find(stretch); found != tree.programs.end()) return &found->second;
  session.planned = true;
  if (tree.programs.size() >= Tree::kMostPrograms && tree.resizes) {
    tree.programs.clear();
    ++tree.cleared;
  }
  if (tree.programs.size() >= Tree::kMostPrograms) {
    session.reasons.push_back({nullptr, "too many programs of one function"});
    return nullptr;
  }
  Together made{program_of(path, numbers, storages), {}};
  if (tree.graphs) {  // of another size, a graph of its own
    auto& memory = tree.graph_memory[{of_tree(stretch.first), of_tree(stretch.last)}];
    if (!memory) memory = make<program::GraphMemory>();
    const bool ran =
        stretch.resized.empty() && session.first < Session::foreseen;  // its operators did, when they were learned
    made.replay = make<program::Replay>(made.program, memory, ran ? 2 : 3);
  }
  return &tree.programs.emplace(std::move(stretch), std::move(made)).first->second;
}

// The same, from what is known of the stretch that ended here last: where nothing else is to be looked up.
const Together* known_or_looked_up(Session& session, Path path, std::span<const Scalar> numbers, const Slots& storages,
    const Memory& memory, Ended& ended) {
  const bool resized = std::ranges::any_of(path, [](const Session::Deferred& d) { return d.node->stands_for; });
  const uint64_t cleared = session.tree().cleared;
  if (resized) return looked_up(session, path, numbers, storages, memory);
  if (ended.together && ended.cleared == cleared && ended.outlive == memory.outlive) return ended.together;
  ended.together = looked_up(session, path, numbers, storages, memory);
  ended.cleared = session.tree().cleared;
  ended.outlive = memory.outlive;
  return ended.together;
}

constexpr const char* kAwaited = "backward passes are to come that read what its graphs gave";

// A graph writes over what it gave last. While a backward pass is to come that reads this, another one runs; null: there are too many.
program::Replay* graph_of(const Together& t) {
  constexpr size_t kMostOthers = 3;
  if (!t.replay->why_not().empty() || !t.replay->awaited()) return t.replay.get();
  for (const auto& other : t.others)
    if (!other->awaited()) return other.get();
  if (t.others.size() == kMostOthers || !t.program->steps().copies.empty()) return nullptr;  // copies are of one graph
  return t.others.emplace_back(make<program::Replay>(t.program, t.replay->memory(), 1)).get();
}

}  // namespace

program::Replay* run_program(const Together& t, program::Storages given, std::span<const Scalar> numbers, Path path) {
  const bool captured = t.replay && cuda::capturing_now();
  program::Replay* const graph = t.replay && !captured ? graph_of(t) : nullptr;
  try {
    if (graph)
      graph->run(given, numbers);
    else
      t.program->run(given, numbers);
  } catch (...) {
    const program::Step* step = t.program->running();
    for (const Session::Deferred& d : path)
      if (step && step->op == d.node->op && step->line == d.node->line) Session::failed(*d.node);
    throw;
  }
  if (!t.replay) return nullptr;
  if (graph && graph->replayed())
    ++told.replayed;
  else
    ++told.graphs[graph ? std::string(graph->last_was()) : captured ? "within a capture" : kAwaited];
  return graph;
}

bool run_as_program(Session& session, Path path, std::span<const Scalar> numbers, Slots& storages) {
  const TreeNode* first = of_tree(path.front().node);
  Ended& ended = of_tree(path.back().node)->ended;
  if (ended.first != first) ended = {first, numbers_of(path, storages).slots, {}, nullptr, 0};
  static Memory memory;  // its lists keep their room
  struct Clear {
    ~Clear() { memory.clear(); }
  } clear;
  memory.look_at(ended.slots, storages);
  const Together* together = nullptr;
  Together seldom;  // of sizes that are not kept
  if (std::ranges::all_of(path, [](const Session::Deferred& d) { return d.node->kept; })) {
    together = known_or_looked_up(session, path, numbers, storages, memory, ended);
  } else {
    session.planned = true;
    seldom.program = program_of(path, numbers, storages);
    if (session.tree().graphs) ++told.graphs["of sizes that are not kept"];
    together = &seldom;
  }
  if (!together) return false;
  memory.take(ended.slots, storages, together->program->steps());
  program::Replay* const graph = run_program(*together, memory.given, numbers, path);
  ++session.programs;
  session.ran_as = together == &seldom ? nullptr : together;
  session.ran_slots = &ended.slots;
  for (size_t i = 0; i < memory.given.size(); ++i) {
    Ref<Storage>& given = memory.given[i];
    Ref<Storage>& pending = storages[ended.slots[i]];
    if (pending && memory.outlive[i] == 1) {
      CHECK(Kind::Runtime, given && given->nbytes() >= pending->nbytes(), "a compiled program gave too little memory");
      given->set_own();
      pending->fill_pending(*given);
      if (graph) graph->handed(given.get(), pending);
    }
    if (const Ref<Storage>& s = pending ? pending : given)
      s->version().store(memory.versions[i], std::memory_order_relaxed);
  }
  return true;
}

}  // namespace shim::trace
