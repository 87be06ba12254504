// The backward pass: nodes run on the calling thread, later ones first, each once all its gradients have arrived.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "autograd/autograd.h"
#include "autograd/nodes.h"

namespace shim {
namespace {

thread_local bool grad_mode = true, inference_mode = false;
std::atomic<uint64_t> next_sequence{1};

std::string list(DimSpan d) {
  std::string s = "[";
  for (size_t i = 0; i < d.size(); ++i) s += (i ? ", " : "") + std::to_string(d[i]);
  return s + "]";
}

bool same(DimSpan a, DimSpan b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

bool expandable(DimSpan from, DimSpan to) {     // whether `from` broadcasts to `to`
  if (from.size() > to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t a = from[from.size() - 1 - i], b = to[to.size() - 1 - i];
    if (a != b && a != 1) return false;
  }
  return true;
}

// A gradient is fitted to the forward value: broadcasting is undone by sums, the dtype is that of the value.
void fit(Tensor& g, const InputMeta& meta, const Node& from, size_t index) {
  if (!g) return;
  if (!same(g->sizes(), meta.sizes)) {
    CHECK(Kind::Runtime, expandable(meta.sizes, g->sizes()), "Function ", from.name(), " returned an invalid gradient at index ", index, " - got ",
          list(g->sizes()), " but expected shape compatible with ", list(meta.sizes));
    g = engine_ops().sum_to(g, meta.sizes);
  }
  CHECK(Kind::Runtime, g->device() == meta.device || (g->device().is_cpu() && g->dim() == 0), "Function ", from.name(), " returned an invalid gradient at index ", index,
        " - expected device ", to_string(meta.device), " but got ", to_string(g->device()));
  if (g->dtype() != meta.dtype) {
    if (is_complex(g->dtype()) && !is_complex(meta.dtype)) g = engine_ops().cast(g, meta.dtype);
    else g = engine_ops().cast(g, meta.dtype);
  }
}

struct Ready {
  Ref<Node> node;
  bool operator<(const Ready& o) const { return node->sequence < o.node->sequence; }
};

class Task {
 public:
  Task(const BackwardOptions& options) : options_(options) {}

  void add_root(const Edge& edge, Tensor grad) {
    roots_.push_back(edge.node);
    receive(edge, std::move(grad));
  }

  void capture(const Edge& edge, size_t slot) { captures_[edge.node.get()].push_back({edge.input_nr, slot}); }

  Grads run(size_t slots) {
    captured_.resize(slots);
    count_dependencies();
    if (!captures_.empty()) find_needed();
    std::unordered_set<Node*> queued;
    for (auto& r : roots_)
      if (!waiting_[r.get()] && queued.insert(r.get()).second) push(r);
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      Ref<Node> node = std::move(heap_.back().node);
      heap_.pop_back();
      evaluate(node);
    }
    return std::move(captured_);
  }

 private:
  struct Slot { uint32_t input; size_t slot; };

  void push(Ref<Node> n) {
    heap_.push_back({std::move(n)});
    std::push_heap(heap_.begin(), heap_.end());
  }

  void count_dependencies() {
    std::vector<Node*> stack;
    std::unordered_set<Node*> seen;
    for (auto& r : roots_)
      if (seen.insert(r.get()).second) stack.push_back(r.get());
    while (!stack.empty()) {
      Node* n = stack.back();
      stack.pop_back();
      order_.push_back(n);
      for (Edge& e : n->next_edges) {
        if (!e) continue;
        ++waiting_[e.node.get()];
        if (seen.insert(e.node.get()).second) stack.push_back(e.node.get());
      }
    }
  }

  // With targets given, only nodes from which a target can be reached run.
  void find_needed() {
    std::sort(order_.begin(), order_.end(), [](Node* a, Node* b) { return a->topological < b->topological; });
    for (Node* n : order_) {
      bool need = captures_.count(n) > 0;
      for (size_t i = 0; !need && i < n->next_edges.size(); ++i) need = n->next_edges[i] && needed_.count(n->next_edges[i].node.get());
      if (need) needed_.insert(n);
    }
  }

  void receive(const Edge& edge, Tensor g) {
    Grads& buffer = buffers_[edge.node.get()];
    if (buffer.size() < edge.node->inputs.size()) buffer.resize(edge.node->inputs.size());
    if (buffer.size() <= edge.input_nr) buffer.resize(edge.input_nr + 1);
    Tensor& place = buffer[edge.input_nr];
    if (!g) return;
    if (!place) {
      place = std::move(g);
    } else if (!options_.create_graph && place->use_count() == 1 && place->storage()->use_count() == 1 && place->dtype() == g->dtype() && place->is_contiguous()) {
      engine_ops().add_(place, g);
    } else {
      place = engine_ops().add(place, g);
    }
  }

  void evaluate(const Ref<Node>& node) {
    Grads grads;
    if (auto it = buffers_.find(node.get()); it != buffers_.end()) {
      grads = std::move(it->second);
      buffers_.erase(it);
    }
    grads.resize(std::max(grads.size(), node->inputs.size()));
    const bool wanted = captures_.empty() || needed_.count(node.get());
    if (wanted) {
      for (auto hooks = node->tensor_hooks(); auto& h : hooks) h->pre(grads);
      if (auto it = captures_.find(node.get()); it != captures_.end())
        for (Slot s : it->second) {
          Tensor& place = captured_[s.slot];
          place = grads[s.input];
        }
    }
    Grads out;
    bool any = std::any_of(grads.begin(), grads.end(), [](const Tensor& g) { return bool(g); });
    bool leads_on = captures_.empty() || std::any_of(node->next_edges.begin(), node->next_edges.end(), [&](Edge& e) { return e && needed_.count(e.node.get()); });
    bool leaf = node->next_edges.empty();
    if (wanted && any && (leaf ? captures_.empty() : leads_on)) {
      for (auto hooks = node->pre_hooks; auto& h : hooks) h->pre(grads);
      Grads before;
      if (!node->post_hooks.empty()) before = grads;
      out = node->apply(std::move(grads));
      for (auto hooks = node->post_hooks; auto& h : hooks) h->post(out, before);
      if (!options_.retain_graph) node->release_saved();
    }
    for (size_t i = 0; i < node->next_edges.size(); ++i) {
      Edge& e = node->next_edges[i];
      if (!e) continue;
      if (i < out.size() && out[i]) {
        fit(out[i], e.node->inputs[e.input_nr], *node, i);
        receive(e, std::move(out[i]));
      }
      if (--waiting_[e.node.get()] == 0) push(e.node);
    }
  }

  BackwardOptions options_;
  std::vector<Ref<Node>> roots_;
  std::vector<Node*> order_;
  std::unordered_map<Node*, Grads> buffers_;
  std::unordered_map<Node*, int> waiting_;
  std::unordered_map<Node*, std::vector<Slot>> captures_;
  std::unordered_set<Node*> needed_;
  std::vector<Ready> heap_;
  Grads captured_;
};

struct ModeGuard {
  bool old = GradMode::enabled();
  explicit ModeGuard(bool on) { GradMode::set(on); }
  ~ModeGuard() { GradMode::set(old); }
};

// Nodes whose last reference goes while another node is being destroyed wait here: no recursion.
thread_local std::vector<Ref<Node>>* graveyard = nullptr;

}  // namespace

bool GradMode::enabled() { return grad_mode; }
void GradMode::set(bool on) { grad_mode = on; }
bool InferenceMode::enabled() { return inference_mode; }
void InferenceMode::set(bool on) { inference_mode = on; }

EngineOps& engine_ops() {
  static EngineOps ops;
  return ops;
}

Node::~Node() {
  std::vector<Ref<Node>> mine;
  for (Edge& e : next_edges)
    if (e.node) mine.push_back(std::move(e.node));
  if (mine.empty()) return;
  if (graveyard) {
    for (auto& n : mine) graveyard->push_back(std::move(n));
    return;
  }
  graveyard = &mine;
  while (!mine.empty()) {
    Ref<Node> n = std::move(mine.back());
    mine.pop_back();
    n.reset();
  }
  graveyard = nullptr;
}

uint32_t Node::add_input(const TensorImpl& t) {
  inputs.push_back({Dims(t.sizes().begin(), t.sizes().end()), t.dtype(), t.device()});
  return uint32_t(inputs.size() - 1);
}

void Node::set_next_edges(std::vector<Edge> edges) {
  next_edges = std::move(edges);
  sequence = next_sequence++;
  topological = 0;
  for (Edge& e : next_edges)
    if (e) topological = std::max(topological, e.node->topological + 1);
}

Grads run_backward(const std::vector<Tensor>& roots, const Grads& gradients, const std::vector<Tensor>& targets, const BackwardOptions& options) {
  Task task(options);
  std::vector<Edge> edges(targets.size());
  for (size_t i = 0; i < targets.size(); ++i) {
    edges[i] = gradient_edge(targets[i]);
    CHECK(Kind::Runtime, edges[i], "One of the differentiated Tensors does not require grad");
    task.capture(edges[i], i);
  }
  ModeGuard mode(options.create_graph);
  for (size_t i = 0; i < roots.size(); ++i) {
    Edge e = gradient_edge(roots[i]);
    CHECK(Kind::Runtime, e, "element ", i, " of tensors does not require grad and does not have a grad_fn");
    task.add_root(e, gradients[i]);
  }
  Grads found = task.run(targets.size());
  if (!targets.empty() && options.accumulate) {
    for (size_t i = 0; i < targets.size(); ++i)
      if (found[i]) accumulate_grad(targets[i], found[i], options.create_graph);
    return {};
  }
  if (!options.allow_unused)
    for (auto& g : found)
      CHECK(Kind::Runtime, g, "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.");
  return found;
}

}  // namespace shim
