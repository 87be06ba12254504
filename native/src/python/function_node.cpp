// The node of a user's autograd.Function. `ctx` is a Python object; this node calls its class' backward.
#include "python/autograd_python.h"

namespace shim {
namespace {

// A tensor given to save_for_backward. An output is kept without its history and gets it back when it is unpacked,
// through the node, so that nothing holds itself.
struct PySaved { PyObject_HEAD SavedTensor* saved; Node* owner; };
PyTypeObject* SavedType;

PySaved* saved_in(PyObject* o) { return reinterpret_cast<PySaved*>(o); }

void drop_saved(PyObject* o) {
  delete saved_in(o)->saved;
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

PyType_Slot saved_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(drop_saved)}, {0, nullptr}};
PyType_Spec saved_spec = {"torch._C._autograd.SavedTensor", sizeof(PySaved), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, saved_slots};

class FunctionNode final : public Node {
 public:
  FunctionNode(PyObject* ctx, PyObject* backward, std::string name, bool materialize)
      : ctx_(ctx), backward_(backward), name_(std::move(name)), materialize_(materialize) {
    Py_INCREF(ctx_);
    Py_INCREF(backward_);
  }
  ~FunctionNode() override {
    if (!Py_IsInitialized()) return;
    GilAcquire gil;
    for (PyObject* o : saved) {
      saved_in(o)->owner = nullptr;
      Py_DECREF(o);
    }
    Py_CLEAR(backward_);
    Py_CLEAR(ctx_);
  }
  void release_saved() override {
    for (PyObject* o : saved) saved_in(o)->saved->reset();
  }
  std::string name() const override { return name_; }
  PyObject* ctx() const { return ctx_; }

  Grads apply(Grads&& grads) override {
    GilAcquire gil;
    if (materialize_)
      for (size_t i = 0; i < grads.size(); ++i)
        if (!grads[i]) grads[i] = engine_ops().zeros(inputs[i].sizes, inputs[i].dtype, inputs[i].device);
    PyObject* args = PyTuple_New(Py_ssize_t(is_tensor_output.size()) + 1);
    if (!args) throw PythonError();
    Py_INCREF(ctx_);
    PyTuple_SET_ITEM(args, 0, ctx_);
    for (size_t i = 0, grad = 0; i < is_tensor_output.size(); ++i) {
      PyObject* g = Py_None;
      if (is_tensor_output[i]) g = wrap(grads[grad++]);
      else Py_INCREF(g);
      PyTuple_SET_ITEM(args, Py_ssize_t(i) + 1, g);
    }
    grads.clear();
    PyObject* r = PyObject_CallObject(backward_, args);
    Py_DECREF(args);
    if (!r) throw PythonError();
    Grads out = results(r);
    Py_DECREF(r);
    return out;
  }

  std::vector<bool> is_tensor_input;            // one an argument of apply()
  std::vector<bool> is_tensor_output;           // one a result of forward; backward gets None for the others
  std::vector<PyObject*> saved;                 // owned PySaved objects, shared with ctx

 private:
  Grads results(PyObject* r) {
    PyObject* tuple = PyTuple_Check(r) ? (Py_INCREF(r), r) : PyList_Check(r) ? PyList_AsTuple(r) : PyTuple_Pack(1, r);
    if (!tuple) throw PythonError();
    struct Drop { PyObject* o; ~Drop() { Py_DECREF(o); } } drop{tuple};
    size_t n = size_t(PyTuple_GET_SIZE(tuple)), expected = is_tensor_input.size();
    bool rest_none = n > expected;              // trailing Nones are forgiven
    for (size_t i = expected; i < n; ++i) rest_none = rest_none && PyTuple_GET_ITEM(tuple, Py_ssize_t(i)) == Py_None;
    CHECK(Kind::Runtime, n == expected || rest_none, "function ", name_, " returned an incorrect number of gradients (expected ", expected, ", got ", n, ")");
    Grads out;
    for (size_t i = 0; i < expected; ++i) {
      PyObject* o = PyTuple_GET_ITEM(tuple, Py_ssize_t(i));
      if (!is_tensor_input[i]) {
        CHECK(Kind::Runtime, o == Py_None, "function ", name_, " returned a gradient different from None at position ", i + 1, ", but the corresponding forward input was not a Variable");
        continue;
      }
      if (o != Py_None && !is_tensor(o)) {
        PyErr_Format(PyExc_TypeError, "expected Variable or None (got %s)", Py_TYPE(o)->tp_name);
        throw PythonError();
      }
      out.push_back(o == Py_None ? Tensor() : Tensor(unwrap(o)));
    }
    return out;
  }

  PyObject *ctx_, *backward_;
  std::string name_;
  bool materialize_;
};

bool contains(PyObject* tuple, PyObject* item) {
  if (!tuple || tuple == Py_None) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(tuple); ++i)
    if (PySequence_Fast_GET_ITEM(tuple, i) == item) return true;
  return false;
}

bool save_all(FunctionNode& node, PyObject* ctx, PyObject* to_save, PyObject* outputs, PyObject* result, PyObject* dirty) {
  Py_ssize_t n = PyTuple_GET_SIZE(to_save);
  PyObject* kept = PyTuple_New(n);
  if (!kept) return false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* t = PyTuple_GET_ITEM(to_save, i);
    PyObject* o = Py_None;
    if (is_tensor(t)) {
      bool output = contains(outputs, t) || contains(result, t) || contains(dirty, t);
      o = SavedType->tp_alloc(SavedType, 0);
      saved_in(o)->saved = new SavedTensor(Tensor(unwrap(t)), output && unwrap(t)->requires_grad());
      saved_in(o)->owner = &node;
      Py_INCREF(o);
      node.saved.push_back(o);
    } else {
      Py_INCREF(o);
    }
    PyTuple_SET_ITEM(kept, i, o);
  }
  int r = PyObject_SetAttrString(ctx, "_saved", kept);
  Py_DECREF(kept);
  return r == 0;
}

PyObject* unpack_saved(PyObject*, PyObject* o) {
  if (Py_TYPE(o) != SavedType) {
    Py_INCREF(o);
    return o;
  }
  return guarded([&]() -> PyObject* { return wrap(saved_in(o)->saved->unpack(Ref<Node>(saved_in(o)->owner))); });
}

// connect(ctx, backward, name, args, outputs, dirty, non_differentiable, materialize, to_save) -> outputs with history.
// `outputs` is a tuple; every tensor of it becomes an output of the node.
PyObject* connect(PyObject*, PyObject* call_args) {
  PyObject *ctx, *backward, *args, *outputs, *dirty, *plain;
  PyObject* to_save;
  const char* name;
  int materialize;
  if (!PyArg_ParseTuple(call_args, "OOsO!O!OOpO!:connect", &ctx, &backward, &name, &PyTuple_Type, &args, &PyTuple_Type, &outputs, &dirty, &plain, &materialize, &PyTuple_Type,
                        &to_save)) return nullptr;
  return guarded([&]() -> PyObject* {
    auto node = make<FunctionNode>(ctx, backward, name, materialize);
    std::vector<Edge> edges;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
      PyObject* a = PyTuple_GET_ITEM(args, i);
      node->is_tensor_input.push_back(is_tensor(a));
      if (is_tensor(a)) edges.push_back(gradient_edge(Tensor(unwrap(a))));
    }
    for (Py_ssize_t i = 0; dirty != Py_None && i < PySequence_Fast_GET_SIZE(dirty); ++i)
      if (PyObject* d = PySequence_Fast_GET_ITEM(dirty, i); is_tensor(d)) {
        check_inplace(Tensor(unwrap(d)));
        unwrap(d)->bump_version();
      }
    node->set_next_edges(std::move(edges));
    PyObject* result = PyTuple_New(PyTuple_GET_SIZE(outputs));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); ++i) {
      PyObject* o = PyTuple_GET_ITEM(outputs, i);
      Py_INCREF(o);
      node->is_tensor_output.push_back(is_tensor(o));
      if (!is_tensor(o)) {
        PyTuple_SET_ITEM(result, i, o);
        continue;
      }
      Tensor t(unwrap(o));
      bool input = contains(args, o), written = contains(dirty, o);
      bool grad = (is_floating(t->dtype()) || is_complex(t->dtype())) && !contains(plain, o);
      if (input && !written) {                  // returned as it came: the output is a view of it
        Tensor v = alias(*t);
        mark_view(v, t);
        Py_DECREF(o);
        o = Py_TYPE(o) == TensorType ? wrap(v) : wrap_as(v, Py_TYPE(o));
        t = v;
      }
      if (!grad) node->add_input(*t);
      else if (written) rebase_history(t, node);
      else {
        if (AutogradMeta* m = t->autograd(); m && m->base) m->base.reset();  // a view made in forward: history is the node's
        set_history(t, node);
      }
      PyTuple_SET_ITEM(result, i, o);
    }
    if (!save_all(*node, ctx, to_save, outputs, result, dirty)) Py_CLEAR(result);
    return result;
  });
}

PyMethodDef functions[] = {{"_connect_function", connect, METH_VARARGS, nullptr}, {"_unpack_saved", unpack_saved, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* function_ctx(Node* node) {
  auto* f = dynamic_cast<FunctionNode*>(node);
  return f ? f->ctx() : nullptr;
}

int bind_function(PyObject* module) {
  SavedType = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&saved_spec));
  return SavedType ? PyModule_AddFunctions(module, functions) : -1;
}

}  // namespace shim
