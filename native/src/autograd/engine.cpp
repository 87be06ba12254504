// The backward pass: nodes run on the calling thread, later ones first, each once all its gradients have arrived.
#include <algorithm>
#include <utility>

#include "autograd/graph_task.h"

namespace shim {

using graph_task::current;
using graph_task::GraphTask;

namespace {

struct ModeGuard {
  bool old = GradMode::enabled();
  explicit ModeGuard(bool on) { GradMode::set(on); }
  ~ModeGuard() { GradMode::set(old); }
};

}  // namespace

EngineOps& engine_ops() {
  static EngineOps ops;
  return ops;
}

bool Anomaly::enabled = false, Anomaly::check_nan = true;
void (*Anomaly::created)(Node&, Node*) = nullptr;
void (*Anomaly::failed)(Node&) = nullptr;
bool (*Anomaly::has_nan)(const Tensor&) = nullptr;

int64_t CurrentBackward::id() { return current ? current->id() : -1; }
Node* CurrentBackward::node() { return current ? current->running() : nullptr; }
bool CurrentBackward::retains_graph() { return current && current->retains(); }
std::vector<Node*> CurrentBackward::order() {
  CHECK(Kind::Runtime, current, "_current_graph_task_execution_order should only be called during the backward pass");
  return current->order();
}
bool CurrentBackward::only_this_arrives(const Node* n) { return current && current->only_this_arrives(n); }
void CurrentBackward::leave_note(const Node* to, Grads note) {
  if (current) current->notes.emplace_back(to, std::move(note));
}
Grads CurrentBackward::take_note(const Node* to) {
  if (!current || current->notes.empty()) return {};
  auto& notes = current->notes;
  const auto it = std::find_if(notes.begin(), notes.end(), [&](const auto& n) { return n.first == to; });
  if (it == notes.end()) return {};
  Grads found = std::move(it->second);
  notes.erase(it);
  return found;
}
bool CurrentBackward::has_targets() { return current && current->targeted(); }
bool CurrentBackward::executes(const Node* n) {
  CHECK(Kind::Runtime, current, "_get_should_execute_nodes should only be called during the backward pass");
  CHECK(Kind::Runtime, !(n->next_edges.empty() && current->targeted() && !current->accumulates()),
      "A leaf node was passed to _will_engine_execute_node but we are currently running "
      "autograd.grad(). This is currently not supported.");
  return current->executes(n);
}
void CurrentBackward::queue_callback(std::function<void()> f) {
  CHECK(Kind::Runtime, current, "Final callbacks can only be installed during backward pass.");
  current->queue(std::move(f));
}

namespace {

Grads run_pass(
    const std::vector<Edge>& roots, Grads gradients, const std::vector<Edge>& targets, const BackwardOptions& options) {
  GraphTask task(options);
  for (size_t i = 0; i < targets.size(); ++i)
    if (targets[i]) task.target(targets[i], i);
  for (size_t i = 0; i < roots.size(); ++i) task.add_root(roots[i], std::move(gradients[i]));
  return task.run(targets.size());
}

}  // namespace

Grads run_backward(
    const std::vector<Edge>& roots, Grads gradients, const std::vector<Edge>& targets, const BackwardOptions& options) {
  ModeGuard mode(options.create_graph);
  if (operators_are_traced && traced_backward && !current && options.accumulate && !options.create_graph &&
      targets.empty()) {
    traced_backward(
        roots, gradients, options.retain_graph, [&] { run_pass(roots, std::move(gradients), targets, options); });
    return {};
  }
  Grads found = run_pass(roots, std::move(gradients), targets, options);
  if (options.accumulate) return {};
  if (!options.allow_unused)
    for (size_t i = 0; i < found.size(); ++i)
      CHECK(Kind::Runtime, found[i], "The differentiated Tensor at index ", i,
          " appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.");
  return found;
}

}  // namespace shim
