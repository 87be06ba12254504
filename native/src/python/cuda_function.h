#pragma once
// ordered<&record_event>("cuda_event_record"): a function of the module before which deferred operators run (cuda::before_outside).
// It is the rule for all that Python asks of CUDA; function<>() is for what no operator changes.
#include "cuda/driver.h"
#include "python/module_function.h"

namespace shim {

template <auto F> PyObject* after_deferred(PyObject* module, PyObject* const* args, Py_ssize_t n) {
  PyObject* good = guarded([]() -> PyObject* {
    cuda::before_outside();
    return Py_None;
  });
  return good ? module_call::module_function<F>(module, args, n) : nullptr;
}

template <auto F> PyMethodDef ordered(const char* name, const char* doc = nullptr) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&after_deferred<F>)), METH_FASTCALL, doc};
}

// The former value of a switch; deferred operators run before it changes.
template <class Switch> bool exchanged(Switch* s, std::string_view name, std::optional<bool> value) {
  CHECK(Kind::Value, s, "no setting ", name);
  const bool old = *s;
  if (value && *value != old) cuda::before_setting();
  if (value) *s = *value;
  return old;
}

}  // namespace shim
