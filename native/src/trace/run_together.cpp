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

Ref<program::Program> program_of(Path path, Numbering& numbers, const Slots& storages) {
  program::Steps steps;
  for (uint32_t slot : numbers.slots) {
    program::StorageSlot s;
    const bool made = storages[slot]->hidden();  // what is there already was shown
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
    size_t number = 0;
    for (const ArgumentSpec& a : d.node->arguments)
      step.args.push_back(value_of(
          *d.node, a, numbers, storages, a.kind == ArgumentSpec::parameter ? &d.parameters[number++] : nullptr, steps));
    for (const TensorSpec& r : d.node->results) step.results.push_back(ref_of(r, numbers, storages));
    if (d.node->form == Results::none) step.results.push_back(ref_of(d.node->inputs[0], numbers, storages));
    steps.steps.push_back(std::move(step));
  }
  return make<program::Program>(std::move(steps));
}

Stretch stretch_of(Path path, const Numbering& numbers, const Slots& storages) {
  Stretch s{path.front().node, path.back().node, {}, {}};
  for (uint32_t slot : numbers.slots) s.outlive.push_back(storages[slot]->hidden() && outlives(storages[slot]));
  for (const Session::Deferred& d : path)
    if (d.node->stands_for) s.resized.push_back(d.node);
  return s;
}

// What a stretch runs as: known, or made now. None: there are too many.
std::optional<Tree::Together> together_of(
    Session& session, const Stretch& stretch, Path path, Numbering& numbers, const Slots& storages) {
  Tree& tree = session.tree();
  const bool kept = std::ranges::all_of(path, [](const Session::Deferred& d) { return d.node->kept; });
  if (kept)
    if (auto found = tree.programs.find(stretch); found != tree.programs.end()) return found->second;
  session.planned = true;
  if (!kept) return Tree::Together{program_of(path, numbers, storages), {}};  // sizes that are seldom met
  if (tree.programs.size() >= Tree::kMostPrograms && tree.resizes) tree.programs.clear();
  if (tree.programs.size() >= Tree::kMostPrograms) {
    session.reasons[{"torch.compile", "too many programs of one function"}]++;
    return {};
  }
  Tree::Together made{program_of(path, numbers, storages), {}};
  if (tree.graphs) made.replay = make<program::Replay>(made.program);
  return tree.programs.emplace(stretch, std::move(made)).first->second;
}

const TreeNode* node_of(const program::Step* step, Path path) {
  for (const Session::Deferred& d : path)
    if (step && step->op == d.node->op && step->line == d.node->line) return d.node;
  return nullptr;
}

}  // namespace

bool run_as_program(Session& session, Path path, Slots& storages) {
  Numbering numbers = numbers_of(path, storages);
  Stretch stretch = stretch_of(path, numbers, storages);
  const std::optional<Tree::Together> together = together_of(session, stretch, path, numbers, storages);
  if (!together) return false;
  std::vector<Ref<Storage>> given;
  std::vector<std::pair<Ref<Storage>, uint32_t>> versions;  // writes were counted when the operators were called
  for (uint32_t slot : numbers.slots) {
    const bool made = storages[slot]->hidden();
    given.push_back(made ? Ref<Storage>() : storages[slot]);
    versions.emplace_back(storages[slot], storages[slot]->version().load());
  }
  std::vector<Scalar> parameters;
  for (const Session::Deferred& d : path) parameters.insert(parameters.end(), d.parameters.begin(), d.parameters.end());
  const auto& [program, replay] = *together;
  const bool graph = replay && !cuda::capturing_now();
  try {
    if (graph)
      replay->run(given, parameters);
    else
      program->run(given, parameters);
  } catch (...) {
    if (const TreeNode* node = node_of(program->running(), path)) Session::failed(*node);
    throw;
  }
  ++session.programs;
  if (replay) ++session.graphs[graph ? replay->last_was() : "within a capture"];
  for (size_t i = 0; i < given.size(); ++i) {
    Storage& s = *versions[i].first;
    if (s.hidden() && stretch.outlive[i]) {
      CHECK(Kind::Runtime, given[i] && given[i]->nbytes() >= s.nbytes(), "a compiled program gave too little memory");
      given[i]->set_own();
      s.fill_pending(*given[i]);
      if (graph) replay->handed(given[i].get(), versions[i].first);
    }
    s.version() = versions[i].second;
  }
  return true;
}

}  // namespace shim::trace
