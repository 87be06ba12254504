// Saved tensors seen from Python, and their pack and unpack hooks.
#include <memory>
#include <string>
#include <utility>

#include "autograd/saved_hooks.h"
#include "python/autograd_python.h"
#include "python/object_methods.h"

namespace shim {
namespace {

struct PySaved {
  PyObject_HEAD Node* owner;
  SavedTensor* saved;
};  // without an owner it holds its SavedTensor itself
PyTypeObject* SavedType;

int traverse_saved(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  auto* s = reinterpret_cast<PySaved*>(o);
  if (s->owner) return visit_shared(s->owner, visit, arg);
  return s->saved ? visit_saved(*s->saved, visit, arg) : 0;
}

int clear_saved(PyObject* o) {
  auto* s = reinterpret_cast<PySaved*>(o);
  Node* owner = std::exchange(s->owner, nullptr);
  SavedTensor* saved = std::exchange(s->saved, nullptr);
  if (owner)
    owner->release();
  else
    delete saved;
  return 0;
}

SavedTensor& saved_in(PyObject* o) {
  SavedTensor* s = reinterpret_cast<PySaved*>(o)->saved;
  CHECK(Kind::Runtime, s, "the saved tensor was freed");  // by the collector of cycles
  return *s;
}

void drop_saved(PyObject* o) {
  PyObject_GC_UnTrack(o);
  clear_saved(o);
  free_object(o);
}

PyObject* register_hooks(Rest given) {  // (the object, pack, unpack)
  PyObject* const* hooks = given.args + 1;
  CHECK(Kind::Type, given.size == 3 && PyCallable_Check(hooks[0]) && PyCallable_Check(hooks[1]),
      "incompatible function arguments: register_hooks(pack_hook: function, unpack_hook: function)");
  saved_hooks::pack(saved_in(given.args[0]), hooks[0], hooks[1]);
  Py_RETURN_NONE;
}

PyObject* refuse(PyTypeObject*, PyObject*, PyObject*) {
  return PyErr_Format(PyExc_RuntimeError, "Trying to create a SavedTensor object from Python is forbidden.");
}

Tensor unpack_saved(PyObject* self) {
  return saved_in(self).unpack(Ref<Node>(reinterpret_cast<PySaved*>(self)->owner));
}

PyObject* make_saved(PyObject* t, std::optional<bool> is_output) {  // saved as an operator's input would be
  CHECK(Kind::Type, is_tensor(t), "_make_saved_tensor() expects a tensor, not ", Py_TYPE(t)->tp_name);
  auto saved = std::make_unique<SavedTensor>(Tensor(unwrap(t)), is_output.value_or(false));
  auto* o = reinterpret_cast<PySaved*>(owned(SavedType->tp_alloc(SavedType, 0)).give());
  o->saved = saved.release();
  return reinterpret_cast<PyObject*>(o);
}

PyMethodDef saved_methods[] = {object_method<&unpack_saved>("unpack", "The tensor."),
    object_method<&register_hooks>(
        "register_hooks", "Packs the tensor now with the first function, unpacks with the second."),
    {}};
PyType_Slot saved_slots[] = {slot(Py_tp_dealloc, drop_saved), slot(Py_tp_traverse, traverse_saved),
    slot(Py_tp_clear, clear_saved), {Py_tp_methods, saved_methods}, slot(Py_tp_new, refuse), {}};
PyType_Spec saved_spec = {
    "torch._C._autograd.SavedTensor", sizeof(PySaved), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, saved_slots};

PyObject* top_default() {
  const auto top = saved_hooks::top();
  return top ? Py_BuildValue("OO", top->first, top->second) : Py_NewRef(Py_None);
}

PyMethodDef saved_object_functions[] = {function<&make_saved, "tensor is_output">("_make_saved_tensor"),
    function<[](PyObject* pack, PyObject* unpack) { saved_hooks::push(pack, unpack); }>(
        "_push_saved_tensors_default_hooks"),
    function<&saved_hooks::pop>("_pop_saved_tensors_default_hooks"),
    function<&top_default>("_top_saved_tensors_default_hooks"),
    function<&saved_hooks::disable>("_saved_tensors_hooks_disable"),
    function<&saved_hooks::enable>("_saved_tensors_hooks_enable"),
    function<[] { return !saved_hooks::why_disabled(); }>("_saved_tensors_hooks_is_enabled"),
    function<&saved_hooks::why_disabled>("_saved_tensors_hooks_get_disabled_error_message"), {}};

}  // namespace

PyObject* saved_object(const Ref<Node>& owner, SavedTensor* saved) {
  auto* o = reinterpret_cast<PySaved*>(SavedType->tp_alloc(SavedType, 0));
  if (!o) return nullptr;
  o->owner = Ref<Node>(owner).detach();
  o->saved = saved;
  return reinterpret_cast<PyObject*>(o);
}

int bind_saved(PyObject* module) {
  SavedType = add_type(module, saved_spec, "SavedTensor");
  return SavedType ? PyModule_AddFunctions(module, saved_object_functions) : -1;
}

}  // namespace shim
