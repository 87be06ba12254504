// torch._C._FunctionBase: the ctx of a user's autograd.Function, and its apply().

#include "autograd/function_hook.h"
#include "python/function.h"
#include "python/held_type.h"
#include "python/owned_ref.h"

namespace shim {

namespace {

PyTypeObject* FunctionType;
PyFunction* in(PyObject* o) { return reinterpret_cast<PyFunction*>(o); }

PyObject* create(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* o = type->tp_alloc(type, 0);
  if (o) in(o)->own.materialize = in(o)->own.materialize_non_diff = 1;
  return o;
}

int traverse(PyObject* o, visitproc visit, void* arg) {
  PyFunction* f = in(o);
  if (int r = visit_each(visit, arg, Py_TYPE(o), f->dict, f->needs_input_grad, f->to_save, f->non_differentiable,
          f->dirty_tensors, f->saved_for_forward))
    return r;
  for (size_t i = 0; f->own.saved && i < f->own.saved->size(); ++i)
    if (int r = visit_saved((*f->own.saved)[i], visit, arg)) return r;
  return f->own.owns_node ? visit_shared(f->own.node, visit, arg)
                          : 0;  // else the node's owner shows what the node holds
}

// What goes may take the node with it, and with that this object's last user: nothing is looked at twice.
int clear(PyObject* o) {
  PyFunction* f = in(o);
  clear_each(f->dict, f->needs_input_grad, f->to_save, f->non_differentiable, f->dirty_tensors, f->saved_for_forward);
  for (size_t i = 0; f->own.saved && i < f->own.saved->size(); ++i) (*f->own.saved)[i].reset();
  if (f->own.owns_node && f->own.node->use_count() == 1) {
    f->own.owns_node = 0;
    f->own.node->release();
  }
  return 0;
}

// Python lets go of a ctx whose node lives on: the node keeps it from now on.
void finalize(PyObject* o) {
  PyFunction* f = in(o);
  if (!f->own.owns_node || f->own.node->use_count() < 2) return;
  Py_INCREF(o);
  f->own.node->owns_ctx = true;
  f->own.owns_node = 0;
  f->own.node->release();
}

void dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  PyFunction* f = in(o);
  if (f->weakrefs) PyObject_ClearWeakRefs(o);
  if (f->own.owns_node) {
    f->own.owns_node = 0;
    f->own.node->release();
  }
  if (f->own.node) f->own.node->lose_ctx();  // a node that lives on: the finalizer had run before it came to that
  clear(o);
  auto* saved = f->own.saved;
  f->own.saved = nullptr;
  delete saved;
  free_object(o);
}

// Null: it is gone, or about to go (on another thread, or once a node before it is gone), whose end only a weak reference outlives.
Ref<Node> node_in(PyObject* o) {
  FunctionNode* n = in(o)->own.node;
  return n && n->retain_if_there() ? Ref<Node>::adopt(n) : Ref<Node>();
}

Ref<Node> node_or_error(PyObject* o, const char* what) {
  Ref<Node> node = node_in(o);
  CHECK(Kind::Runtime, node, "Attribute '", what,
      "' is invalid for this instance of _C._FunctionBase. Accessing this attribute directly on an instance of "
      "autograd.Function is a "
      "legacy access pattern that is no longer supported. For examples on how to use new-style autograd functions, see "
      "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function ");
  return node;
}

PyObject* metadata(PyObject* o) {
  const Ref<Node> node = node_in(o);
  CHECK(Kind::Runtime, node,
      "You attempted to access the anomaly metadata of a custom autograd function but the underlying PyNode has "
      "already been deallocated.  The most likely "
      "reason this occurred is because you assigned x.grad_fn to a local variable and then let the original variable "
      "get deallocated.  Don't do that!  If you really have no way of "
      "restructuring your code so this is the case, please file an issue reporting that you are affected by this.");
  return node_metadata(*node);
}

template <class F> PyObject* each_saved(PyObject* o, F f) {
  PyFunction* ctx = in(o);
  if (!ctx->own.saved && ctx->saved_for_forward && PyTuple_Check(ctx->saved_for_forward))
    return Py_NewRef(ctx->saved_for_forward);  // for jvp
  CHECK(Kind::Runtime, !ctx->own.freed,
      "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
      "been freed). Saved intermediate "
      "values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you "
      "need to backward through the graph a second time or if you need "
      "to access saved tensors after calling backward.");
  return tuple_by(
      ctx->own.saved ? ctx->own.saved->size() : 0, [&](size_t i) { return f((*ctx->own.saved)[i], node_in(o)); });
}

PyObject* saved_tensors(PyObject* o) {
  return each_saved(o, [](SavedTensor& s, const Ref<Node>& owner) { return wrap(s.unpack(owner)); });
}
PyObject* raw_saved_tensors(PyObject* o) {
  return each_saved(
      o, [o](SavedTensor& s, const Ref<Node>&) { return saved_object(node_or_error(o, "_raw_saved_tensors"), &s); });
}
PyObject* saved_variables(PyObject* o) {
  if (PyErr_WarnEx(PyExc_DeprecationWarning, "'saved_variables' is deprecated; use 'saved_tensors'", 1) < 0)
    return nullptr;
  return saved_tensors(o);
}

using O = PyObject*;
PyGetSetDef getset[] = {
    object_attribute<[](O o) { return next_functions_of(*node_or_error(o, "next_functions")); }>("next_functions"),
    object_attribute<&metadata>("metadata"),
    object_attribute<[](O o) { return metadata_of_inputs(*node_or_error(o, "_input_metadata")); }>("_input_metadata"),
    object_attribute<&saved_tensors>("saved_tensors"), object_attribute<&saved_variables>("saved_variables"),
    object_attribute<&raw_saved_tensors>("_raw_saved_tensors"), dict_attribute(), {}};
PyMemberDef members[] = {{"needs_input_grad", T_OBJECT, offsetof(PyFunction, needs_input_grad), 0, nullptr},
    {"to_save", T_OBJECT, offsetof(PyFunction, to_save), 0, nullptr},
    {"non_differentiable", T_OBJECT, offsetof(PyFunction, non_differentiable), 0, nullptr},
    {"dirty_tensors", T_OBJECT, offsetof(PyFunction, dirty_tensors), 0, nullptr},
    {"saved_for_forward", T_OBJECT, offsetof(PyFunction, saved_for_forward), 0, nullptr},
    {"materialize_grads", T_BOOL, offsetof(PyFunction, own.materialize), 0, nullptr},
    {"_materialize_non_diff_grads", T_BOOL, offsetof(PyFunction, own.materialize_non_diff), 0, nullptr},
    offset_member("__dictoffset__", offsetof(PyFunction, dict)),
    offset_member("__weaklistoffset__", offsetof(PyFunction, weakrefs)), {}};

PyMethodDef methods[] = {method_of_none<[](O o) { return node_or_error(o, "name")->name(); }>("name"),
    method_of_one<[](O o, O f) { return add_node_hook(*node_or_error(o, "register_hook"), f, false); }>(
        "register_hook"),
    method_of_one<[](O o, O f) { return add_node_hook(*node_or_error(o, "register_prehook"), f, true); }>(
        "register_prehook"),
    method_of_none<[](O o) { return int64_t(node_or_error(o, "_sequence_nr")->sequence); }>("_sequence_nr"),
    method_of_one<[](O o, O) { node_or_error(o, "_register_hook_dict"); }>("_register_hook_dict"),
    raw_function("_apply_directly", function_apply_directly, nullptr, METH_CLASS),
    raw_function("apply", function_apply, nullptr, METH_CLASS), {}};
PyType_Slot slots[] = {slot(Py_tp_new, create), slot(Py_tp_dealloc, dealloc), slot(Py_tp_finalize, finalize),
    slot(Py_tp_traverse, traverse), slot(Py_tp_clear, clear), {Py_tp_getset, getset}, {Py_tp_members, members},
    {Py_tp_methods, methods}, {}};
PyType_Spec spec = {"torch._C._FunctionBase", sizeof(PyFunction), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

PyObject* function_ctx(Node* node) {
  auto* f = dynamic_cast<FunctionNode*>(node);
  if (!f) return nullptr;
  auto* o = reinterpret_cast<PyObject*>(f->ctx());
  if (!o) return nullptr;
  if (!f->owns_ctx) return Py_NewRef(o);
  may_be_finalized_again(o);
  f->owns_ctx = false;  // the node's reference goes to the caller, and the ctx keeps the node
  f->retain();
  f->context().owns_node = 1;
  return o;
}

Ref<Node> node_of_function(PyObject* o) { return PyObject_TypeCheck(o, FunctionType) ? node_in(o) : Ref<Node>(); }

int bind_function(PyObject* module) {
  set_function_calls();
  return (FunctionType = add_type(module, spec, "_FunctionBase")) ? 0 : -1;
}

}  // namespace shim
