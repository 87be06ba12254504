// The module's functions about products of matrices: switches, plans, libraries.
#include <algorithm>

#include "core/sparse.h"
#include "cuda/cublaslt.h"
#include "cuda/driver.h"
#include "cuda/kernel_tools.h"
#include "gemm/plan.h"
#include "ops/gemm_settings.h"
#include "ops/linear.h"
#include "python/module_function.h"

namespace shim {

namespace {

int set_legacy(int v) { return gemm::set_legacy_linear(v < 0 ? -1 : v != 0); }
int set_process_legacy(int v) { return gemm::set_process_legacy_linear(v < 0 ? -1 : v != 0); }

struct NamedFlag {
  const char* name;
  std::atomic<bool>& (*get)();
};
#define FLAG(field) {#field, []() -> std::atomic<bool>& { return gemm::settings().field; }}
const NamedFlag flags[] = {FLAG(allow_tf32), FLAG(fp16_reduced), FLAG(fp16_split_k), FLAG(bf16_reduced),
    FLAG(bf16_split_k), FLAG(fp16_accumulation), FLAG(deterministic), FLAG(tuning), FLAG(always_fuse), FLAG(one_launch),
    FLAG(direct)};
#undef FLAG

bool set_flag(std::string_view name, std::optional<PyObject*> value) {  // gives the old one
  const auto* f = std::ranges::find_if(flags, [&](const NamedFlag& one) { return one.name == name; });
  if (f == std::end(flags)) {
    PyErr_Format(PyExc_KeyError, "%s", std::string(name).c_str());
    throw PythonError();
  }
  const bool old = f->get();
  if (value) {
    const int truth = PyObject_IsTrue(*value);
    if (truth < 0) throw PythonError();
    if (bool(truth) != old) cuda::before_setting();
    f->get() = truth != 0;
  }
  return old;
}

PyObject* status() {
  const gemm::Counters& c = gemm::counters();
  auto n = [](const std::atomic<uint64_t>& v) { return static_cast<unsigned long long>(v.load()); };
  return Py_BuildValue("{s:s,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "cpu_library", gemm::cpu_library(), "cpu", n(c.cpu),
      "cublaslt", n(c.lt), "direct", n(c.direct), "own_kernels", n(c.own), "plans", n(c.plans), "tuned", n(c.tuned),
      "fallbacks", n(c.fallbacks));
}

PyObject* plans() {
  return module_call::list_of(gemm::plan_reports(), [](const gemm::PlanReport& r) {
    const gemm::GemmProblem& p = r.problem;
    const std::string text = std::string(p.trans_a ? "T" : "N") + (p.trans_b ? "T" : "N");
    PyObject* trials = module_call::list_of(
        r.trials, [](const gemm::Trial& t) { return Py_BuildValue("(dd)", double(t.device), double(t.host)); });
    return Py_BuildValue("{s:s,s:s,s:s,s:L,s:L,s:L,s:L,s:i,s:i,s:i,s:i,s:O,s:O,s:s,s:N}", "dtype",
        dtype_name(p.a_dtype), "result", dtype_name(p.d_dtype), "transposed", text.c_str(), "m", (long long)p.m, "n",
        (long long)p.n, "k", (long long)p.k, "batch", (long long)p.batch, "compute", int(p.compute), "epilogue",
        int(p.epilogue), "chosen", r.chosen, "fusion", r.fusion, "tuned", r.tuned ? Py_True : Py_False, "own_kernel",
        r.own_kernel ? Py_True : Py_False, "direct", r.direct.c_str(), "trials", trials);
  });
}

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

PyMethodDef gemm_functions[] = {
    function<&compile_kernels>("gemm_compile_kernels",
        "Compiles our CUDA kernels without loading them: (dtype number, architecture, NVRTC's path)."),
    function<&check_library>(
        "cublaslt_check", "Loads a library and compares its ABI with ours: (version, reason, copies are independent)."),
    function<&found_library>(
        "cublaslt_library", "The library that serves CUDA products: (path, version, why there is none)."),
    function<&set_legacy>("gemm_set_legacy_linear",
        "Unfused linear for this thread: 1, 0, or -1 for the process' answer; the former word."),
    function<&set_process_legacy>("gemm_set_process_legacy_linear",
        "Unfused linear for the process: 1, 0, or -1 for the environment's answer; the former word."),
    function<&gemm::legacy_linear>("gemm_legacy_linear", "Whether linear runs as product and sum."),
    function<&set_flag>("gemm_flag", "(name[, value]): reads or sets a switch of matrix products; the former word."),
    function<&plans>("gemm_plans",
        "Every cuBLASLt problem met so far: what was chosen for it, and whether its kernels are launched directly."),
    function<&status>("gemm_status", "What served matrix products so far."), {}};

}  // namespace

int bind_gemm(PyObject* module) {
  cublaslt::set_library_finder(python_candidates);
  return PyModule_AddFunctions(module, gemm_functions);
}

}  // namespace shim
