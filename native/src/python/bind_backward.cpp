// The backward pass from Python, modes, and what may be asked while a pass runs.
#include <memory>
#include <thread>

#include "cpu/parallel.h"
#include "python/autograd_python.h"

namespace shim {
namespace {

PyObject* is_grad_enabled(PyObject*, PyObject*) { return PyBool_FromLong(GradMode::enabled()); }
PyObject* set_grad_enabled(PyObject*, PyObject* on) {
  bool value;
  if (!unpack_flag(on, "set_grad_enabled(): argument 'enabled' (position 1)", &value)) return nullptr;
  GradMode::set(value);
  Py_RETURN_NONE;
}
PyObject* is_inference(PyObject*, PyObject*) { return PyBool_FromLong(InferenceMode::enabled()); }
PyObject* set_inference(PyObject*, PyObject* on) {
  const int value = PyObject_IsTrue(on);
  if (value < 0) return nullptr;
  InferenceMode::set(value != 0);
  Py_RETURN_NONE;
}

// A pass started inside another one runs on the same stack; after this many levels it gets a fresh one.
constexpr int kMaxReentrant = 60;
thread_local int nested = 0;

Edge edge_of(PyObject* o) {  // a tensor, or (node, input number)
  if (is_tensor(o)) return gradient_edge(Tensor(unwrap(o)));
  if (o == Py_None) return {};
  PyObject *fn, *nr;
  CHECK(Kind::Type, PyTuple_Check(o) && PyTuple_GET_SIZE(o) >= 2, "expected a tensor or a GradientEdge, got ",
      Py_TYPE(o)->tp_name);
  fn = PyTuple_GET_ITEM(o, 0), nr = PyTuple_GET_ITEM(o, 1);
  Ref<Node> node = node_of(fn);
  CHECK(Kind::Runtime, node, "GradientEdge: the node is gone or is not a node of the graph");
  long n = PyLong_AsLong(nr);
  if (n == -1 && PyErr_Occurred()) throw PythonError();
  return {node, uint32_t(n)};
}

bool edges_from(PyObject* sequence, std::vector<Edge>* out) {
  PyObject* fast = PySequence_Fast(sequence, "expected a sequence");
  if (!fast) return false;
  int good = guarded([&]() -> int {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast); ++i)
      out->push_back(edge_of(PySequence_Fast_GET_ITEM(fast, i)));
    return 1;
  });
  Py_DECREF(fast);
  return good;
}

PyObject* pass(const std::vector<Edge>& roots, const Grads& grads, const std::vector<Edge>& targets,
    const BackwardOptions& options) {
  struct Level {  // hooks that a pass turns on end with it
    size_t hooks = saved_hooks_pushed();
    Level() { ++nested; }
    ~Level() {
      --nested;
      restore_saved_hooks(hooks);
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

PyObject* backward(PyObject*, PyObject* args) {  // (tensors, grads, targets, retain, create, allow_unused, accumulate)
  PyObject *tensors, *grads, *targets;
  int retain, create, unused, accumulate;
  if (!PyArg_ParseTuple(
          args, "OOOpppp:run_backward", &tensors, &grads, &targets, &retain, &create, &unused, &accumulate))
    return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<Edge> roots, to;
    Grads g;
    if (!edges_from(tensors, &roots) || !grads_from(grads, &g) || !edges_from(targets, &to)) return nullptr;
    for (size_t i = 0; i < roots.size(); ++i)
      if (!roots[i])
        return PyErr_Format(
            PyExc_RuntimeError, "element %zu of tensors does not require grad and does not have a grad_fn", i);
    BackwardOptions o{bool(retain), bool(create), bool(unused), bool(accumulate)};
    return nested < kMaxReentrant ? pass(roots, g, to, o) : pass_on_new_stack(roots, g, to, o);
  });
}

PyObject* mark_view_function(PyObject*, PyObject* args) {  // (view, base)
  PyObject *view, *base;
  if (!PyArg_ParseTuple(args, "O!O!:mark_view", TensorBaseType, &view, TensorBaseType, &base)) return nullptr;
  mark_view(Tensor(unwrap(view)), Tensor(unwrap(base)));
  Py_RETURN_NONE;
}

PyObject* gradient_edge_function(PyObject*, PyObject* t) {  // -> (node, output number)
  if (!is_tensor(t))
    return PyErr_Format(PyExc_TypeError, "get_gradient_edge: expected a tensor, got %s", Py_TYPE(t)->tp_name);
  return guarded([&]() -> PyObject* {
    Edge e = gradient_edge(Tensor(unwrap(t)));
    CHECK(Kind::Runtime, e, "It is not possible to get the gradient edge for a Tensor that does not require gradients");
    return Py_BuildValue("(NI)", node_object(e.node), e.input_nr);
  });
}

PyObject* mark_inference(PyObject*, PyObject* t) {
  if (is_tensor(t)) unwrap(t)->is_inference = true;
  Py_RETURN_NONE;
}

// --- while a pass runs ------------------------------------------------------------------------------------------------------

PyObject* queue_callback(PyObject*, PyObject* f) {
  return guarded([&]() -> PyObject* {
    struct Drop {
      void operator()(PyObject* o) const {
        GilAcquire gil;
        Py_DECREF(o);
      }
    };
    Py_INCREF(f);
    std::shared_ptr<PyObject> owned(f, Drop{});
    CurrentBackward::queue_callback([owned] {
      GilAcquire gil;
      PyObject* r = PyObject_CallNoArgs(owned.get());
      if (!r) throw PythonError();
      Py_DECREF(r);
    });
    Py_RETURN_NONE;
  });
}

PyObject* task_id(PyObject*, PyObject*) { return PyLong_FromLongLong(CurrentBackward::id()); }
PyObject* current_node(PyObject*, PyObject*) { return node_object(Ref<Node>(CurrentBackward::node())); }
PyObject* keeps_graph(PyObject*, PyObject*) { return PyBool_FromLong(CurrentBackward::retains_graph()); }

PyObject* execution_order(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject* list = PyList_New(0);
    for (Node* n : CurrentBackward::order()) {
      PyObject* o = node_object(Ref<Node>(n));
      PyList_Append(list, o);
      Py_DECREF(o);
    }
    return list;
  });
}

PyObject* will_execute(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    Ref<Node> n = node_of(o);
    CHECK(Kind::Runtime, n, "_will_engine_execute_node expects an grad_fn, but got ", Py_TYPE(o)->tp_name);
    return PyBool_FromLong(CurrentBackward::executes(n.get()));
  });
}

PyObject* is_checkpoint_valid(PyObject*, PyObject*) { return PyBool_FromLong(!CurrentBackward::has_targets()); }

// take_view(tensor, view): the tensor gets the geometry of a view of itself, and its place in the graph.
PyObject* take_view(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || !is_tensor(args[0]) || !is_tensor(args[1]))
    return PyErr_Format(PyExc_TypeError, "take_view() takes a tensor and a view of it");
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    TensorImpl* view = unwrap(args[1]);
    if (self->requires_grad() || self->is_inference) check_inplace(self);
    self->set_geometry(view->sizes(), view->strides(), view->storage_offset());
    self->bump_version();
    AutogradMeta* made = view->autograd();
    if (AutogradMeta* mine = self->autograd(); mine && made && made->grad_fn) {
      mine->grad_fn = made->grad_fn;
      mine->output_nr = made->output_nr;
      mine->view_version = self->version();
    }
    return Py_NewRef(args[0]);
  });
}

PyMethodDef backward_functions[] = {{"is_grad_enabled", is_grad_enabled, METH_NOARGS, nullptr},
    {"_set_grad_enabled", set_grad_enabled, METH_O, nullptr},
    {"is_inference_mode_enabled", is_inference, METH_NOARGS, nullptr},
    {"_set_inference_mode", set_inference, METH_O, nullptr}, {"run_backward", backward, METH_VARARGS, nullptr},
    {"mark_view", mark_view_function, METH_VARARGS, nullptr},
    {"gradient_edge", gradient_edge_function, METH_O, nullptr}, {"_mark_inference", mark_inference, METH_O, nullptr},
    {"take_view", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(take_view)), METH_FASTCALL,
        "The tensor gets the geometry of a view of itself, and its place in the graph."},
    {"queue_callback", queue_callback, METH_O, nullptr}, {"_current_graph_task_id", task_id, METH_NOARGS, nullptr},
    {"_current_autograd_node", current_node, METH_NOARGS, nullptr},
    {"_graph_task_retains_graph", keeps_graph, METH_NOARGS, nullptr},
    {"_current_graph_task_execution_order", execution_order, METH_NOARGS, nullptr},
    {"_will_engine_execute_node", will_execute, METH_O, nullptr},
    {"_is_checkpoint_valid", is_checkpoint_valid, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_backward(PyObject* module) { return PyModule_AddFunctions(module, backward_functions); }

}  // namespace shim
