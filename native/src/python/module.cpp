// The module shim_torch._impl.native._core, to which every file adds its part.
#include <vector>

#include "python/object.h"
#include "python/tensor_type.h"

#ifdef Py_GIL_DISABLED
#error "shim-torch needs a Python with a global interpreter lock: its tables and caches are guarded by it"
#endif

namespace {

bool in_main() { return PyInterpreterState_Get() == PyInterpreterState_Main(); }

PyObject* in_main_interpreter(PyObject*, PyObject*) { return PyBool_FromLong(in_main()); }

PyMethodDef module_methods[] = {
    {"in_main_interpreter", in_main_interpreter, METH_NOARGS,
        "Whether the calling interpreter is the process's first, the only one the core serves."},
    {}};

struct Part {
  std::vector<PyMethodDef> functions;
  int (*prepare)(PyObject* module);
};
std::vector<Part>& parts() {
  static auto* all = new std::vector<Part>();
  return *all;
}

int add_parts(PyObject* module) {
  for (Part& part : parts()) {
    part.functions.push_back({});
    if (PyModule_AddFunctions(module, part.functions.data()) < 0 || (part.prepare && part.prepare(module) < 0))
      return -1;
  }
  return shim::add_tensor_parts();
}

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "shim_torch._impl.native._core", "The native core of shim-torch.", -1,
    module_methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

shim::ModulePart::ModulePart(std::initializer_list<PyMethodDef> functions, int (*prepare)(PyObject* module)) {
  parts().push_back({functions, prepare});
}

PyMODINIT_FUNC PyInit__core() {
  if (!in_main()) {  // types and caches are the process's; what threads of ours call is the first interpreter's
    return PyErr_Format(
        PyExc_ImportError, "shim-torch runs in a process's main interpreter only, not in a subinterpreter");
  }
  PyObject* module = PyModule_Create(&definition);
  if (!module) return nullptr;
  using Bind = int (*)(PyObject*);
  for (Bind bind : {shim::bind_dtype, shim::bind_tensor, shim::bind_storage, shim::bind_operators, shim::bind_autograd,
           shim::bind_triton, shim::bind_trace, add_parts})
    if (bind(module) < 0) {
      Py_DECREF(module);
      return nullptr;
    }
  return module;
}
