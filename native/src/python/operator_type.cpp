// The types of the operator table's callables: attributes, docstrings, pickling.
#include <algorithm>

#include "python/owned_ref.h"
#include "python/operator_callable.h"

namespace shim {

PyTypeObject *OperatorFunctionType = nullptr, *OperatorMethodType = nullptr, *OperatorCallType = nullptr;

PyObject* make_callable(PyTypeObject* type, const std::string& qualified, Form form, const char* module) {
  auto* f = reinterpret_cast<Callable*>(type->tp_alloc(type, 0));
  if (!f) return nullptr;
  std::string name = qualified.substr(qualified.find("::") + 2);
  f->vectorcall = call_callable;
  f->candidates = form == Form::op ? &overloads(qualified) : &public_overloads(qualified);
  f->form = form;
  f->name = PyUnicode_InternFromString(name.c_str());
  f->qualname = PyUnicode_FromString(form == Form::method ? ("TensorBase." + name).c_str() : name.c_str());
  f->module = module ? PyUnicode_FromString(module) : Py_NewRef(Py_None);
  f->doc = Py_NewRef(Py_None);
  return reinterpret_cast<PyObject*>(f);
}

namespace {

int traverse(PyObject* self, visitproc visit, void* arg) {
  auto* f = reinterpret_cast<Callable*>(self);
  return visit_each(visit, arg, Py_TYPE(self), f->dict, f->qualname, f->module, f->doc, f->public_form);
}
int clear(PyObject* self) {
  auto* f = reinterpret_cast<Callable*>(self);
  Py_XSETREF(f->doc, Py_NewRef(Py_None));
  return clear_each(f->dict, f->qualname, f->module, f->public_form);
}
void dealloc(PyObject* self) {
  auto* f = reinterpret_cast<Callable*>(self);
  PyObject_GC_UnTrack(self);
  if (f->weakrefs) PyObject_ClearWeakRefs(self);
  clear_each(f->name, f->qualname, f->module, f->doc, f->dict, f->public_form);
  free_object(self);
}

PyObject* descr_get(PyObject* self, PyObject* obj, PyObject*) {
  if (!obj || obj == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, obj);
}

PyObject* repr(PyObject* self) {
  auto* f = reinterpret_cast<Callable*>(self);
  if (f->form == Form::method) return PyUnicode_FromFormat("<method '%U' of 'torch._C.TensorBase' objects>", f->name);
  return PyUnicode_FromFormat("<built-in function %U>", f->name);
}

PyObject* reduce(PyObject* self, PyObject*) {  // pickled by name, as built-in functions are
  auto* f = reinterpret_cast<Callable*>(self);
  if (f->form != Form::method) return Py_NewRef(f->name);
  return Py_BuildValue("O(OO)", PyDict_GetItemString(PyEval_GetBuiltins(), "getattr"), TensorType, f->name);
}

PyMemberDef members[] = {{"__name__", T_OBJECT, offsetof(Callable, name), READONLY, nullptr},
    {"__qualname__", T_OBJECT, offsetof(Callable, qualname), 0, nullptr},
    offset_member("__dictoffset__", offsetof(Callable, dict)),
    offset_member("__weaklistoffset__", offsetof(Callable, weakrefs)),
    offset_member("__vectorcalloffset__", offsetof(Callable, vectorcall)), {}};

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};

// The overloads' signatures, and what the record's author wrote about the operator.
std::string documentation(const Callable& f) {
  std::string lines, words;
  const bool out = f.form == Form::function && std::ranges::any_of(*f.candidates, [](Operator* op) { return op->out; });
  for (Operator* op : *f.candidates) {
    if (op->out) continue;
    lines += documented_signature(op->schema, f.form, out) + "\n";
    if (!words.empty() || !python_of(*op).record) continue;
    OwnedRef body{PyObject_GetAttrString(python_of(*op).record, "body")};
    OwnedRef doc{body.o ? PyObject_GetAttrString(body, "__doc__") : nullptr};
    const char* found = doc.o && PyUnicode_Check(doc) ? PyUnicode_AsUTF8(doc) : nullptr;
    if (found) words = std::string("\n") + found + "\n";
    PyErr_Clear();
  }
  return lines + words;
}

PyObject* get_doc(PyObject* self, void*) {
  auto* f = reinterpret_cast<Callable*>(self);
  if (f->doc != Py_None || f->single || f->form == Form::op) return Py_NewRef(f->doc);
  return guarded([&]() -> PyObject* {
    const std::string text = documentation(*f);
    if (text.empty()) Py_RETURN_NONE;
    return PyUnicode_FromString(text.c_str());
  });
}

int set_doc(PyObject* self, PyObject* value, void*) {
  auto* f = reinterpret_cast<Callable*>(self);
  Py_XSETREF(f->doc, Py_NewRef(value ? value : Py_None));
  return 0;
}

PyGetSetDef getset[] = {dict_attribute(), {"__doc__", get_doc, set_doc, nullptr, nullptr}, {}};

// __module__ is no member: the type would answer for its own with the member. Code that tells built-in functions from others by
// isinstance (inspect, torch.fx) finds them built in, as PyTorch's are.
bool is_attribute(PyObject* name, const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; }

PyObject* get_attribute(PyObject* self, PyObject* name) {
  auto* f = reinterpret_cast<Callable*>(self);
  if (is_attribute(name, "__module__")) return Py_NewRef(f->module ? f->module : Py_None);
  if (is_attribute(name, "__class__")) {
    if (Py_TYPE(self) == OperatorFunctionType) return Py_NewRef(reinterpret_cast<PyObject*>(&PyCFunction_Type));
    if (Py_TYPE(self) == OperatorMethodType) return Py_NewRef(reinterpret_cast<PyObject*>(&PyMethodDescr_Type));
  }
  return PyObject_GenericGetAttr(self, name);
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  if (!is_attribute(name, "__module__")) return PyObject_GenericSetAttr(self, name, value);
  auto* f = reinterpret_cast<Callable*>(self);
  Py_XSETREF(f->module, Py_XNewRef(value));
  return 0;
}

PyObject* op_new(PyTypeObject* type, PyObject* args, PyObject*) {  // OperatorCall(qualified, overload or None, ...)
  const char *name, *overload = nullptr;
  const OwnedRef first{PyTuple_GetSlice(args, 0, 2)};
  if (!first.o || !PyArg_ParseTuple(first, "s|z", &name, &overload)) return nullptr;
  Operator* op = overload ? find_operator(name, overload) : nullptr;
  if (overload && !op)
    return PyErr_Format(PyExc_RuntimeError, "operator %s%s%s does not exist", name, *overload ? "." : "", overload);
  PyObject* self = make_callable(type, name, Form::op, "torch._ops");
  if (self) reinterpret_cast<Callable*>(self)->single = op;
  return self;
}

PyTypeObject* make_type(const char* name, unsigned long extra, PyType_Slot extra_slot, bool op = false) {
  PyType_Slot slots[] = {slot(Py_tp_dealloc, dealloc), slot(Py_tp_traverse, traverse), slot(Py_tp_clear, clear),
      slot(Py_tp_call, PyVectorcall_Call), slot(Py_tp_repr, repr), {Py_tp_members, members}, {Py_tp_methods, methods},
      {Py_tp_getset, getset}, slot(Py_tp_getattro, op ? PyObject_GenericGetAttr : get_attribute),
      slot(Py_tp_setattro, op ? PyObject_GenericSetAttr : set_attribute), extra_slot, {}};
  PyType_Spec spec{name, sizeof(Callable), 0,
      unsigned(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | extra), slots};
  return add_type(nullptr, spec);
}

}  // namespace

int make_callable_types() {
  OperatorFunctionType = make_type("builtins.builtin_function_or_method", 0, {});
  OperatorMethodType =
      make_type("builtins.method_descriptor", Py_TPFLAGS_METHOD_DESCRIPTOR, slot(Py_tp_descr_get, descr_get));
  OperatorCallType = make_type("torch.OperatorCall", Py_TPFLAGS_BASETYPE, slot(Py_tp_new, op_new), true);
  return OperatorFunctionType && OperatorMethodType && OperatorCallType ? 0 : -1;
}

}  // namespace shim
