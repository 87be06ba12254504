// Our CUDA kernels as Python sees them: where the pack is, what was compiled, what could not be, and what writes packs.
#include "cuda/kernel_ahead.h"
#include "cuda/kernel_code.h"
#include "cuda/kernel_store.h"
#include "cuda/nvrtc.h"
#include "python/object.h"

namespace shim {
namespace {

using cuda::Specialisation;

// shim_torch._impl.extensions.kernel_pack.places() -> (path of the pack, path of the table)
cuda::KernelPlaces python_places() {
  GilAcquire gil;
  cuda::KernelPlaces places;
  PyObject* module = PyImport_ImportModule("shim_torch._impl.extensions.kernel_pack");
  PyObject* found = module ? PyObject_CallMethod(module, "places", nullptr) : nullptr;
  const char *pack = nullptr, *table = nullptr;
  if (found && PyArg_ParseTuple(found, "ss", &pack, &table)) places = {pack, table};
  Py_XDECREF(found);
  Py_XDECREF(module);
  PyErr_Clear();  // kernels are compiled all the same
  return places;
}

std::string first_lines(const std::string& log, int lines) {
  size_t end = 0;
  for (; lines && end != std::string::npos; --lines) end = log.find('\n', end ? end + 1 : 0);
  return log.substr(0, end);
}

void warn_of(const cuda::FailedKernel& failed) {
  static bool given = false;
  GilAcquire gil;
  if (std::exchange(given, true)) return;
  const std::string text =
      "shim_torch: the CUDA kernel \"" + failed.what.text() + "\" cannot be had for sm_" +
      std::to_string(failed.architecture) +
      ", so slower ways are taken. torch_proxy_status()[\"failed_kernels\"] has the whole log, and "
      "what else fails.\n" +
      first_lines(failed.log, 6);
  if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), level_outside()) < 0) throw PythonError();
}

PyObject* failed_kernels(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject* list = PyList_New(0);
    for (const cuda::FailedKernel& f : cuda::failed_kernels()) {
      PyObject* macros = PyList_New(0);
      for (const std::string& m : f.what.macros) {
        PyObject* text = PyUnicode_FromString(m.c_str());
        if (!text || PyList_Append(macros, text) < 0) PyErr_Clear();
        Py_XDECREF(text);
      }
      PyObject* row = Py_BuildValue("{s:s,s:N,s:i,s:s}", "kernel", f.what.program.c_str(), "macros", macros,
          "architecture", f.architecture, "log", f.log.c_str());
      if (!row || PyList_Append(list, row) < 0) PyErr_Clear();
      Py_XDECREF(row);
    }
    return list;
  });
}

PyObject* kernel_counts(PyObject*, PyObject*) {
  const cuda::CodeCounts c = cuda::code_counts();
  return Py_BuildValue("{s:K,s:K,s:K,s:K}", "pack", c.pack, "kept", c.kept, "compiled", c.compiled, "ahead", c.ahead);
}

PyObject* kernel_sources(PyObject*, PyObject*) {
  return PyUnicode_FromString(cuda::hexadecimal(cuda::sources_digest()).c_str());
}

// (path) -> (what is wrong with it or "", {architecture: number of kernels})
PyObject* pack_state(PyObject*, PyObject* path) {
  const char* text = PyUnicode_AsUTF8(path);
  if (!text) return nullptr;
  return guarded([&]() -> PyObject* {
    const cuda::KernelPack pack(text);
    PyObject* numbers = PyDict_New();
    for (const auto& [architecture, number] : pack.architectures()) {
      PyObject *key = PyLong_FromLong(architecture), *value = PyLong_FromLong(number);
      if (!key || !value || PyDict_SetItem(numbers, key, value) < 0) PyErr_Clear();
      Py_XDECREF(key);
      Py_XDECREF(value);
    }
    return Py_BuildValue("(sN)", pack.why().c_str(), numbers);
  });
}

Specialisation specialisation(const char* line) {
  Specialisation s = Specialisation::parse(line);
  CHECK(Kind::Value, !s.program.empty(), "no specialisation of our kernels: ", line);
  return s;
}

// (path, line, architecture) -> the code that a pack has for it
PyObject* pack_code(PyObject*, PyObject* args) {
  const char *path, *line;
  int architecture;
  if (!PyArg_ParseTuple(args, "ssi", &path, &line, &architecture)) return nullptr;
  return guarded([&]() -> PyObject* {
    const cuda::KernelPack pack(path);
    const std::string_view code = pack.find(specialisation(line), architecture);
    return PyBytes_FromStringAndSize(code.data(), Py_ssize_t(code.size()));
  });
}

// (path, [(line, architecture, code)])
PyObject* pack_write(PyObject*, PyObject* args) {
  const char* path;
  PyObject* list;
  if (!PyArg_ParseTuple(args, "sO!", &path, &PyList_Type, &list)) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<cuda::PackedCode> all;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
      const char *line, *code;
      Py_ssize_t size;
      int architecture;
      if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "siy#", &line, &architecture, &code, &size)) return nullptr;
      all.push_back({specialisation(line), architecture, std::string(code, size_t(size))});
    }
    const std::string wrong = cuda::write_pack(path, all);
    CHECK(Kind::Runtime, wrong.empty(), wrong);
    Py_RETURN_NONE;
  });
}

// (line, architecture, path of libnvrtc or "") -> (code, log)
PyObject* kernel_compile(PyObject*, PyObject* args) {
  const char *line, *path = "";
  int architecture;
  if (!PyArg_ParseTuple(args, "si|s", &line, &architecture, &path)) return nullptr;
  return guarded([&]() -> PyObject* {
    const Specialisation s = specialisation(line);
    if (*path)
      if (const std::string wrong = nvrtc::use_library(path); !wrong.empty()) fail(Kind::Runtime, wrong);
    nvrtc::version();  // loads it, for which Python is asked
    nvrtc::Compiled c;
    {
      GilRelease others_run;
      c = nvrtc::compile(s, architecture, true);
    }
    return Py_BuildValue("(y#s)", c.cubin.data(), Py_ssize_t(c.cubin.size()), c.log.c_str());
  });
}

// (line, architecture) -> what its entry in the cache is for
PyObject* kernel_key(PyObject*, PyObject* args) {
  const char* line;
  int architecture;
  if (!PyArg_ParseTuple(args, "si", &line, &architecture)) return nullptr;
  return guarded(
      [&]() -> PyObject* { return PyUnicode_FromString(cuda::code_key(specialisation(line), architecture).c_str()); });
}

// (device, line, entry): asks for a kernel as a launch does, and says whether it is there
PyObject* kernel_load(PyObject*, PyObject* args) {
  const char *line, *entry;
  int device;
  if (!PyArg_ParseTuple(args, "iss", &device, &line, &entry)) return nullptr;
  return guarded([&]() -> PyObject* {
    const Specialisation s = specialisation(line);
    cuda::OnDevice current(device);
    return PyBool_FromLong(cuda::loaded_kernel(device, s.program, s.macros, entry) != nullptr);
  });
}

PyMethodDef kernel_store_functions[] = {
    {"failed_kernels", failed_kernels, METH_NOARGS,
        "The CUDA kernels that could not be had: their names, macros, architectures and the compiler's logs."},
    {"kernel_counts", kernel_counts, METH_NOARGS,
        "Where programs of CUDA kernels came from: the pack, the cache, the compiler, or the compiler ahead of need."},
    {"kernel_sources", kernel_sources, METH_NOARGS, "The digest of the CUDA kernels' sources."},
    {"kernel_pack_state", pack_state, METH_O, "(what is wrong with a pack, its numbers of kernels by architecture)."},
    {"kernel_pack_code", pack_code, METH_VARARGS, "The code of a pack for (path, specialisation, architecture)."},
    {"kernel_pack_write", pack_write, METH_VARARGS, "Writes a pack of (path, [(specialisation, architecture, code)])."},
    {"kernel_compile", kernel_compile, METH_VARARGS,
        "(specialisation, architecture[, path of NVRTC]) -> (code, log). Needs no GPU."},
    {"kernel_key", kernel_key, METH_VARARGS, "What the cache's entry of (specialisation, architecture) is for."},
    {"kernel_load", kernel_load, METH_VARARGS, "Loads (device, specialisation, entry) as a launch does."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_kernel_store(PyObject* module) {
  cuda::set_kernel_places(python_places);
  cuda::set_failure_reporter(warn_of);
  if (Py_AtExit(cuda::end_looking_ahead) < 0) {
    PyErr_SetString(PyExc_RuntimeError, "shim_torch: the interpreter takes no more exit functions");
    return -1;
  }
  return PyModule_AddFunctions(module, kernel_store_functions);
}

}  // namespace shim
