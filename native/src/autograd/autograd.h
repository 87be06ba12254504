#pragma once
// Reverse-mode autograd on the calling thread. The graph is made of Nodes; an edge names a node and one of its inputs.
// Nothing here knows Python: nodes and hooks call its functions with values (ops/interpreter_function.h).
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace shim {

class GraphReader;
class Node;
using Grads = std::vector<Tensor>;  // a null Tensor is "no gradient" (zeros, if materialised)

struct Edge {
  Ref<Node> node;
  uint32_t input_nr = 0;
  explicit operator bool() const { return bool(node); }
};

// What a node knows about the output whose gradient arrives at input i: gradients are checked, cast and summed to it.
struct InputMeta {
  Dims sizes;
  DType dtype = DType::f32;
  Device device;
};

// Told what an object holds a reference to, once a reference: how Python's cycle collector sees through the core's objects.
class Traversable;
class Visitor {
 public:
  virtual void tensor(const Tensor&) = 0;
  virtual void shared(Traversable*) = 0;  // may be null
  virtual void python(void* object) = 0;  // an object of the interpreter; may be null
};
class Traversable : public RefCounted {
 public:
  virtual void traverse(Visitor&) const {}
};

class HookList;
class Hook : public Traversable {  // a tensor or node hook; those of the interpreter are in function_hook.h
 public:
  HookList* home = nullptr;    // the list that its handle takes it off, while that exists
  virtual void pre(Grads&) {}  // gradients as they arrive at the node
  virtual void post(Grads&, const Grads&) {}
};

class HookList : public std::vector<Ref<Hook>> {
 public:
  HookList() = default;
  HookList(const HookList&) = default;
  HookList& operator=(const HookList&) = delete;
  ~HookList() { leave(); }
  void add(const Ref<Hook>& h) {
    push_back(h);
    h->home = this;
  }
  void leave() {
    for (auto& h : *this)
      if (h->home == this) h->home = nullptr;
  }
};

class Metadata : public Traversable {};  // what Python keeps with a node (grad_fn.metadata); lives in src/python

class Node : public Traversable {
 public:
  std::vector<Edge> next_edges;   // one for each input of the forward operator
  std::vector<InputMeta> inputs;  // one for each output of the forward operator
  uint64_t sequence = 0;
  uint64_t topological = 0;  // 1 + the largest of the next nodes
  HookList pre_hooks, tensor_pre_hooks, retain_hooks, post_hooks;
  void* pyobj = nullptr;   // the Python view of this node, borrowed
  void* stream = nullptr;  // that the forward's work went to,
  bool on_stream = false;  // if that is known
  int8_t gpu = -1;         // of its first output; -1: none
  Ref<Metadata> metadata;
  virtual Grads apply(Grads&& grads) = 0;                        // as many results as next_edges
  virtual void release_saved() {}                                // after backward without retain_graph
  virtual bool released() const { return false; }                // and something was
  virtual std::string name() const = 0;                          // "AddBackward0"
  std::string forward_name() const;                              // "Add": what error texts call it
  virtual bool runs_without_gradients() const { return false; }  // whether apply() is called when no gradient arrived
  virtual std::vector<Ref<Hook>> tensor_hooks();                 // run before the gradient is captured
  void traverse(Visitor&) const override;                        // edges, hooks and metadata; a node adds what it saved
  uint32_t add_input(const TensorImpl& output);                  // records its InputMeta, returns its number
  // Writes down what apply() looks at, but for edges and inputs; false: it may do more than words tell.
  virtual bool read(GraphReader&) const { return false; }
  virtual void give_tangent(uint32_t, const Tensor&, uint64_t) {
  }  // of an output, for forward over reverse: (its number, tangent, level)
  void set_next_edges(std::vector<Edge>);  // also sets topological; takes a new sequence number
  bool needs(size_t i) const { return i < next_edges.size() && bool(next_edges[i].node); }

 protected:
  void destroy() override;  // long chains go one by one, not recursively
};

// How a view came to be; decides what an in-place write through it, or through its base, means.
enum class Creation : uint8_t { normal, multi_output, no_grad, inference, custom_function };

// How a view is made of its base again, where geometry does not say: tensors without memory of their own.
class ViewReplay : public Traversable {
 public:
  virtual Tensor apply(const Tensor& base_like) = 0;  // records history where GradMode is on
};

struct AutogradMeta : Recycled<AutogradMeta> {
  bool requires_grad = false;  // of a leaf
  ~AutogradMeta();
  bool retains_grad = false;
  Tensor grad;
  Ref<Node> grad_fn;  // null for a leaf
  uint32_t output_nr = 0;
  Node* accumulator = nullptr;  // the leaf's AccumulateGrad while something holds it (weak): see accumulator_of()
  Ref<Node> kept_accumulator;   // of a leaf that was unpacked: gradients go to the original's
  Ref<Hook> retain;             // of retain_grad(): writes `grad` as the gradient passes
  HookList hooks;               // tensor hooks of a leaf or of this output
  HookList post_accumulate;
  Tensor tangent;  // of forward-mode gradients, while `tangent_level` is open
  uint64_t tangent_level = 0;
  // Differentiable views: in-place writes through one are recorded on the base.
  Tensor base;                // null for a tensor that is not a view
  Ref<ViewReplay> replay;     // null: by geometry
  uint32_t view_version = 0;  // base's version when grad_fn was last made
  Creation creation = Creation::normal;
  bool inherited = false;  // `creation` is that of the view this is a view of
  void traverse(Visitor&) const;
  void clear();  // lets go of all that traverse() tells
};

class PackedValue : public Traversable {  // what a saved tensor's pack hook made of it
 public:
  virtual Tensor unpack() = 0;
};

// Default hooks of saved tensors (torch.autograd.graph.saved_tensors_hooks); `pack` is set once there are any.
struct SavedHooks {
  static int& depth();  // of this thread
  static Ref<PackedValue> (*pack)(const Tensor&);
};

// A tensor kept for backward: holds it without a reference cycle when it is the node's own output, and finds out
// at backward whether it was written to since (PyTorch's error text).
class SavedTensor {
 public:
  SavedTensor() = default;
  SavedTensor(const Tensor& t, bool is_output, uint32_t output_nr = 0);
  Tensor unpack(const Ref<Node>& owner) const;
  bool defined() const { return !was_default_; }
  bool has_hooks() const { return bool(packed_); }
  Tensor to_pack() const;                                                        // what a pack hook is given
  void set_packed(Ref<PackedValue>);                                             // replaces the tensor
  void give_tangent(uint32_t output_nr, const Tensor& tangent, uint64_t level);  // where it is that output
  void reset();
  void traverse(Visitor&) const;
  bool read(GraphReader&) const;  // false: a hook packed it, or unpack() would fail
  bool released = false;

 private:
  Tensor restored(Tensor data, const Ref<Node>& owner) const;
  Tensor data_;  // for an output: a detached alias
  Awaited awaited_;
  Ref<PackedValue> packed_;
  Ref<Node> grad_fn_, accumulator_;
  uint32_t output_nr_ = 0, version_ = 0;
  bool is_output_ = false, was_default_ = true, had_history_ = false, is_leaf_ = false, requires_grad_ = false;
};

// Tensors of subclasses that act for themselves (__torch_dispatch__); null until there are any.
struct SubclassOps {
  static bool (*special)(const TensorImpl&);
  static Tensor (*detach)(const Tensor&);
  static bool (*watched)(const Tensor&);        // special, or a mode sees every operator
  static bool (*overrides)(const TensorImpl&);  // its class has a __torch_function__ that is to be asked
  static bool is_special(const TensorImpl& t) { return special && special(t); }
};
bool is_plain(const Tensor&);  // of no subclass, dense, and its memory holds its values

// Thread-local modes.
struct GradMode {
  static bool enabled();
  static void set(bool);
};
struct InferenceMode {
  static bool enabled();
  static void set(bool);
};
struct NoGrad {
  bool old = GradMode::enabled();
  NoGrad() { GradMode::set(false); }
  ~NoGrad() { GradMode::set(old); }
};
struct WithGrad {
  bool old = GradMode::enabled();
  WithGrad() { GradMode::set(true); }
  ~WithGrad() { GradMode::set(old); }
};

int& forward_gradients();  // how many levels of forward-mode gradients are open on this thread

Ref<Node> accumulator_of(const AutogradMeta&);              // null: nothing holds it
void set_accumulator(AutogradMeta&, Node*);                 // weak
Edge gradient_edge(const Tensor&);                          // grad_fn, or the leaf's AccumulateGrad, or nothing
void set_history(const Tensor& output, const Ref<Node>&);   // output gets grad_fn = node (adds an input to it)
void rebase_history(const Tensor& self, const Ref<Node>&);  // after an in-place write (CopySlices for views)
void check_inplace(const Tensor& self);  // leaf, view-of-leaf and no_grad-view errors, PyTorch's texts; before writing
void mark_view(
    const Tensor& view, const Tensor& base_or_view, bool several = false);  // records view-of; `several`: split, unbind
// The same for two tensors without memory, which from now on share versions; `replay` makes the view of `base_or_view`.
void mark_replayed_view(const Tensor& view, const Tensor& base_or_view, bool several, Ref<ViewReplay> replay);
Tensor detach(const Tensor&);     // same storage, no history; counts versions with its source
bool retain_grad(const Tensor&);  // keeps the gradient of a tensor that is no leaf
void accumulate_grad(
    const Tensor& variable, Tensor grad, bool create_graph, uint32_t holders = 1);  // variable.grad += grad
void refresh_view(TensorImpl&);  // regenerates grad_fn of a view whose base was written in place

struct BackwardOptions {
  bool retain_graph = false, create_graph = false, allow_unused = false, accumulate = true;
};
// A graph is entered at `roots` with `gradients`. With `targets`: their gradients are returned, or (accumulate) only they
// accumulate; without: all leaves accumulate.
Grads run_backward(
    const std::vector<Edge>& roots, Grads gradients, const std::vector<Edge>& targets, const BackwardOptions&);
// While operators are traced: a pass that is no part of another one, adds to all leaves and keeps no history. It calls `run`, or does
// what that would do. Set by src/python.
inline void (*traced_backward)(const std::vector<Edge>& roots, const Grads& gradients, bool retain_graph,
    const std::function<void()>& run) = nullptr;

// What a node that is running may ask about the pass it is part of.
struct CurrentBackward {
  static int64_t id();  // -1 outside
  static Node* node();
  static bool retains_graph();
  static void queue_callback(std::function<void()>);  // runs when the pass is done
  static bool has_targets();                          // a pass of grad(), or with inputs=
  static bool executes(const Node*);
  // Whether all that this node gets in the pass is what the running node gives it, by one edge, and nobody asked for it.
  static bool only_this_arrives(const Node*);
  static void leave_note(const Node* to, Grads);  // from the running node to one that runs later in the pass
  static Grads take_note(const Node* to);         // empty: there is none
  static std::vector<Node*> order();              // the nodes that will still run, first ones first
};

// Anomaly mode: nodes remember where they were made; set by src/python.
struct Anomaly {
  static bool enabled, check_nan;
  static void (*created)(Node&, Node* parent);
  static void (*failed)(Node&);  // warns; the error goes on
  static bool (*has_nan)(const Tensor&);
};

// The few operators the engine itself needs; set by src/dispatch at start-up (they record history when GradMode is on).
struct EngineOps {
  Tensor (*add)(const Tensor&, const Tensor&) = nullptr;
  void (*add_)(const Tensor&, const Tensor&) = nullptr;
  Tensor (*sum_to)(const Tensor&, IntArrayRef) = nullptr;
  Tensor (*cast)(const Tensor&, DType) = nullptr;
  Tensor (*clone)(const Tensor&) = nullptr;
  Tensor (*zeros)(IntArrayRef, DType, Device) = nullptr;
  Tensor (*new_zeros)(const Tensor& like, IntArrayRef) = nullptr;  // of its dtype, device and class
  Tensor (*zeros_as)(const Tensor& like, IntArrayRef sizes, IntArrayRef strides) = nullptr;  // of its class too
  void (*copy_)(const Tensor& self, const Tensor& src) = nullptr;
  Tensor (*as_strided)(const Tensor&, IntArrayRef sizes, IntArrayRef strides, int64_t offset) = nullptr;
  Tensor (*view_operator)(
      const Tensor&, const char* name) = nullptr;  // view_as_real, view_as_complex, _conj, _neg_view
};
EngineOps& engine_ops();

}  // namespace shim
