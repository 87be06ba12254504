// kernel[grid] and kernel.run: the methods of JITFunction that launch from here.
#include <cstddef>

#include "python/held_type.h"
#include "python/triton.h"

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
  const auto* l = reinterpret_cast<Launcher*>(self);
  return visit_each(visit, arg, Py_TYPE(self), l->fn, l->grid);
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

PyObject* method_of(PyMethodDef* def) {
  return owned(PyInstanceMethod_New(owned(PyCFunction_New(def, nullptr)))).give();
}

// The methods of JITFunction.
std::tuple<PyObject*, PyObject*> setup(PyObject* describe, PyObject* stock, PyObject* parameters, PyObject* knobs,
    PyObject* driver, PyObject* active, PyObject* hooks, PyObject* runtime_names, PyObject* compilation_names) {
  CHECK(
      Kind::Type, PyDict_Check(knobs) && PyUnicode_Check(active), "triton_dispatch(): a dict and a name were expected");
  for (PyObject* o : {hooks, runtime_names, compilation_names})
    CHECK(Kind::Type, PyTuple_Check(o), "triton_dispatch(): a tuple was expected, not a ", Py_TYPE(o)->tp_name);
  settings = {describe, stock, parameters, knobs, driver, active, hooks, runtime_names, compilation_names};
  for (PyObject* o : {describe, stock, parameters, knobs, driver, active, hooks, runtime_names, compilation_names})
    Py_INCREF(o);  // kept for ever: kernels are launched until the process ends
  return {method_of(&getitem_def), method_of(&run_def)};
}

const ModulePart triton_functions{
    {function<&setup>("triton_dispatch", "The methods that launch Triton's kernels from here."),
        function<[]() -> Fact { return Fact::Named{{"fast", fast}, {"slow", slow}}; }>(
            "triton_launches", "How many launches went from here, and how many through stock Triton.")}};

}  // namespace

int make_launcher_type() {
  LauncherType = add_called_type("shim_torch._impl.native._core.TritonLauncher", sizeof(Launcher),
      offsetof(Launcher, call), launcher_dealloc, launcher_traverse, launcher_clear);
  return LauncherType ? 0 : -1;
}

}  // namespace shim::triton
