// Nodes of the graph: their edges, hooks and end.
#include <algorithm>
#include <atomic>
#include <utility>

#include "autograd/autograd.h"
#include "autograd/streams.h"

namespace shim {

namespace {

std::atomic<uint64_t> next_sequence{1};

// Nodes whose last reference goes while another node is being destroyed wait here: no recursion. They hold each other by `pyobj`,
// which a node without references does not need: what is freed when memory has run out must not ask for more.
thread_local bool destroying = false;
thread_local Node* to_destroy = nullptr;

}  // namespace

void Node::destroy() {
  if (destroying) {
    pyobj = to_destroy;
    to_destroy = this;
    return;
  }
  destroying = true;
  for (Node* n = this; n;) {
    delete n;
    n = to_destroy;
    if (n) to_destroy = static_cast<Node*>(std::exchange(n->pyobj, nullptr));
  }
  destroying = false;
}

void Node::traverse(Visitor& v) const {
  for (const Edge& e : next_edges) v.shared(e.node.get());
  for (const HookList* list : {&pre_hooks, &tensor_pre_hooks, &retain_hooks, &post_hooks})
    for (auto& h : *list) v.shared(h.get());
  v.shared(metadata.get());
}

std::string Node::forward_name() const {
  std::string n = name();
  size_t digits = n.find_last_not_of("0123456789") + 1, word = digits >= 8 ? digits - 8 : 0;
  return digits > 8 && n.compare(word, 8, "Backward") == 0 ? n.substr(0, word) : n;
}

uint32_t Node::add_input(const TensorImpl& t) {
  inputs.push_back({Dims(t.sizes().begin(), t.sizes().end()), t.dtype(), t.device()});
  if (t.device().is_cuda() && gpu < 0 && stream_ops().of_forward && !SubclassOps::is_special(t)) {
    gpu = t.device().index;
    on_stream = stream_ops().of_forward(gpu, &stream);
  }
  return uint32_t(inputs.size() - 1);
}

void Node::set_next_edges(std::vector<Edge> edges) {
  next_edges = std::move(edges);
  sequence = next_sequence++;
  topological = 0;
  for (Edge& e : next_edges)
    if (e) topological = std::max(topological, e.node->topological + 1);
  if (Anomaly::enabled) Anomaly::created(*this, CurrentBackward::node());
}

std::vector<Ref<Hook>> Node::tensor_hooks() {
  std::vector<Ref<Hook>> all = tensor_pre_hooks;
  all.insert(all.end(), retain_hooks.begin(), retain_hooks.end());
  return all;
}

}  // namespace shim
