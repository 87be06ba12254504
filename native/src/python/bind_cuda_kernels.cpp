// Functions of the module that run CUDA kernels without an operator: random numbers, running statistics, compilations for tests.
#include <string_view>

#include "cuda/channel_norm.h"
#include "cuda/launch.h"
#include "cuda/nvrtc.h"
#include "cuda/random.h"
#include "cuda/rows.h"
#include "python/native_values.h"

namespace shim {

namespace {

// cuda_draw(tensor, kind, a, b, seed, start): fills it in place, or says False.
PyObject* draw(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 6 || !on_cuda(args[0]) || !PyUnicode_Check(args[1]))
    return PyErr_Format(PyExc_TypeError, "cuda_draw(tensor, kind, a, b, seed, start)");
  static constexpr std::pair<const char*, cuda::Shaped> others[] = {{"exponential", cuda::Shaped::exponential},
      {"cauchy", cuda::Shaped::cauchy}, {"geometric", cuda::Shaped::geometric}, {"chance", cuda::Shaped::chance}};
  for (const auto& [name, shape] : others) {
    if (PyUnicode_CompareWithASCIIString(args[1], name) != 0) continue;
    const double a = PyFloat_AsDouble(args[2]), b = PyFloat_AsDouble(args[3]);
    const uint64_t seed = PyLong_AsUnsignedLongLongMask(args[4]), start = PyLong_AsUnsignedLongLongMask(args[5]);
    if (PyErr_Occurred()) return nullptr;
    return guarded([&, which = shape]() -> PyObject* {
      const Tensor self(unwrap(args[0]));
      if (!cuda::draw_shaped(self, which, a, b, seed, start)) Py_RETURN_FALSE;
      self->bump_version();
      Py_RETURN_TRUE;
    });
  }
  const bool normal = PyUnicode_CompareWithASCIIString(args[1], "normal") == 0,
             integer = PyUnicode_CompareWithASCIIString(args[1], "integer") == 0;
  double a = 0, b = 0;
  uint64_t low = 0, high = 0;
  if (integer) {
    low = PyLong_AsUnsignedLongLongMask(args[2]);
    high = PyLong_AsUnsignedLongLongMask(args[3]);
  } else {
    a = PyFloat_AsDouble(args[2]);
    b = PyFloat_AsDouble(args[3]);
  }
  const uint64_t seed = PyLong_AsUnsignedLongLongMask(args[4]), start = PyLong_AsUnsignedLongLongMask(args[5]);
  if (PyErr_Occurred()) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    const cuda::Draw kind = integer ? cuda::Draw::integer : normal ? cuda::Draw::normal : cuda::Draw::uniform;
    if (!cuda::draw(self, kind, a, b, int64_t(low), high - low, seed, start)) Py_RETURN_FALSE;
    self->bump_version();
    Py_RETURN_TRUE;
  });
}

// cuda_track(running_mean, running_var, mean, variance, momentum, factor): running = (1 - momentum) running + momentum own, the variance
// times factor; or says False.
PyObject* track(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 6 || !on_cuda(args[0]) || !on_cuda(args[1]) || !on_cuda(args[2]) || !on_cuda(args[3]))
    return PyErr_Format(PyExc_TypeError, "cuda_track takes four tensors and two numbers");
  const double momentum = PyFloat_AsDouble(args[4]), factor = PyFloat_AsDouble(args[5]);
  if (PyErr_Occurred()) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor to_mean(unwrap(args[0])), to_variance(unwrap(args[1]));
    if (!cuda::track(to_mean, to_variance, Tensor(unwrap(args[2])), Tensor(unwrap(args[3])), momentum, factor))
      Py_RETURN_FALSE;
    to_mean->bump_version();
    to_variance->bump_version();
    Py_RETURN_TRUE;
  });
}

// cuda_poisson(rates, seed, start): counts at the rates, or None.
PyObject* draw_poisson(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 3 || !on_cuda(args[0]) || unwrap(args[0])->has_math_bits())
    return PyErr_Format(PyExc_TypeError, "cuda_poisson(rates, seed, start)");
  const uint64_t seed = PyLong_AsUnsignedLongLongMask(args[1]), start = PyLong_AsUnsignedLongLongMask(args[2]);
  if (PyErr_Occurred()) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor out = cuda::draw_poisson(Tensor(unwrap(args[0])), seed, start);
    if (!out) Py_RETURN_NONE;
    return wrap(out);
  });
}

// cuda_compile_kernels(path of libnvrtc, family, [macro, ...], architecture) -> the compiler's log, "" when it compiled
PyObject* compile_kernels(PyObject*, PyObject* args) {
  const char *path, *family;
  PyObject* list;
  int architecture;
  if (!PyArg_ParseTuple(args, "ssO!i", &path, &family, &PyList_Type, &list, &architecture)) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<std::string> macros;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
      const char* text = PyUnicode_AsUTF8(PyList_GET_ITEM(list, i));
      if (!text) return nullptr;
      macros.emplace_back(text);
    }
    std::string wrong = *path ? nvrtc::use_library(path) : "";
    if (wrong.empty()) wrong = cuda::compile_family(family, std::move(macros), architecture);
    return PyUnicode_FromString(wrong.c_str());
  });
}

PyMethodDef cuda_kernels_functions[] = {{"cuda_compile_kernels", compile_kernels, METH_VARARGS,
                                            "Compiles kernels without loading them; the compiler's log."},
    {"cuda_draw", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(draw)), METH_FASTCALL, nullptr},
    {"cuda_poisson", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(draw_poisson)), METH_FASTCALL,
        "Counts of Poisson's distribution at a CUDA tensor's rates."},
    {"cuda_track", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(track)), METH_FASTCALL,
        "Moves running statistics of channels toward a batch's."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_cuda_kernels(PyObject* module) { return PyModule_AddFunctions(module, cuda_kernels_functions); }

}  // namespace shim
