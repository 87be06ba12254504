// grad_fn: the Python view of a node. One type a node name, so that type(y.grad_fn).__name__ is "AddBackward0".
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>

#include "autograd/function_hook.h"
#include "autograd/nodes.h"
#include "dispatch/record_node.h"
#include "python/autograd_python.h"
#include "python/held_type.h"

namespace shim {

namespace {

struct PyNode {
  PyObject_HEAD Node* node;
};
PyTypeObject* NodeType;

Node* in(PyObject* o) { return reinterpret_cast<PyNode*>(o)->node; }
Node& of(PyObject* o) { return *in(o); }

// What stands for a node that the collector of cycles took away.
class ClearedNode final : public Node {
 public:
  Grads apply(Grads&&) override { fail(Kind::Runtime, "the node was freed"); }
  std::string name() const override { return "Node"; }
};
Node* cleared = nullptr;

int traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  return visit_shared(in(o), visit, arg);
}

void let_go(PyObject* o) {
  Node* n = std::exchange(reinterpret_cast<PyNode*>(o)->node, Ref<Node>(cleared).detach());
  if (!n) return;
  if (n->pyobj == o) n->pyobj = nullptr;
  n->release();
}

int clear(PyObject* o) {
  let_go(o);
  return 0;
}

void dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  let_go(o);
  cleared->release();
  free_object(o);
}

PyObject* repr(PyObject* o) {
  return PyUnicode_FromFormat("<%s object at %p>", std::strrchr(Py_TYPE(o)->tp_name, '.') + 1, o);
}

const Tensor& variable(PyObject* o) {
  auto* a = dynamic_cast<AccumulateGrad*>(in(o));
  CHECK(Kind::Attribute, a, "variable");
  return a->variable();
}

// grad_fn._saved_x; null without an error if there is none. `raw`: a saved tensor before it is unpacked, which takes hooks of its own.
PyObject* saved_attribute(PyObject* o, const std::string& name, bool raw) {
  auto* record = dynamic_cast<RecordNode*>(in(o));
  SavedValue* v = record ? record->find_shown(name) : nullptr;
  const bool tensors = v && (v->is_tensor || v->is_list);
  if (!v || (raw && !tensors)) return nullptr;
  if (raw) {
    const auto one = [&](size_t i) { return saved_object(Ref<Node>(record), &v->tensors[i]); };
    return v->is_list ? tuple_by(v->tensors.size(), one) : one(0);
  }
  if (tensors) record->check_kept();
  Unpacked unpacked(*record);
  Value found = unpacked.of(*v);
  if (v->is_list) found.tag = Value::list, found.width = Value::as_tuple;
  return object_of(found);
}

PyObject* run(PyObject* o, PyObject* args, PyObject*) {  // grad_fn(*gradients)
  Grads grads;
  if (!grads_from(args, &grads)) return nullptr;
  Node* n = in(o);
  if (grads.size() != n->inputs.size())
    return PyErr_Format(PyExc_TypeError, "expected %zu arguments, got %zu instead", n->inputs.size(), grads.size());
  return guarded([&]() -> PyObject* {
    Grads out = n->apply(std::move(grads));
    return out.size() == 1 ? wrap(out[0]) : tuple_of_grads(out);
  });
}

void set_sequence(PyObject* o, PyObject* value) {
  const uint64_t n = PyLong_AsUnsignedLongLong(value);
  if (PyErr_Occurred()) throw PythonError();
  in(o)->sequence = n;
}

PyObject* getattro(PyObject* o, PyObject* attribute) {
  PyObject* found = PyObject_GenericGetAttr(o, attribute);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  const char* text = PyUnicode_AsUTF8(attribute);
  bool raw = text && std::strncmp(text, "_raw_saved_", 11) == 0;
  if (!text || (!raw && std::strncmp(text, "_saved_", 7) != 0)) return nullptr;
  PyErr_Clear();
  PyObject* saved = guarded([&]() -> PyObject* { return saved_attribute(o, text + (raw ? 11 : 7), raw); });
  if (!saved && !PyErr_Occurred())
    PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%U'", std::strrchr(Py_TYPE(o)->tp_name, '.') + 1,
        attribute);
  return saved;
}

using O = PyObject*;
PyGetSetDef getset[] = {object_attribute<[](O o) { return next_functions_of(of(o)); }>("next_functions"),
    object_attribute<&variable>("variable"), object_attribute<[](O o) { return node_metadata(of(o)); }>("metadata"),
    object_attribute<[](O o) { return metadata_of_inputs(of(o)); }>("_input_metadata"),
    object_attribute<[](O) { return true; }>("requires_grad"), {}};
PyMethodDef methods[] = {object_method<[](O o) { return of(o).name(); }>("name"),
    object_method<[](O o, O f) { return add_node_hook(of(o), f, false); }>("register_hook"),
    object_method<[](O o, O f) { return add_node_hook(of(o), f, true); }>("register_prehook"),
    object_method<[](O o) { return PyLong_FromUnsignedLongLong(of(o).sequence); }>("_sequence_nr"),
    object_method<&set_sequence>("_set_sequence_nr"), {}};
PyType_Slot slots[] = {slot(Py_tp_dealloc, dealloc), slot(Py_tp_traverse, traverse), slot(Py_tp_clear, clear),
    slot(Py_tp_repr, repr), slot(Py_tp_call, run), slot(Py_tp_getattro, getattro), {Py_tp_getset, getset},
    {Py_tp_methods, methods}, {}};
PyType_Spec spec = {"torch.autograd.graph.Node", sizeof(PyNode), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

PyTypeObject* type_of(const std::string& node_name) {
  static auto* types = new std::unordered_map<std::string, PyTypeObject*>();
  PyTypeObject*& t = (*types)[node_name];
  if (!t) {
    PyType_Slot none[] = {{}};
    PyType_Spec s = {strdup(("builtins." + node_name.substr(node_name.rfind(':') + 1)).c_str()), sizeof(PyNode), 0,
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, none};
    t = add_type(nullptr, s, nullptr, NodeType);
  }
  return t;
}

}  // namespace

PyObject* node_object(const Ref<Node>& n) {
  if (!n) Py_RETURN_NONE;
  if (PyObject* ctx = function_ctx(n.get())) return ctx;
  if (n->pyobj) return Py_NewRef(static_cast<PyObject*>(n->pyobj));
  PyTypeObject* type = type_of(n->name());
  auto* o = type ? reinterpret_cast<PyNode*>(type->tp_alloc(type, 0)) : nullptr;
  if (!o) return nullptr;
  o->node = Ref<Node>(n).detach();
  n->pyobj = o;
  return reinterpret_cast<PyObject*>(o);
}

PyObject* next_functions_of(Node& n) {
  return tuple_by(n.next_edges.size(), [&](size_t i) {
    const Edge& e = n.next_edges[i];
    return Py_BuildValue("(NI)", e ? node_object(e.node) : Py_NewRef(Py_None), e.input_nr);
  });
}

PyObject* metadata_of_inputs(Node& n) {
  return guarded([&]() -> PyObject* {
    // (shape, dtype, device) -> what grad_fn._input_metadata holds
    static PyObject* make =
        owned(PyObject_GetAttrString(owned(PyImport_ImportModule("shim_torch.autograd.graph")), "_InputMetadata"))
            .give();
    return module_call::list_of(n.inputs, [](const InputMeta& m) {
      return PyObject_CallFunction(make, "NNN", size_object(m.sizes), dtype_object(m.dtype), device_object(m.device));
    });
  });
}

Ref<Node> node_of(PyObject* o) {
  if (PyObject_TypeCheck(o, NodeType)) return Ref<Node>(in(o));
  return node_of_function(o);
}

namespace {
PyObject* node_type(std::string_view name) {
  return Py_XNewRef(reinterpret_cast<PyObject*>(type_of(std::string(name))));
}
PyMethodDef node_object_functions[] = {
    function<&node_type>("_node_type", "The type that grad_fn has for nodes of a name."), {}};
}  // namespace

int bind_node(PyObject* module) {
  cleared = Ref<Node>(new ClearedNode).detach();
  NodeType = add_type(module, spec, "Node");
  return NodeType ? PyModule_AddFunctions(module, node_object_functions) : -1;
}

}  // namespace shim
