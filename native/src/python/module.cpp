// The module native._core: every bind_*.cpp adds its part.
#include "python/object.h"

#ifdef Py_GIL_DISABLED
#error "shim-torch needs a Python with a global interpreter lock: its tables and caches are guarded by it"
#endif

namespace {

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "native._core", "The native core of shim-torch.", -1, nullptr, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__core() {
  PyObject* module = PyModule_Create(&definition);
  if (!module) return nullptr;
  using Bind = int (*)(PyObject*);
  for (Bind bind : {shim::bind_dtype, shim::bind_tensor, shim::bind_views, shim::bind_storage, shim::bind_exchange, shim::bind_operators,
                    shim::bind_autograd, shim::bind_kernels, shim::bind_cuda, shim::bind_gemm, shim::bind_stable_abi, shim::bind_triton, shim::bind_warnings, shim::bind_batching})
    if (bind(module) < 0) {
      Py_DECREF(module);
      return nullptr;
    }
  return module;
}
