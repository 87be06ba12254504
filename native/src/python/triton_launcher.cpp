// kernel[grid] and kernel.run: the methods of JITFunction that launch from here.
#include <cstddef>

#include "cuda/driver.h"
#include "python/object.h"
#include "python/triton_call.h"
#include "python/triton_record.h"

namespace shim::triton {

namespace {

struct Launcher {
  PyObject_HEAD vectorcallfunc call;
  PyObject *fn, *grid;
};
Launcher* spare = nullptr;  // `kernel[grid](...)` makes one and drops it

PyObject* launcher_call(PyObject* self, PyObject* const* args, size_t n, PyObject* kwnames) {
  auto* l = reinterpret_cast<Launcher*>(self);
  return guarded([&] { return dispatch(l->fn, args, size_t(PyVectorcall_NARGS(n)), kwnames, l->grid); });
}
int launcher_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<Launcher*>(self)->fn);
  Py_VISIT(reinterpret_cast<Launcher*>(self)->grid);
  return 0;
}
int launcher_clear(PyObject* self) {
  return clear_each(reinterpret_cast<Launcher*>(self)->fn, reinterpret_cast<Launcher*>(self)->grid);
}
void launcher_dealloc(PyObject* self) {
  auto* l = reinterpret_cast<Launcher*>(self);
  PyObject_GC_UnTrack(self);
  launcher_clear(self);
  if (!spare) {
    spare = l;
    return;
  }
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}
PyMemberDef launcher_members[] = {offset_member("__vectorcalloffset__", offsetof(Launcher, call)), {}};
PyType_Slot launcher_slots[] = {slot(Py_tp_dealloc, launcher_dealloc), slot(Py_tp_traverse, launcher_traverse),
    slot(Py_tp_clear, launcher_clear), slot(Py_tp_call, PyVectorcall_Call), {Py_tp_members, launcher_members}, {}};
PyType_Spec launcher_spec{"shim_torch._impl.native._core.TritonLauncher", sizeof(Launcher), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    launcher_slots};
PyTypeObject* LauncherType = nullptr;

PyObject* getitem(PyObject*, PyObject* const* args, Py_ssize_t n) {  // (fn, grid)
  if (n != 2) return PyErr_Format(PyExc_TypeError, "__getitem__ takes a grid");
  Launcher* l = spare;
  if (l) {
    spare = nullptr;
    _Py_NewReference(reinterpret_cast<PyObject*>(l));
  } else {
    l = PyObject_GC_New(Launcher, LauncherType);
    if (!l) return nullptr;
    l->call = launcher_call;
  }
  l->fn = Py_NewRef(args[0]);
  l->grid = Py_NewRef(args[1]);
  PyObject_GC_Track(reinterpret_cast<PyObject*>(l));
  return reinterpret_cast<PyObject*>(l);
}

PyObject* run(
    PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {  // (fn, *args, grid=, warmup=, **options)
  if (n < 1) return PyErr_Format(PyExc_TypeError, "run takes a kernel");
  return guarded([&] { return dispatch(args[0], args + 1, size_t(n - 1), kwnames, nullptr); });
}

PyMethodDef getitem_def{
    "__getitem__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(getitem)), METH_FASTCALL, "kernel[grid]"};
PyMethodDef run_def = raw_function("run", run, "kernel.run(*args, grid=, warmup=)");

// triton_dispatch(**settings) -> (__getitem__, run), methods of JITFunction
PyObject* setup(PyObject*, PyObject* args) {
  Settings s;
  if (!PyArg_ParseTuple(args, "OOOO!OUO!O!O!", &s.describe, &s.stock, &s.parameters, &PyDict_Type, &s.knobs, &s.driver,
          &s.active, &PyTuple_Type, &s.hooks, &PyTuple_Type, &s.runtime_names, &PyTuple_Type, &s.compilation_names))
    return nullptr;
  for (PyObject* o :
      {s.describe, s.stock, s.parameters, s.knobs, s.driver, s.active, s.hooks, s.runtime_names, s.compilation_names})
    Py_INCREF(o);
  settings = s;  // kept for ever: kernels are launched until the process ends
  PyObject *a = PyCFunction_New(&getitem_def, nullptr), *b = PyCFunction_New(&run_def, nullptr);
  PyObject *item = a ? PyInstanceMethod_New(a) : nullptr, *runs = b ? PyInstanceMethod_New(b) : nullptr;
  Py_XDECREF(a);
  Py_XDECREF(b);
  return item && runs ? Py_BuildValue("(NN)", item, runs) : nullptr;
}

PyObject* counts(PyObject*, PyObject*) { return Py_BuildValue("{sLsL}", "fast", fast, "slow", slow); }

PyMethodDef functions[] = {
    {"triton_dispatch", setup, METH_VARARGS, "The methods that launch Triton's kernels from here."},
    {"triton_launches", counts, METH_NOARGS, "How many launches went from here, and how many through stock Triton."},
    {}};

}  // namespace

int bind_launcher(PyObject* module) {
  LauncherType = add_type(nullptr, launcher_spec);
  return LauncherType ? PyModule_AddFunctions(module, functions) : -1;
}

}  // namespace shim::triton
