// The interpreter's side of the stable C ABI: compiled kernels as entries of the operator table, and calls of compiled
// code into it.
#include <utility>

#include "abi/operators.h"
#include "python/lent_objects.h"
#include "python/library_table.h"
#include "python/module_function.h"
#include "python/stable_values.h"

namespace shim {

namespace {

using abi::Cell;

// --- calls of compiled code -------------------------------------------------------------------------------------------
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

void dispatch(const char* name, const char* overload, Cell* stack, bool internal) {
  CHECK(Kind::Runtime, Py_IsInitialized(), "the interpreter has ended");
  GilAcquire gil;
  try {
    abi::run_operator(name, overload, stack, internal);
  } catch (const PythonError&) { fail(Kind::Runtime, take_python_error()); }
  if (PyErr_Occurred()) fail(Kind::Runtime, take_python_error());
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

// --- streams: Python callables, given by shim_torch.cuda --------------------------------------------------------------
PyObject *set_stream_hook = nullptr, *pool_stream_hook = nullptr;

OwnedRef call_hook(PyObject* hook, const char* what, OwnedRef args) {
  OwnedRef r{hook && args.o ? PyObject_CallObject(hook, args) : nullptr};
  if (!r.o) fail(Kind::Runtime, hook ? take_python_error() : str(what, ": torch.cuda is not loaded"));
  return r;
}

void set_stream(void* stream, int device) {
  GilAcquire gil;
  call_hook(set_stream_hook, "torch_set_current_cuda_stream",
      OwnedRef(Py_BuildValue("(Ki)", reinterpret_cast<unsigned long long>(stream), device)));
}

void* pool_stream(bool high_priority, int device) {
  GilAcquire gil;
  void* stream = PyLong_AsVoidPtr(call_hook(pool_stream_hook, "torch_get_cuda_stream_from_pool",
      OwnedRef(Py_BuildValue("(Oi)", high_priority ? Py_True : Py_False, device))));
  if (PyErr_Occurred()) fail(Kind::Runtime, take_python_error());
  return stream;
}

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

namespace shim {

namespace {

// --- Python functions -------------------------------------------------------------------------------------------------
PyObject* strings(const std::vector<std::string>& all) {  // what has no UTF-8 is replaced
  return module_call::list_of(
      all, [](const std::string& s) { return PyUnicode_DecodeUTF8(s.data(), Py_ssize_t(s.size()), "replace"); });
}

PyObject* library_problems() {
  take_over_libraries();
  return strings(abi::take_problems());
}

void set_stream_hooks(PyObject* set, PyObject* pool) {
  Py_XSETREF(set_stream_hook, Py_NewRef(set));
  Py_XSETREF(pool_stream_hook, Py_NewRef(pool));
}

PyMethodDef stable_abi_functions[] = {function<&library_problems>("library_problems",
                                          "What was wrong with the schemas of libraries loaded since the last call."),
    function<&abi::tags_of>("operator_tags", "The tags a library gave its operator (qualified name, overload)."),
    function<&set_stream_hooks>(
        "_stream_hooks", "(set(stream, device), pool(high_priority, device) -> stream) for compiled kernels."),
    {}};

}  // namespace

bool raise_interrupt() {
  const OwnedRef value{std::exchange(interrupt(), nullptr)};
  if (value.o) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(value.o)), value);
  return value.o;
}

void take_over_libraries() {
  if (!abi::any_news()) return;
  for (auto& i : abi::take_over_definitions()) {
    const OwnedRef kernel{stable_kernel(i.kernel, i.qualified, i.overload)};
    OwnedRef(static_cast<PyObject*>(set_kernel(i.qualified, i.overload, i.key, kernel)));
  }
}

int bind_stable_abi(PyObject* module) {
  if (make_stable_kernel_type() < 0) return -1;
  abi::host() = {.dispatch = dispatch,
      .warn = warn,
      .set_stream = set_stream,
      .pool_stream = pool_stream,
      .generator_device = generator_device};
  before_lookup = take_over_libraries;
  return PyModule_AddFunctions(module, stable_abi_functions);
}

}  // namespace shim
