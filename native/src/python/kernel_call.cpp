// What kernels ask of Python: its lock, its generators, calls with a history. And why they left calls to bodies.
#include "core/held_object.h"
#include "core/interpreter_lock.h"
#include "cpu/generator.h"
#include "ops/device_copy.h"
#include "python/dispatch.h"
#include "python/mersenne.h"
#include "python/owned_ref.h"
#include "python/module_function.h"

namespace shim {

namespace {

// {"aten::sort": {"bool tensors": 3}} of the operators whose kernels left calls to the body.
PyObject* declines() {
  OwnedRef all = owned(PyDict_New());
  for (auto& ns : operator_namespaces())
    for (auto& name : operator_names(ns))
      for (Operator* op : overloads(ns + "::" + name)) {
        if (op->declines.empty()) continue;
        OwnedRef reasons = owned(PyDict_New());
        for (auto& [reason, times] : op->declines) {
          OwnedRef count = owned(PyLong_FromUnsignedLongLong(times));
          if (PyDict_SetItemString(reasons.o, reason, count.o) < 0) return nullptr;
        }
        if (PyDict_SetItemString(all.o, op->full_name().c_str(), reasons.o) < 0) return nullptr;
      }
  return all.give();
}

void* release_lock() { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; }
void take_lock(void* was) { PyEval_RestoreThread(static_cast<PyThreadState*>(was)); }

void retain_object(void* o) { Py_INCREF(static_cast<PyObject*>(o)); }
void release_object(void* o) {
  if (!python_lives()) return;
  GilAcquire gil;
  Py_DECREF(static_cast<PyObject*>(o));
}
const char* type_name_of(void* o) { return Py_TYPE(static_cast<PyObject*>(o))->tp_name; }

PyObject* default_generator() {
  static PyObject* found = [] {
    OwnedRef module{PyImport_ImportModule("shim_torch._impl.tensor.generator")};
    return module.o ? PyObject_GetAttrString(module.o, "default_generator") : nullptr;
  }();
  if (!found) throw PythonError();
  return found;
}

Mersenne* numbers_of(void* generator, void** held) {
  static PyObject* name = PyUnicode_InternFromString("_engine");
  PyObject* standard = default_generator();
  PyObject* g = generator ? static_cast<PyObject*>(generator) : standard;
  if (Py_TYPE(g) != Py_TYPE(standard)) return nullptr;
  OwnedRef engine = owned(PyObject_GetAttr(g, name));
  Mersenne* numbers = mersenne_of(engine);
  if (numbers) *held = engine.give();
  return numbers;
}

PyMethodDef functions[] = {
    function<&declines>("operator_declines",
        "Why native kernels left calls to operators' bodies, and how often: {operator: {reason: times}}."),
    {}};

void copy_with_cupy(const Tensor& self, const Tensor& src) {
  GilAcquire gil;
  OwnedRef module = owned(PyImport_ImportModule("shim_torch._impl.arrays.cupy_arrays"));
  OwnedRef to = owned(wrap(self)), from = owned(wrap(src));
  owned(PyObject_CallMethod(module.o, "copy", "OO", to.o, from.o));
}

}  // namespace

int bind_kernel_calls(PyObject* module) {
  interpreter_lock = {release_lock, take_lock, [] { return Py_IsInitialized() ? int(PyGILState_Ensure()) : -1; },
      [](int was) {
        if (was >= 0) PyGILState_Release(PyGILState_STATE(was));
      }};
  copy_on_device = copy_with_cupy;
  interpreter_objects = {retain_object, release_object, type_name_of};
  GeneratorLease::take = numbers_of;
  GeneratorLease::give_back = [](void* held) { Py_DECREF(static_cast<PyObject*>(held)); };
  install_calls();
  return PyModule_AddFunctions(module, functions);
}

}  // namespace shim
