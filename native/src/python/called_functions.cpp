// Calls of Python's functions that C++ keeps (ops/interpreter_function.h).
#include "ops/interpreter_function.h"

#include "python/module_function.h"
#include "python/dispatch.h"

namespace shim {
namespace {

struct Objects : std::vector<PyObject*> {
  ~Objects() {
    for (PyObject* o : *this) Py_DECREF(o);
  }
};

void show(PyObject* o, const TakeValue& take) {
  Values values;
  Value v = values.of(o);
  if (PyTuple_Check(o)) v.width = Value::as_tuple;
  take(v);
}

void call_function(void* function, std::span<const Value> args, const TakeValue& take) {
  const GilAcquire gil;
  Objects given;
  for (const Value& v : args) given.push_back(v.origin ? Py_NewRef(static_cast<PyObject*>(v.origin)) : object_of(v));
  const OwnedRef called{Py_NewRef(static_cast<PyObject*>(function))};  // who keeps it may let go of it meanwhile
  const OwnedRef gave = owned(PyObject_Vectorcall(called, given.data(), given.size(), nullptr));
  show(gave, take);
}

void see_object(void* o, const TakeValue& take) {
  const GilAcquire gil;
  show(static_cast<PyObject*>(o), take);
}

void* import_module(const char* name) {
  return owned(PyImport_ImportModule(str("shim_torch._impl.", name).c_str())).give();
}

void* attribute_of(void* object, const char* name) {
  return owned(PyObject_GetAttrString(static_cast<PyObject*>(object), name)).give();
}

std::string name_of_function(void* function) {
  const GilAcquire gil;
  auto* const f = static_cast<PyObject*>(function);
  const OwnedRef name{PyObject_GetAttrString(f, "__name__")};
  if (!name.o) PyErr_Clear();
  return utf8(owned(PyObject_Str(name.o ? name.o : f)));
}

void* sizes_of(IntArrayRef d) { return owned(size_object(d)).give(); }

void* record_of(const Operator& op) { return python_of(op).record; }

const ModulePart called_functions{{}, [](PyObject*) {
                                    interpreter_functions = {call_function, see_object, import_module, attribute_of,
                                        python_lives, name_of_function, record_of,
                                        [](Operator& op) { attach_formulas(python_of(op)); }, sizes_of};
                                    return 0;
                                  }};

}  // namespace
}  // namespace shim
