// The interpreter's side of the stable C ABI: calls of compiled code into the operator table, warnings, streams.
#include <utility>

#include "abi/extension_host.h"
#include "abi/operators.h"
#include "python/library_code.h"

namespace shim {

namespace {

PyObject*& interrupt() {
  static thread_local PyObject* value = nullptr;
  return value;
}

// The pending Python exception as text; it is cleared. What is no Exception (KeyboardInterrupt) is kept for the caller of
// the kernel.
std::string take_python_error() {
  Pending raised;
  PyObject* value = raised.value();
  if (value && !PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(PyExc_Exception)))
    Py_XSETREF(interrupt(), Py_NewRef(value));
  const std::string text = raised.text();
  raised.drop();
  return text;
}

void raise_interrupt() {
  const OwnedRef value{std::exchange(interrupt(), nullptr)};
  if (!value.o) return;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(value.o)), value);
  throw PythonError();
}

template <class F> void in_python(F&& f) {
  CHECK(Kind::Runtime, Py_IsInitialized(), "the interpreter has ended");
  GilAcquire gil;
  try {
    f();
  } catch (const PythonError&) { fail(Kind::Runtime, take_python_error()); }
  if (PyErr_Occurred()) fail(Kind::Runtime, take_python_error());
}

void dispatch(const char* name, const char* overload, abi::Cell* stack, bool internal) {
  in_python([&] { abi::run_operator(name, overload, stack, internal); });
}

void warn(const char* text) {
  if (!Py_IsInitialized()) return;
  GilAcquire gil;
  if (PyErr_WarnEx(PyExc_UserWarning, text, 1) < 0) PyErr_WriteUnraisable(nullptr);
}

Device generator_device(void* generator) {
  OwnedRef device = owned(PyObject_GetAttrString(static_cast<PyObject*>(generator), "device"));
  return device_of(device);
}

void set_stream(void* stream, int device) {
  const Value given[] = {{Value::integer, int64_t(reinterpret_cast<intptr_t>(stream))}, {Value::integer, device}};
  in_python([&] { call_imported("extensions.load", "set_stream", given); });
}

void* pool_stream(bool high_priority, int device) {
  const Value given[] = {{Value::boolean, high_priority}, {Value::integer, device}};
  void* stream = nullptr;
  in_python([&] {
    call_imported("extensions.load", "pool_stream", std::span(given),
        [&](const Value& made) { stream = reinterpret_cast<void*>(made.i); });
  });
  return stream;
}

// What was wrong with schemas; what has no UTF-8 is replaced.
PyObject* library_problems() {
  abi::take_over_libraries();
  return module_call::list_of(abi::take_problems(),
      [](const std::string& s) { return PyUnicode_DecodeUTF8(s.data(), Py_ssize_t(s.size()), "replace"); });
}

int install_host(PyObject*) {
  abi::host() = {.dispatch = dispatch,
      .warn = warn,
      .set_stream = set_stream,
      .pool_stream = pool_stream,
      .generator_device = generator_device,
      .rethrow = raise_interrupt};
  before_lookup = abi::take_over_libraries;
  return 0;
}

const ModulePart stable_abi_functions{
    {function<&library_problems>(
         "library_problems", "What was wrong with the schemas of libraries loaded since the last call."),
        function<&abi::tags_of>("operator_tags", "The tags a library gave its operator (qualified name, overload).")},
    install_host};

}  // namespace

}  // namespace shim

// PyTorch 2.14: between handles and Python objects, for extensions that hold the GIL.
SHIM_EXPORT shim::abi::Err torch_tensor_from_pyobject(void* object, shim::abi::Handle* result) {
  return shim::abi::caught([&] {
    auto* o = static_cast<PyObject*>(object);
    CHECK(shim::Kind::Type, o && shim::is_tensor(o), "torch_tensor_from_pyobject: expected a Tensor, but got ",
        o ? Py_TYPE(o)->tp_name : "null");
    *result = shim::abi::handle_of(shim::Tensor(shim::unwrap(o)));
  });
}
SHIM_EXPORT shim::abi::Err torch_tensor_to_pyobject(shim::abi::Handle handle, void** result) {
  return shim::abi::caught([&] { *result = shim::wrap(shim::Tensor(&shim::abi::tensor_of(handle))); });
}
