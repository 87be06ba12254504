// The switches of convolutions on CUDA.
#include <string_view>

#include "cuda/cudnn.h"
#include "cuda/driver.h"
#include "python/module_function.h"
#include "python/native_ops.h"

namespace shim {
namespace {

// One of torch.backends.cudnn; "version" is 0 without the library.
PyObject* cudnn_setting(std::string_view which, std::optional<PyObject*> value) {
  if (which == "version") return PyLong_FromLongLong(cudnn::version());
  cudnn::Settings& s = cudnn::settings();
  bool* one = which == "enabled"         ? &s.enabled
              : which == "allow_tf32"    ? &s.allow_tf32
              : which == "deterministic" ? &s.deterministic
                                         : nullptr;
  CHECK(Kind::Value, one, "no setting ", std::string(which));
  const int truth = value ? PyObject_IsTrue(*value) : *one;
  if (truth < 0) return nullptr;
  if (value && bool(truth) != *one && !guarded([]() -> PyObject* { return cuda::before_setting(), Py_None; }))
    return nullptr;
  *one = truth != 0;
  return PyBool_FromLong(*one);
}

PyMethodDef cuda_convolution_functions[] = {
    function<&cudnn_setting>("cudnn_setting", "(name[, value]): reads or sets a switch of convolutions on CUDA."), {}};

}  // namespace

int bind_cuda_convolution(PyObject* module) { return PyModule_AddFunctions(module, cuda_convolution_functions); }

}  // namespace shim
