// Our CUDA kernels as Python sees them: where the pack is, what was compiled, what could not be, and what writes packs.
#include "cuda/kernel_ahead.h"
#include "cuda/kernel_code.h"
#include "cuda/kernel_tools.h"
#include "python/module_function.h"

namespace shim {
namespace {

// shim_torch._impl.extensions.kernel_pack.places() -> (path of the pack, path of the table)
cuda::KernelPlaces python_places() {
  GilAcquire gil;
  cuda::KernelPlaces places;
  const OwnedRef module{PyImport_ImportModule("shim_torch._impl.extensions.kernel_pack")};
  const OwnedRef found{module.o ? PyObject_CallMethod(module, "places", nullptr) : nullptr};
  const char *pack = nullptr, *table = nullptr;
  if (found.o && PyArg_ParseTuple(found, "ss", &pack, &table)) places = {pack, table};
  PyErr_Clear();  // kernels are compiled all the same
  return places;
}

void warn_of(const cuda::FailedKernel& failed) {
  static bool given = false;
  GilAcquire gil;
  if (std::exchange(given, true)) return;
  if (PyErr_WarnEx(PyExc_RuntimeWarning, cuda::warning_of(failed).c_str(), level_outside()) < 0) throw PythonError();
}

std::string kernel_sources() { return cuda::hexadecimal(cuda::sources_digest()); }

Bytes pack_code(std::string_view path, std::string_view line, int architecture) {
  return {cuda::pack_code(path, line, architecture)};
}

void pack_write(std::string_view path, PyObject* list) {
  std::vector<cuda::PackedCode> all;
  CHECK(Kind::Type, PyList_Check(list), "kernel_pack_write(path, [(specialisation, architecture, code)])");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    const char *line, *code;
    Py_ssize_t size;
    int architecture;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "siy#", &line, &architecture, &code, &size)) throw PythonError();
    all.push_back({cuda::specialisation_of(line), architecture, std::string(code, size_t(size))});
  }
  const std::string wrong = cuda::write_pack(std::string(path), all);
  CHECK(Kind::Runtime, wrong.empty(), wrong);
}

std::tuple<Bytes, std::string> kernel_compile(
    std::string_view line, int architecture, std::optional<std::string_view> path) {
  cuda::CompiledCode c = cuda::compile_line(line, architecture, path.value_or(""));
  return {Bytes{std::move(c.code)}, std::move(c.log)};
}

int install_kernel_store(PyObject*) {
  cuda::set_kernel_places(python_places);
  cuda::set_failure_reporter(warn_of);
  if (Py_AtExit(cuda::end_looking_ahead) == 0) return 0;
  return PyErr_SetString(PyExc_RuntimeError, "shim_torch: the interpreter takes no more exit functions"), -1;
}

const ModulePart kernel_store_functions{
    {function<&cuda::failure_report>("failed_kernels",
         "The CUDA kernels that could not be had: their names, macros, architectures and the compiler's logs."),
        function<&cuda::code_report>("kernel_counts",
            "Where programs of CUDA kernels came from: the pack, the cache, the compiler, or the compiler ahead of "
            "need."),
        function<&kernel_sources>("kernel_sources", "The digest of the CUDA kernels' sources."),
        function<&cuda::pack_state>(
            "kernel_pack_state", "(what is wrong with a pack, its numbers of kernels by architecture)."),
        function<&pack_code>("kernel_pack_code", "The code of a pack for (path, specialisation, architecture)."),
        function<&pack_write>("kernel_pack_write", "Writes a pack of (path, [(specialisation, architecture, code)])."),
        function<&kernel_compile>(
            "kernel_compile", "(specialisation, architecture[, path of NVRTC]) -> (code, log). Needs no GPU."),
        function<&cuda::specialisation_key>(
            "kernel_key", "What the cache's entry of (specialisation, architecture) is for."),
        function<&cuda::load_kernel>(
            "kernel_load", "Loads (device, specialisation, entry) as a launch does; whether it is there.")},
    install_kernel_store};

}  // namespace

}  // namespace shim
