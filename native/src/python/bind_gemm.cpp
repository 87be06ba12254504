// The module's functions about products of matrices: switches, plans, libraries.
#include <algorithm>

#include "core/sparse.h"
#include "cuda/cublaslt.h"
#include "cuda/driver.h"
#include "cuda/kernel_tools.h"
#include "gemm/plan.h"
#include "ops/gemm_settings.h"
#include "ops/linear.h"
#include "python/cuda_function.h"

namespace shim {

namespace {

int set_legacy(int v) { return gemm::set_legacy_linear(v < 0 ? -1 : v != 0); }
int set_process_legacy(int v) { return gemm::set_process_legacy_linear(v < 0 ? -1 : v != 0); }

bool flag(std::string_view name, std::optional<bool> value) { return exchanged(gemm::switch_named(name), name, value); }

// shim_torch._impl.extensions.cuda_libraries.candidates(name), where the Python environment is known.
std::vector<std::string> python_candidates(const char* name) {
  GilAcquire gil;
  std::vector<std::string> found;
  const OwnedRef module{PyImport_ImportModule("shim_torch._impl.extensions.cuda_libraries")};
  const OwnedRef list{module.o ? PyObject_CallMethod(module, "candidates", "s", name) : nullptr};
  for (Py_ssize_t i = 0; list.o && PyList_Check(list.o) && i < PyList_GET_SIZE(list.o); ++i)
    if (const char* path = PyUnicode_AsUTF8(PyList_GET_ITEM(list.o, i))) found.push_back(path);
  PyErr_Clear();  // the bare names are tried all the same
  return found;
}

// (version, "", copies are independent) or (0, what is wrong, ...); needs no GPU
std::tuple<int64_t, std::string, bool> check_library(std::string_view path) {
  cublaslt::Library l;
  const bool ok = cublaslt::load_library(std::string(path), l);
  return {ok ? int64_t(l.version_number) : 0, l.why, l.copyable_desc};
}

std::tuple<std::string, int64_t, std::string> found_library() {  // (path, version, why not)
  const cublaslt::Library& l = cublaslt::library();
  return {l.path, int64_t(l.version_number), l.why};
}

std::tuple<int64_t, std::string> compile_kernels(int type, int architecture, std::optional<std::string_view> path) {
  return cuda::compile_products(type, architecture, path.value_or(""));
}

const ModulePart gemm_functions{
    {function<&compile_kernels>("gemm_compile_kernels",
         "Compiles our CUDA kernels without loading them: (dtype number, architecture, NVRTC's path)."),
        function<&check_library>("cublaslt_check",
            "Loads a library and compares its ABI with ours: (version, reason, copies are independent)."),
        function<&found_library>(
            "cublaslt_library", "The library that serves CUDA products: (path, version, why there is none)."),
        function<&set_legacy>("gemm_set_legacy_linear",
            "Unfused linear for this thread: 1, 0, or -1 for the process' answer; the former word."),
        function<&set_process_legacy>("gemm_set_process_legacy_linear",
            "Unfused linear for the process: 1, 0, or -1 for the environment's answer; the former word."),
        function<&gemm::legacy_linear>("gemm_legacy_linear", "Whether linear runs as product and sum."),
        function<&flag>("gemm_flag", "(name[, value]): reads or sets a switch of matrix products; the former word."),
        function<&gemm::plan_reports>("gemm_plans",
            "Every cuBLASLt problem met so far: what was chosen for it, and whether its kernels are launched "
            "directly."),
        function<&gemm::status>("gemm_status", "What served matrix products so far.")},
    [](PyObject*) { return cublaslt::set_library_finder(python_candidates), 0; }};

}  // namespace

}  // namespace shim
