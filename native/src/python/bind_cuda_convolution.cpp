// The switches of convolutions on CUDA.
#include <string_view>

#include "cuda/cudnn.h"
#include "cuda/driver.h"
#include "python/native_ops.h"

namespace shim {
namespace {

// cudnn_setting(name[, value]): one of torch.backends.cudnn; "version" is 0 without the library.
PyObject* py_cudnn_setting(PyObject*, PyObject* args) {
  const char* name = nullptr;
  PyObject* value = nullptr;
  if (!PyArg_ParseTuple(args, "s|O", &name, &value)) return nullptr;
  const std::string_view which(name);
  if (which == "version") return PyLong_FromLongLong(cudnn::version());
  cudnn::Settings& s = cudnn::settings();
  bool* one = which == "enabled"         ? &s.enabled
              : which == "allow_tf32"    ? &s.allow_tf32
              : which == "deterministic" ? &s.deterministic
                                         : nullptr;
  if (!one) return PyErr_Format(PyExc_ValueError, "no setting %s", name);
  const int truth = value ? PyObject_IsTrue(value) : *one;
  if (truth < 0) return nullptr;
  if (value && bool(truth) != *one && !guarded([]() -> PyObject* { return cuda::before_setting(), Py_None; }))
    return nullptr;
  *one = truth != 0;
  return PyBool_FromLong(*one);
}

PyMethodDef cuda_convolution_functions[] = {
    {"cudnn_setting", py_cudnn_setting, METH_VARARGS, "Reads or sets a switch of convolutions on CUDA."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_cuda_convolution(PyObject* module) { return PyModule_AddFunctions(module, cuda_convolution_functions); }

}  // namespace shim
