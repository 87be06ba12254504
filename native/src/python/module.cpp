// The module shim_torch._impl.native._core: every bind_*.cpp adds its part.
#include "python/object.h"
#include "python/program_values.h"
#include "python/trace_call.h"

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

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "shim_torch._impl.native._core", "The native core of shim-torch.", -1,
    module_methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__core() {
  if (!in_main()) {  // types and caches are the process's; what threads of ours call is the first interpreter's
    return PyErr_Format(
        PyExc_ImportError, "shim-torch runs in a process's main interpreter only, not in a subinterpreter");
  }
  PyObject* module = PyModule_Create(&definition);
  if (!module) return nullptr;
  using Bind = int (*)(PyObject*);
  for (Bind bind : {shim::bind_dtype, shim::bind_tensor, shim::bind_views, shim::bind_storage, shim::bind_exchange,
           shim::bind_operators, shim::bind_autograd, shim::bind_kernels, shim::bind_kernel_calls, shim::bind_cuda,
           shim::bind_gemm, shim::bind_kernel_store, shim::bind_stable_abi, shim::bind_triton, shim::bind_warnings,
           shim::bind_batching, shim::bind_cxx, shim::bind_distributed, shim::bind_trace, shim::bind_program,
           shim::bind_nn_module})
    if (bind(module) < 0) {
      Py_DECREF(module);
      return nullptr;
    }
  return module;
}
