#pragma once
// One backward pass: what it knows about the nodes, and the order in which they run.
#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <utility>

#include "autograd/autograd.h"
#include "autograd/node_states.h"
#include "autograd/node_watch.h"
#include "autograd/nodes.h"
#include "autograd/operator_node.h"
#include "autograd/streams.h"
#include "core/sparse.h"

namespace shim::graph_task {

// A gradient is fitted to the forward value: broadcasting is undone by sums, the dtype is that of the value.
void fit(Tensor& g, const InputMeta& meta, const Node& from, size_t index);

class GraphTask;
inline thread_local GraphTask* current = nullptr;
inline std::atomic<int64_t> next_task{0};

class GraphTask {
 public:
  explicit GraphTask(const BackwardOptions& options) : options_(options), outer_(current) { current = this; }
  ~GraphTask() { current = outer_; }

  void add_root(const Edge& edge, Tensor grad) {
    roots_.push_back(edge.node);
    states_[edge.node.get()];
    pending_.push_back({edge, std::move(grad)});
  }

  void target(const Edge& edge, size_t slot) {
    State& s = states_[edge.node.get()];
    targeted_ = true;
    if (options_.accumulate)
      s.needed = true;
    else
      s.captures.push_back({edge.input_nr, slot});
  }

  Grads run(size_t slots) {
    captured_.resize(slots);
    explore();
    if (!streams_.idle()) apart_ = &streams_;
    if (targeted_) find_needed();
    for (auto& [edge, grad] : pending_) receive(edge, std::move(grad));
    pending_.clear();
    for (auto& r : roots_)
      if (State& s = states_[r.get()]; s.waiting == 0) push(s);
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      Ref<Node> node(heap_.back());
      heap_.pop_back();
      evaluate(node);
    }
    if (apart_) apart_->finish();
    for (size_t i = 0; i < callbacks_.size(); ++i) {
      auto callback = callbacks_[i];  // it may queue others
      callback();
    }
    return std::move(captured_);
  }

  void queue(std::function<void()> f) { callbacks_.push_back(std::move(f)); }
  int64_t id() const { return id_; }
  Node* running() const { return running_; }
  bool retains() const { return options_.retain_graph; }
  bool targeted() const { return targeted_; }
  bool accumulates() const { return options_.accumulate; }
  bool executes(const Node* n) {
    State* s = states_.find(n);
    return s && s->reached && (!targeted_ || s->needed || (!options_.accumulate && !s->captures.empty()));
  }
  bool only_this_arrives(const Node* n) {
    const State* s = states_.find(n);
    return s && s->waiting == 1 && s->captures.empty() && executes(n) &&
           std::none_of(s->grads.begin(), s->grads.end(), [](const Tensor& g) { return bool(g); });
  }
  std::vector<std::pair<const Node*, Grads>> notes;
  std::vector<Node*> order() {  // the order in which what is left would run
    std::vector<Node*> heap = heap_, out;
    if (before_running_) {  // its hooks look on
      heap.push_back(running_);
      std::push_heap(heap.begin(), heap.end(), later);
    }
    std::unordered_map<Node*, int> waiting;
    for (State& s : states_.all()) waiting[s.node] = s.waiting;
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), later);
      Node* n = heap.back();
      heap.pop_back();
      if (executes(n)) out.push_back(n);
      for (Edge& e : n->next_edges)
        if (e && --waiting[e.node.get()] == 0) {
          heap.push_back(e.node.get());
          std::push_heap(heap.begin(), heap.end(), later);
        }
    }
    return out;
  }

 private:
  static bool later(const Node* a, const Node* b) { return a->sequence < b->sequence; }

  void push(State& s) {
    if (s.queued) return;
    s.queued = true;
    heap_.push_back(s.node);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  // Counts for every node the edges that lead to it.
  void explore() {
    std::vector<Node*> stack;
    auto visit = [&](Node* n) {
      State& s = states_[n];
      if (s.queued) return;  // the flag serves as "seen" until the pass starts
      s.queued = s.reached = true;
      streams_.see(*n);
      stack.push_back(n);
    };
    for (auto& r : roots_) visit(r.get());
    while (!stack.empty()) {
      Node* n = stack.back();
      stack.pop_back();
      for (Edge& e : n->next_edges) {
        if (!e) continue;
        ++states_[e.node.get()].waiting;
        visit(e.node.get());
      }
    }
    for (State& s : states_.all()) s.queued = false;
  }

  // With targets given, only nodes from which a target can be reached run.
  void find_needed() {
    std::vector<State*> sorted;
    for (State& s : states_.all()) sorted.push_back(&s);
    std::sort(
        sorted.begin(), sorted.end(), [](State* a, State* b) { return a->node->topological < b->node->topological; });
    for (State* s : sorted)
      for (Edge& e : s->node->next_edges) {
        State* next = e ? states_.find(e.node.get()) : nullptr;
        if (next && (next->needed || !next->captures.empty())) s->needed = true;
      }
  }

  void receive(const Edge& edge, Tensor g) {
    Grads& buffer = states_[edge.node.get()].grads;
    size_t size = std::max<size_t>(edge.node->inputs.size(), edge.input_nr + 1);
    if (buffer.size() < size) buffer.resize(size);
    Tensor& place = buffer[edge.input_nr];
    if (!g) return;
    if (apart_ && place) apart_->before_sum(*edge.node, place);
    if (!place) {
      place = std::move(g);
    } else if (!options_.create_graph &&
               !operators_are_traced &&  // a trace holds memory, and is to see the same each time
               place->use_count() == 1 && place->storage()->use_count() == 1 && place->dtype() == g->dtype() &&
               place->is_contiguous() && !is_sparse(*place) && !(SubclassOps::watched && SubclassOps::watched(g))) {
      engine_ops().add_(place, g);
    } else {  // a dense sum of both kinds starts at the dense one; of sparse ones the later comes first
      place = is_sparse(*place) ? engine_ops().add(g, place) : engine_ops().add(place, g);
    }
    if (apart_) apart_->sent(*edge.node, place);
  }

  void evaluate(const Ref<Node>& node) {
    Grads out;
    State& state = states_[node.get()];
    struct Restore {
      Node*& place;
      Node* old;
      ~Restore() { place = old; }
    } restore{running_, running_};
    running_ = node.get();
    const BackwardStreams::Entered entered(apart_, *node, state.grads);
    if (!targeted_ || state.needed || !state.captures.empty()) out = compute(node);
    for (size_t i = 0; i < node->next_edges.size(); ++i) {
      Edge& e = node->next_edges[i];
      if (!e) continue;
      if (i < out.size() && out[i]) receive(e, std::move(out[i]));
      State& next = states_[e.node.get()];
      if (--next.waiting == 0) push(next);
    }
  }

  Grads compute(const Ref<Node>& node) {
    State& state = states_[node.get()];
    Grads grads = std::move(state.grads);
    grads.resize(std::max(grads.size(), node->inputs.size()));
    if (!node->tensor_pre_hooks.empty() || !node->retain_hooks.empty() || node->next_edges.empty()) {
      struct Flag {
        bool& on;
        ~Flag() { on = false; }
      } flag{before_running_};
      before_running_ = true;
      for (auto hooks = node->tensor_hooks(); auto& h : hooks) h->pre(grads);
    }
    for (Slot s : state.captures) {
      captured_[s.slot] = grads[s.input];
      if (apart_) apart_->captured(grads[s.input]);
    }
    if (targeted_ && !state.needed) return {};
    bool any = std::any_of(grads.begin(), grads.end(), [](const Tensor& g) { return bool(g); });
    if (!any && !node->runs_without_gradients()) return {};
    return apply(*node, std::move(grads));
  }

  Grads apply(Node& node, Grads&& grads) {
    if (!node.pre_hooks.empty())
      for (auto hooks = node.pre_hooks; auto& h : hooks) h->pre(grads);
    Grads before, out;
    if (!node.post_hooks.empty()) before = grads;
    try {
      WatchedNode watched(node);
      out = node.apply(std::move(grads));
      if (Anomaly::enabled && Anomaly::check_nan) check_nan(node, out);
    } catch (...) {
      if (Anomaly::enabled) Anomaly::failed(node);
      throw;
    }
    if (!options_.retain_graph) node.release_saved();
    for (size_t i = 0; i < node.next_edges.size() && i < out.size(); ++i)
      if (Edge& e = node.next_edges[i])
        fit(out[i], e.node->inputs[e.input_nr], node, i);
      else
        out[i] = Tensor();
    if (!node.post_hooks.empty())
      for (auto hooks = node.post_hooks; auto& h : hooks) h->post(out, before);
    return out;
  }

  static void check_nan(Node& node, Grads& out) {
    for (size_t i = 0; i < out.size(); ++i)
      if (out[i])
        CHECK(Kind::Runtime, !Anomaly::has_nan(out[i]), "Function '", node.name(), "' returned nan values in its ", i,
            "th output.");
  }

  BackwardOptions options_;
  GraphTask* outer_;
  int64_t id_ = next_task++;
  Node* running_ = nullptr;
  bool before_running_ = false;  // the hooks of its tensors run
  bool targeted_ = false;
  std::vector<Ref<Node>> roots_;
  std::vector<std::pair<Edge, Tensor>> pending_;
  States states_;
  BackwardStreams streams_;
  BackwardStreams* apart_ = nullptr;  // where not all runs where the caller is
  std::vector<Node*> heap_;
  std::vector<std::function<void()>> callbacks_;
  Grads captured_;
};

}  // namespace shim::graph_task
