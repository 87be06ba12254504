// The backward pass from Python, modes, and what may be asked while a pass runs.
#include <memory>
#include <thread>

#include "autograd/attributes.h"
#include "autograd/profile.h"
#include "autograd/saved_hooks.h"
#include "cpu/parallel.h"
#include "python/autograd_python.h"
#include "python/schema_function.h"

namespace shim {
namespace {

void set_inference(Truth on) { InferenceMode::set(on); }

// A pass started inside another one runs on the same stack; after this many levels it gets a fresh one.
constexpr int kMaxReentrant = 60;
thread_local int nested = 0;

Edge edge_of(PyObject* o) {  // a tensor, or (node, input number)
  if (is_tensor(o)) return gradient_edge(Tensor(unwrap(o)));
  if (o == Py_None) return {};
  CHECK(Kind::Type, PyTuple_Check(o) && PyTuple_GET_SIZE(o) >= 2, "expected a tensor or a GradientEdge, got ",
      Py_TYPE(o)->tp_name);
  Ref<Node> node = node_of(PyTuple_GET_ITEM(o, 0));
  CHECK(Kind::Runtime, node, "GradientEdge: the node is gone or is not a node of the graph");
  long n = PyLong_AsLong(PyTuple_GET_ITEM(o, 1));
  if (n == -1 && PyErr_Occurred()) throw PythonError();
  return {node, uint32_t(n)};
}

std::vector<Edge> edges_from(PyObject* sequence) {
  const OwnedRef all = owned(PySequence_Fast(sequence, "expected a sequence"));
  std::vector<Edge> edges;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(all.o); ++i)
    edges.push_back(edge_of(PySequence_Fast_GET_ITEM(all.o, i)));
  return edges;
}

PyObject* pass(const std::vector<Edge>& roots, const Grads& grads, const std::vector<Edge>& targets,
    const BackwardOptions& options) {
  struct Level {  // hooks that a pass turns on end with it
    size_t hooks = saved_hooks::pushed();
    Level() { ++nested; }
    ~Level() {
      --nested;
      saved_hooks::restore(hooks);
    }
  } level;
  return guarded([&]() -> PyObject* { return tuple_of_grads(run_backward(roots, grads, targets, options)); });
}

PyObject* pass_on_new_stack(const std::vector<Edge>& roots, const Grads& grads, const std::vector<Edge>& targets,
    const BackwardOptions& options) {
  PyObject *result = nullptr, *type = nullptr, *value = nullptr, *trace = nullptr;
  bool grad_mode = GradMode::enabled();
  bool room = true;
  {
    GilRelease released;
    std::thread fresh([&] {
      if (!(room = thread_locals_fit())) return;
      GilAcquire gil;
      GradMode::set(grad_mode);
      result = pass(roots, grads, targets, options);
      if (!result) PyErr_Fetch(&type, &value, &trace);
    });
    fresh.join();
  }
  if (!room) return PyErr_NoMemory();
  if (!result) PyErr_Restore(type, value, trace);
  return result;
}

PyObject* backward(
    PyObject* tensors, PyObject* grads, PyObject* targets, Truth retain, Truth create, Truth unused, Truth accumulate) {
  const std::vector<Edge> roots = edges_from(tensors), to = edges_from(targets);
  Grads g;
  if (!grads_from(grads, &g)) return nullptr;
  for (size_t i = 0; i < roots.size(); ++i)
    CHECK(Kind::Runtime, roots[i], "element ", i, " of tensors does not require grad and does not have a grad_fn");
  const BackwardOptions o{retain, create, unused, accumulate};
  return nested < kMaxReentrant ? pass(roots, g, to, o) : pass_on_new_stack(roots, g, to, o);
}

std::tuple<PyObject*, int64_t> gradient_edge_of(PyObject* t) {  // (node, output number)
  CHECK(Kind::Type, is_tensor(t), "get_gradient_edge: expected a tensor, got ", Py_TYPE(t)->tp_name);
  Edge e = gradient_edge(Tensor(unwrap(t)));
  CHECK(Kind::Runtime, e, "It is not possible to get the gradient edge for a Tensor that does not require gradients");
  return {node_object(e.node), e.input_nr};
}

void mark_inference(PyObject* t) {
  if (is_tensor(t)) unwrap(t)->is_inference = true;
}

// --- while a pass runs ------------------------------------------------------------------------------------------------------

void queue_callback(PyObject* f) {
  struct Drop {
    void operator()(PyObject* o) const {
      GilAcquire gil;
      Py_DECREF(o);
    }
  };
  std::shared_ptr<PyObject> kept(Py_NewRef(f), Drop{});
  CurrentBackward::queue_callback([kept] {
    GilAcquire gil;
    owned(PyObject_CallNoArgs(kept.get()));
  });
}

PyObject* current_node() { return node_object(Ref<Node>(CurrentBackward::node())); }

PyObject* execution_order() {
  return module_call::list_of(CurrentBackward::order(), [](Node* n) { return node_object(Ref<Node>(n)); });
}

bool will_execute(PyObject* o) {
  Ref<Node> n = node_of(o);
  CHECK(Kind::Runtime, n, "_will_engine_execute_node expects an grad_fn, but got ", Py_TYPE(o)->tp_name);
  return CurrentBackward::executes(n.get());
}

bool is_checkpoint_valid() { return !CurrentBackward::has_targets(); }

PyObject* take_profile() {
  return module_call::list_of(profile::take(), [](profile::Row& row) { return module_call::object(std::move(row)); });
}

const ModulePart backward_functions{{function<&GradMode::enabled>("is_grad_enabled"),
    schema_function<&GradMode::set, "set_grad_enabled(bool enabled)">(nullptr, "_set_grad_enabled"),
    function<&InferenceMode::enabled>("is_inference_mode_enabled"), function<&set_inference>("_set_inference_mode"),
    function<&backward>("run_backward"),
    function<[](const Tensor& view, const Tensor& base) { mark_view(view, base); }>("mark_view"),
    function<&gradient_edge_of>("gradient_edge"), function<&mark_inference>("_mark_inference"),
    function<&take_view>("take_view", "The tensor gets the geometry of a view of itself, and its place in the graph."),
    function<&queue_callback>("queue_callback"),
    function<[] { return int64_t(CurrentBackward::id()); }>("_current_graph_task_id"),
    function<&current_node>("_current_autograd_node"),
    function<[] { return bool(CurrentBackward::retains_graph()); }>("_graph_task_retains_graph"),
    function<&execution_order>("_current_graph_task_execution_order"),
    function<&will_execute>("_will_engine_execute_node"), function<&is_checkpoint_valid>("_is_checkpoint_valid"),
    function<&profile::set>("_set_profiling", "Whether operators and backward nodes are recorded, and with shapes."),
    function<&take_profile>("_take_profile", "What was recorded since the last call.")}};

}  // namespace

}  // namespace shim
