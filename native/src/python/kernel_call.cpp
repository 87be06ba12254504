// What kernels ask of Python: its lock, its generators, calls with a history. And why they left calls to bodies.
#include "core/held_object.h"
#include "core/interpreter_lock.h"
#include "cpu/generator.h"
#include "ops/device_copy.h"
#include "python/dispatch.h"
#include "python/held_type.h"

namespace shim {

namespace {

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
  static PyObject* found = imported("shim_torch._impl.tensor.generator", "default_generator").give();
  return found;
}

Mersenne* numbers_of(void* generator, void** held) {
  static PyObject* name = PyUnicode_InternFromString("_engine");
  PyObject* standard = default_generator();
  PyObject* g = generator ? static_cast<PyObject*>(generator) : standard;
  if (Py_TYPE(g) != Py_TYPE(standard)) return nullptr;
  OwnedRef engine = owned(PyObject_GetAttr(g, name));
  const auto* numbers = held_in<Mersenne>(engine);
  if (!numbers) return nullptr;
  *held = engine.give();
  return numbers->get();
}

void copy_with_cupy(const Tensor& self, const Tensor& src) {
  GilAcquire gil;
  OwnedRef to = owned(wrap(self)), from = owned(wrap(src));
  owned(PyObject_CallFunction(imported("shim_torch._impl.arrays.cupy_arrays", "copy"), "OO", to.o, from.o));
}

int install_kernel_calls(PyObject*) {
  interpreter_lock = {release_lock, take_lock, [] { return python_lives() ? int(PyGILState_Ensure()) : -1; },
      [](int was) {
        if (was >= 0) PyGILState_Release(PyGILState_STATE(was));
      }};
  copy_on_device = copy_with_cupy;
  interpreter_objects = {retain_object, release_object, type_name_of};
  GeneratorLease::take = numbers_of;
  GeneratorLease::give_back = [](void* held) { Py_DECREF(static_cast<PyObject*>(held)); };
  install_calls();
  return 0;
}

const ModulePart kernel_call_functions{
    {function<&operator_declines>("operator_declines",
        "Why native kernels left calls to operators' bodies, and how often: {operator: {reason: times}}.")},
    install_kernel_calls};

}  // namespace

}  // namespace shim
