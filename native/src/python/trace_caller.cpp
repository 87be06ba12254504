// What torch.compile gives: an object that calls a function traced, and functions whose calls are those of such an object.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
// After it, of Python 3.10:

#include <cstddef>
#include <utility>

#include "core/error.h"
#include "python/owned_ref.h"
#include "python/module_function.h"
#include "python/trace_call.h"
#include "python/trace_whole.h"

namespace shim {

using namespace trace;

namespace {

struct Caller {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *function, *otherwise, *seen;
  PyObject* trees;      // a capsule, or null: each call goes the other way
  Trees* known;         // what it holds
  uint64_t generation;  // as it was when it got them
  WholeCalls* whole;    // of these trees; owned
  bool forbids;         // breaks
};

PyTypeObject* CallerType = nullptr;
uint64_t generation = 0;   // how often all was forgotten
bool plain_stance = true;  // torch.compiler.set_stance("default")

PyObject* call_otherwise(const Caller& c, PyObject* const* args, size_t nargsf, PyObject* names) {
  if (!c.otherwise)
    return PyErr_SetString(PyExc_RuntimeError, "a compiled function that was collected is called"), nullptr;
  const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  OwnedRef positional{tuple_of_lent(args, size_t(n))}, named{dict_of_keywords(names, args + n)};
  return positional.o && named.o ? PyObject_CallFunctionObjArgs(c.otherwise, positional.o, named.o, nullptr) : nullptr;
}

PyObject* call_caller(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  const Caller& c = *reinterpret_cast<Caller*>(self);
  if (!c.trees || !plain_stance || c.generation != generation || !may_trace())
    return call_otherwise(c, args, nargsf, names);
  const OwnedRef held{Py_NewRef(c.trees)};  // the function may have all forgotten, and be compiled again
  const Ref<WholeCalls> whole(c.whole);
  const FunctionCall call{c.function, args, nargsf, names, nullptr};
  return guarded([&] {
    PyObject* known = whole->call(call);
    return known || PyErr_Occurred() ? known : call_traced(*c.known, {c.forbids, c.forbids}, call, c.seen, whole.get());
  });
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  const Caller& c = *reinterpret_cast<Caller*>(self);
  return visit_each(visit, arg, c.function, c.otherwise, c.seen, c.whole ? c.whole->reads() : nullptr, Py_TYPE(self));
}

void forget_whole(Caller& c, WholeCalls* next) {
  if (next) next->retain();
  if (WholeCalls* last = std::exchange(c.whole, next)) last->release();
}

int clear(PyObject* self) {
  Caller& c = *reinterpret_cast<Caller*>(self);
  forget_whole(c, nullptr);
  return clear_each(c.function, c.otherwise, c.seen, c.trees);
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clear(self);
  free_object(self);
}

Caller& caller_of(PyObject* o) {
  CHECK(Kind::Type, Py_TYPE(o) == CallerType, "a caller was expected, not a ", Py_TYPE(o)->tp_name);
  return *reinterpret_cast<Caller*>(o);
}

// --- functions --------------------------------------------------------------------------------------------------------
// A Python function has a vectorcall, which is what calls ask for. Its code does the same where it is run.

PyObject* enter(PyObject* function, PyObject* const* args, size_t nargsf, PyObject* names) {
  PyObject* target = PyCell_GET(PyTuple_GET_ITEM(PyFunction_GET_CLOSURE(function), 0));
  return PyObject_Vectorcall(target, args, nargsf, names);
}

#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000
// The interpreter runs the code of what is exactly a function, whatever its vectorcall.
PyObject* reduce(PyObject* self, PyObject*) { return PyObject_GetAttrString(self, "__qualname__"); }
PyMethodDef entry_methods[] = {{"__reduce_ex__", reduce, METH_O, "By its name, as any function."}, {}};
PyTypeObject EntryType = {PyVarObject_HEAD_INIT(nullptr, 0) "function"};

int make_entry_type() {
  EntryType.tp_base = &PyFunction_Type;
  EntryType.tp_basicsize = PyFunction_Type.tp_basicsize;
  EntryType.tp_flags = Py_TPFLAGS_DEFAULT;
  EntryType.tp_methods = entry_methods;
  if (PyType_Ready(&EntryType) < 0 || PyDict_DelItemString(EntryType.tp_dict, "__doc__") < 0) return -1;
  PyType_Modified(&EntryType);  // each function's doc is its own, as the base says
  return 0;
}
void call_by(PyFunctionObject* f) {
  f->vectorcall = enter;
  Py_SET_TYPE(f, &EntryType);
}
#else
int make_entry_type() { return 0; }
#if PY_VERSION_HEX >= 0x030c0000
void call_by(PyFunctionObject* f) { PyFunction_SetVectorcall(f, enter); }
#else
void call_by(PyFunctionObject* f) { f->vectorcall = enter; }
#endif
#endif

}  // namespace

int make_caller_types() {
  CallerType = add_called_type(
      "shim_torch._impl.native._core.Caller", sizeof(Caller), offsetof(Caller, vectorcall), dealloc, traverse, clear);
  return CallerType ? make_entry_type() : -1;
}

PyObject* trace_caller(PyObject* function, PyObject* otherwise, PyObject* seen) {
  Caller* c = PyObject_GC_New(Caller, CallerType);
  if (!c) throw PythonError();
  c->vectorcall = call_caller;
  c->function = Py_NewRef(function);
  c->otherwise = Py_NewRef(otherwise);
  c->seen = Py_NewRef(seen);
  c->trees = nullptr;
  c->known = nullptr;
  c->generation = generation;
  c->whole = nullptr;
  c->forbids = false;
  PyObject_GC_Track(c);
  return reinterpret_cast<PyObject*>(c);
}

void trace_set_trees(PyObject* caller, PyObject* trees, bool forbids) {
  Caller& c = caller_of(caller);
  c.known = nullptr;
  c.forbids = forbids;
  if (trees != Py_None) {
    const auto* held = held_in<Trees>(trees);
    CHECK(Kind::Type, held, "trace_set_trees(): expected what trace_trees() gave");
    c.known = held->get();
  }
  forget_whole(c, c.known ? new WholeCalls : nullptr);
  Py_XSETREF(c.trees, c.known ? Py_NewRef(trees) : nullptr);
  c.generation = generation;
}

bool trace_is_current(PyObject* caller) { return caller_of(caller).generation == generation; }
void trace_forget() { ++generation; }
void trace_take_stance(bool plain) { plain_stance = plain; }

PyObject* trace_entry(PyObject* function) {
  CHECK(Kind::Type,
      PyFunction_Check(function) && PyFunction_GET_CLOSURE(function) &&
          PyTuple_GET_SIZE(PyFunction_GET_CLOSURE(function)) == 1,
      "a function with one free variable was expected");
  call_by(reinterpret_cast<PyFunctionObject*>(function));
  return Py_NewRef(function);
}

}  // namespace shim
