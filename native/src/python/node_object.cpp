// grad_fn: the Python view of a node. One type a node name, so that type(y.grad_fn).__name__ is "AddBackward0".
#include <cstring>
#include <string>
#include <unordered_map>

#include "autograd/nodes.h"
#include "python/autograd_python.h"

namespace shim {

PyObject* function_ctx(Node*);

namespace {

struct PyNode { PyObject_HEAD Node* node; PyObject* metadata; };
struct PyHandle { PyObject_HEAD std::vector<Ref<Hook>>* list; Hook* hook; PyObject* owner; };
PyTypeObject *NodeType, *HandleType;

Node* in(PyObject* o) { return reinterpret_cast<PyNode*>(o)->node; }

void dealloc(PyObject* o) {
  Node* n = in(o);
  if (n) {
    if (n->pyobj == o) n->pyobj = nullptr;
    n->release();
  }
  Py_CLEAR(reinterpret_cast<PyNode*>(o)->metadata);
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject* name(PyObject* o, PyObject*) { return PyUnicode_FromString(in(o)->name().c_str()); }
PyObject* repr(PyObject* o) { return PyUnicode_FromFormat("<%s object at %p>", in(o)->name().c_str(), o); }

PyObject* next_functions(PyObject* o, void*) {
  Node* n = in(o);
  PyObject* tuple = PyTuple_New(Py_ssize_t(n->next_edges.size()));
  for (size_t i = 0; i < n->next_edges.size(); ++i) {
    Edge& e = n->next_edges[i];
    PyObject* fn = e ? node_object(e.node) : (Py_INCREF(Py_None), Py_None);
    PyTuple_SET_ITEM(tuple, Py_ssize_t(i), Py_BuildValue("(NI)", fn, e.input_nr));
  }
  return tuple;
}

PyObject* variable(PyObject* o, void*) {
  if (auto* a = dynamic_cast<AccumulateGrad*>(in(o))) return wrap(a->variable());
  PyErr_SetString(PyExc_AttributeError, "variable");
  return nullptr;
}

PyObject* metadata(PyObject* o, void*) {
  PyObject*& d = reinterpret_cast<PyNode*>(o)->metadata;
  if (!d) d = PyDict_New();
  Py_XINCREF(d);
  return d;
}

PyObject* sequence(PyObject* o, PyObject*) { return PyLong_FromUnsignedLongLong(in(o)->sequence); }

PyObject* register_post(PyObject* o, PyObject* f) {
  Ref<Hook> h(new PythonHook(f, PythonHook::Post));
  in(o)->post_hooks.push_back(h);
  return hook_handle(&in(o)->post_hooks, h, o);
}
PyObject* register_pre(PyObject* o, PyObject* f) {
  Ref<Hook> h(new PythonHook(f, PythonHook::Tuple));
  in(o)->pre_hooks.push_back(h);
  return hook_handle(&in(o)->pre_hooks, h, o);
}

PyObject* getattro(PyObject* o, PyObject* attribute) {
  PyObject* found = PyObject_GenericGetAttr(o, attribute);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  const char* text = PyUnicode_AsUTF8(attribute);
  if (!text || std::strncmp(text, "_saved_", 7) != 0) return nullptr;
  PyErr_Clear();
  PyObject* saved = guarded([&]() -> PyObject* { return saved_attribute(in(o), text + 7); });
  if (!saved && !PyErr_Occurred()) PyErr_SetObject(PyExc_AttributeError, attribute);
  return saved;
}

PyGetSetDef getset[] = {{"next_functions", next_functions, nullptr, nullptr, nullptr},
                        {"variable", variable, nullptr, nullptr, nullptr},
                        {"metadata", metadata, nullptr, nullptr, nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {{"name", name, METH_NOARGS, nullptr}, {"register_hook", register_post, METH_O, nullptr},
                         {"register_prehook", register_pre, METH_O, nullptr}, {"_sequence_nr", sequence, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)}, {Py_tp_repr, reinterpret_cast<void*>(repr)},
                       {Py_tp_getattro, reinterpret_cast<void*>(getattro)}, {Py_tp_getset, getset}, {Py_tp_methods, methods}, {0, nullptr}};
PyType_Spec spec = {"torch.autograd.graph.Node", sizeof(PyNode), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

PyTypeObject* type_of(const std::string& node_name) {
  static auto* types = new std::unordered_map<std::string, PyTypeObject*>();
  PyTypeObject*& t = (*types)[node_name];
  if (!t) {
    PyType_Slot none[] = {{0, nullptr}};
    PyType_Spec s = {strdup(node_name.c_str()), sizeof(PyNode), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, none};
    t = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&s, reinterpret_cast<PyObject*>(NodeType)));
  }
  return t;
}

void drop_handle(PyObject* o) {
  auto* h = reinterpret_cast<PyHandle*>(o);
  h->hook->release();
  Py_CLEAR(h->owner);
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject* remove(PyObject* o, PyObject*) {
  auto* h = reinterpret_cast<PyHandle*>(o);
  for (size_t i = 0; i < h->list->size(); ++i)
    if ((*h->list)[i].get() == h->hook) {
      h->list->erase(h->list->begin() + std::ptrdiff_t(i));
      break;
    }
  Py_RETURN_NONE;
}
PyObject* enter(PyObject* o, PyObject*) { Py_INCREF(o); return o; }
PyObject* leave(PyObject* o, PyObject*) { return remove(o, nullptr); }
PyObject* handle_id(PyObject* o, void*) { return PyLong_FromVoidPtr(reinterpret_cast<PyHandle*>(o)->hook); }
PyMethodDef handle_methods[] = {{"remove", remove, METH_NOARGS, nullptr}, {"__enter__", enter, METH_NOARGS, nullptr}, {"__exit__", leave, METH_VARARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyGetSetDef handle_getset[] = {{"id", handle_id, nullptr, nullptr, nullptr}, {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot handle_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(drop_handle)}, {Py_tp_methods, handle_methods}, {Py_tp_getset, handle_getset}, {0, nullptr}};
PyType_Spec handle_spec = {"torch.utils.hooks.RemovableHandle", sizeof(PyHandle), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, handle_slots};

}  // namespace

PyObject* tuple_of_grads(const Grads& grads) {
  PyObject* tuple = PyTuple_New(Py_ssize_t(grads.size()));
  for (size_t i = 0; tuple && i < grads.size(); ++i) PyTuple_SET_ITEM(tuple, Py_ssize_t(i), wrap(grads[i]));
  return tuple;
}

bool grads_from(PyObject* sequence, Grads* out) {
  if (is_tensor(sequence)) {
    out->assign(1, Tensor(unwrap(sequence)));
    return true;
  }
  PyObject* fast = PySequence_Fast(sequence, "expected a sequence of tensors");
  if (!fast) return false;
  out->clear();
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast); ++i) {
    PyObject* o = PySequence_Fast_GET_ITEM(fast, i);
    if (o != Py_None && !is_tensor(o)) {
      PyErr_Format(PyExc_TypeError, "gradients can be either Tensors or None, but got %s", Py_TYPE(o)->tp_name);
      Py_DECREF(fast);
      return false;
    }
    out->push_back(o == Py_None ? Tensor() : Tensor(unwrap(o)));
  }
  Py_DECREF(fast);
  return true;
}

void PythonHook::pre(Grads& grads) {
  GilAcquire gil;
  if (form_ == OneTensor && !grads[index_]) return;
  PyObject* arg = form_ == Tuple ? tuple_of_grads(grads) : wrap(grads[index_]);
  PyObject* r = arg ? PyObject_CallOneArg(f_, arg) : nullptr;
  Py_XDECREF(arg);
  if (!r) throw PythonError();
  if (r != Py_None && form_ == OneTensor) {
    if (!is_tensor(r)) {
      PyErr_Format(PyExc_TypeError, "hook '%R' has changed the type of value (was torch.Tensor got %s)", f_, Py_TYPE(r)->tp_name);
      Py_DECREF(r);
      throw PythonError();
    }
    grads[index_] = Tensor(unwrap(r));
  } else if (r != Py_None && form_ == Tuple && !grads_from(r, &grads)) {
    Py_DECREF(r);
    throw PythonError();
  }
  Py_DECREF(r);
}

void PythonHook::post(Grads& outputs, const Grads& inputs) {
  GilAcquire gil;
  PyObject *a = tuple_of_grads(outputs), *b = tuple_of_grads(inputs);
  PyObject* r = PyObject_CallFunctionObjArgs(f_, a, b, nullptr);
  Py_XDECREF(a);
  Py_XDECREF(b);
  if (!r) throw PythonError();
  bool good = r == Py_None || grads_from(r, &outputs);
  Py_DECREF(r);
  if (!good) throw PythonError();
}

PyObject* hook_handle(std::vector<Ref<Hook>>* list, const Ref<Hook>& hook, PyObject* owner) {
  auto* h = reinterpret_cast<PyHandle*>(HandleType->tp_alloc(HandleType, 0));
  if (!h) return nullptr;
  h->list = list;
  h->hook = Ref<Hook>(hook).detach();
  Py_INCREF(owner);
  h->owner = owner;
  return reinterpret_cast<PyObject*>(h);
}

PyObject* node_object(const Ref<Node>& n) {
  if (!n) Py_RETURN_NONE;
  if (PyObject* ctx = function_ctx(n.get())) {
    Py_INCREF(ctx);
    return ctx;
  }
  if (n->pyobj) {
    auto* o = static_cast<PyObject*>(n->pyobj);
    Py_INCREF(o);
    return o;
  }
  PyTypeObject* type = type_of(n->name());
  auto* o = type ? reinterpret_cast<PyNode*>(type->tp_alloc(type, 0)) : nullptr;
  if (!o) return nullptr;
  o->node = Ref<Node>(n).detach();
  n->pyobj = o;
  return reinterpret_cast<PyObject*>(o);
}

Ref<Node> node_of(PyObject* o) { return PyObject_TypeCheck(o, NodeType) ? Ref<Node>(in(o)) : Ref<Node>(); }

int bind_node(PyObject* module) {
  NodeType = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  HandleType = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&handle_spec));
  if (!NodeType || !HandleType) return -1;
  return PyObject_SetAttrString(module, "Node", reinterpret_cast<PyObject*>(NodeType));
}

}  // namespace shim
