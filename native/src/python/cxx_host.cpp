// What C++ extensions leave to Python (abi/extension_host.h), and Python's errors both ways.
#include <utility>

#include "abi/extension_host.h"
#include "python/library_code.h"

namespace shim {

namespace {

// --- errors -------------------------------------------------------------------------------------------------------------

int python_kind(PyObject* exception) {
  const std::pair<PyObject*, int> kinds[] = {{PyExc_TypeError, SHIM_TYPE}, {PyExc_ValueError, SHIM_VALUE},
      {PyExc_IndexError, SHIM_INDEX}, {PyExc_NotImplementedError, SHIM_NOT_IMPLEMENTED},
      {out_of_memory_type, SHIM_OUT_OF_MEMORY}, {PyExc_RuntimeError, SHIM_RUNTIME}};
  for (auto& [type, kind] : kinds)
    if (type && PyErr_GivenExceptionMatches(exception, type)) return kind;
  return SHIM_PYTHON;
}

bool keep_python(const std::exception& e) {
  auto* ours = dynamic_cast<const Error*>(&e);
  if (ours ? extension_kind(*ours) != SHIM_PYTHON : !dynamic_cast<const PythonError*>(&e)) return false;
  GilAcquire gil;
  if (ours) raise(*ours);
  if (!PyErr_Occurred()) return false;
  Pending raised;
  PyObject* value = raised.value();
  put_extension_error(python_kind(value), raised.text().c_str(), Py_NewRef(value));
  raised.drop();
  return true;
}

void rethrow() {
  shim_cxx_raise(extension_error().kind, extension_error().text.c_str());
  throw PythonError();
}

int install_extension_host(PyObject* module) {
  extension_host = {.object_of = [](std::shared_ptr<LibraryCode> code) -> void* {
                      return owned(module_call::object(std::move(code))).give();
                    },
      .code_in = [](void* object) -> LibraryCode* {
        const auto* code = held_in<LibraryCode>(static_cast<PyObject*>(object));
        return code ? code->get() : nullptr;
      },
      .rethrow = rethrow};
  keep_exception = keep_python;
  return PyModule_AddStringConstant(module, "cxx_version", SHIM_CXX_VERSION);
}

const ModulePart extension_host_part{{}, install_extension_host};

}  // namespace

}  // namespace shim

using namespace shim;

void shim_cxx_raise(int kind, const char* text) {
  if (ExtensionError& e = extension_error(); e.exception && e.text == text) {
    OwnedRef value{static_cast<PyObject*>(std::exchange(e.exception, nullptr))};
    return PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(value.o)), value.o);
  }
  if (kind >= SHIM_ACCELERATOR) return raise(Error(Kind::Accelerator, text, kind - SHIM_ACCELERATOR));
  if (kind == SHIM_LINALG) {
    guarded([&] { return PyErr_SetString(imported("shim_torch.linalg", "LinAlgError"), text), 0; });
    return;
  }
  raise(Error(kind < SHIM_PYTHON ? Kind(kind) : Kind::Runtime, text));
}

void* shim_cxx_to_python(const ShimCell* c) {
  return guarded([&]() -> PyObject* {
    ValueRoom room;
    return object_of(value_in(*c, room));
  });
}
