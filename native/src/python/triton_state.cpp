// The state of one JITFunction: its parameters and the records of its launches.
#include <cstddef>

#include "python/triton.h"

namespace shim::triton {

namespace {

PyObject* const state_name = PyUnicode_InternFromString("_shim_state");

int state_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  auto* s = reinterpret_cast<State*>(self);
  for (Parameter& p : s->parameters) Py_VISIT(p.fallback);
  for (auto& [key, r] : s->records) Py_VISIT(r.kept.o);
  return 0;
}
int state_clear(PyObject* self) {
  const auto gone = std::exchange(reinterpret_cast<State*>(self)->records, {});
  for (Parameter& p : reinterpret_cast<State*>(self)->parameters) Py_CLEAR(p.fallback);
  return 0;
}
void state_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  state_clear(self);
  auto* s = reinterpret_cast<State*>(self);
  for (Parameter& p : s->parameters) Py_XDECREF(p.name);
  std::destroy_at(&s->parameters);
  std::destroy_at(&s->records);
  free_object(self);
}
PyType_Slot state_slots[] = {
    slot(Py_tp_dealloc, state_dealloc), slot(Py_tp_traverse, state_traverse), slot(Py_tp_clear, state_clear), {}};
PyType_Spec state_spec{"shim_torch._impl.native._core.TritonState", sizeof(State), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, state_slots};
PyTypeObject* StateType = nullptr;

}  // namespace

PyObject* dict_of(PyObject* o) {  // borrowed
  PyObject** at = _PyObject_GetDictPtr(o);
  if (at && *at) return *at;
  PyObject* made = PyObject_GenericGetDict(o, nullptr);
  if (!made) PyErr_Clear();
  Py_XDECREF(made);
  return made;
}

// [(name, constexpr, has default, default), ...] from Python; null without an error where stock Triton is to be left alone.
State* state_of(PyObject* fn, PyObject* dict) {
  if (PyObject* known = PyDict_GetItemWithError(dict, state_name))
    return Py_TYPE(known) == StateType ? reinterpret_cast<State*>(known) : nullptr;
  PyObject* list = PyObject_CallOneArg(settings.parameters, fn);
  if (!list) return nullptr;
  auto* s = PyObject_GC_New(State, StateType);
  std::construct_at(&s->parameters);
  std::construct_at(&s->records);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* item = PyList_GET_ITEM(list, i);
    PyObject* name = Py_NewRef(PyTuple_GET_ITEM(item, 0));
    PyUnicode_InternInPlace(&name);
    PyObject* fallback = PyTuple_GET_ITEM(item, 2) == Py_True ? Py_NewRef(PyTuple_GET_ITEM(item, 3)) : nullptr;
    s->parameters.push_back({name, fallback, PyTuple_GET_ITEM(item, 1) == Py_True});
  }
  Py_DECREF(list);
  PyObject_GC_Track(reinterpret_cast<PyObject*>(s));
  const int stored = PyDict_SetItem(dict, state_name, reinterpret_cast<PyObject*>(s));
  Py_DECREF(s);
  return stored < 0 ? nullptr : s;
}

int make_state_type() { return (StateType = add_type(nullptr, state_spec)) ? 0 : -1; }

}  // namespace shim::triton
