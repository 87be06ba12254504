// Functions of the module that run CUDA kernels without an operator: random numbers, running statistics, compilations for tests.
#include <algorithm>
#include <string_view>

#include "cuda/channel_norm.h"
#include "cuda/launch.h"
#include "cuda/nvrtc.h"
#include "cuda/random.h"
#include "cuda/rows.h"
#include "python/module_function.h"
#include "python/native_ops.h"

namespace shim {

namespace {

void check_on_cuda(const char* function, std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* t : tensors) CHECK(Kind::Type, (*t)->device().is_cuda(), function, " takes CUDA tensors");
}

// (tensor, kind, a, b, seed, start): fills it in place; false where there is no kernel. The bounds of integers are taken modulo 2**64.
bool draw(const Tensor& self, std::string_view kind, PyObject* a, PyObject* b, uint64_t seed, uint64_t start) {
  check_on_cuda("cuda_draw(tensor, kind, a, b, seed, start)", {&self});
  static constexpr std::pair<std::string_view, cuda::Shaped> others[] = {{"exponential", cuda::Shaped::exponential},
      {"cauchy", cuda::Shaped::cauchy}, {"geometric", cuda::Shaped::geometric}, {"chance", cuda::Shaped::chance}};
  const bool integer = kind == "integer";
  const uint64_t low = integer ? PyLong_AsUnsignedLongLongMask(a) : 0;
  const uint64_t high = integer ? PyLong_AsUnsignedLongLongMask(b) : 0;
  const double first = integer ? 0 : PyFloat_AsDouble(a), second = integer ? 0 : PyFloat_AsDouble(b);
  if (PyErr_Occurred()) throw PythonError();
  const auto* shaped = std::ranges::find(others, kind, &std::pair<std::string_view, cuda::Shaped>::first);
  const cuda::Draw plain = integer ? cuda::Draw::integer : kind == "normal" ? cuda::Draw::normal : cuda::Draw::uniform;
  const bool done = shaped != std::end(others)
                        ? cuda::draw_shaped(self, shaped->second, first, second, seed, start)
                        : cuda::draw(self, plain, first, second, int64_t(low), high - low, seed, start);
  if (done) self->bump_version();
  return done;
}

// running = (1 - momentum) running + momentum own, the variance times factor; false where there is no kernel.
bool track(const Tensor& running_mean, const Tensor& running_var, const Tensor& mean, const Tensor& variance,
    double momentum, double factor) {
  check_on_cuda("cuda_track", {&running_mean, &running_var, &mean, &variance});
  if (!cuda::track(running_mean, running_var, mean, variance, momentum, factor)) return false;
  running_mean->bump_version();
  running_var->bump_version();
  return true;
}

Tensor draw_poisson(const Tensor& rates, uint64_t seed, uint64_t start) {  // null, which is None: there is no kernel
  check_on_cuda("cuda_poisson(rates, seed, start)", {&rates});
  CHECK(Kind::Type, !rates->has_math_bits(), "cuda_poisson(rates, seed, start): the rates' bits are to be resolved");
  return cuda::draw_poisson(rates, seed, start);
}

// (path of libnvrtc, family, [macro, ...], architecture) -> the compiler's log, "" when it compiled
std::string compile_kernels(
    std::string_view path, std::string_view family, std::vector<std::string> macros, int architecture) {
  const std::string wrong = path.empty() ? "" : nvrtc::use_library(std::string(path));
  return wrong.empty() ? cuda::compile_family(std::string(family), std::move(macros), architecture) : wrong;
}

PyMethodDef cuda_kernels_functions[] = {
    function<&compile_kernels>("cuda_compile_kernels", "Compiles kernels without loading them; the compiler's log."),
    function<&draw>("cuda_draw"),
    function<&draw_poisson>("cuda_poisson", "Counts of Poisson's distribution at a CUDA tensor's rates."),
    function<&track>("cuda_track", "Moves running statistics of channels toward a batch's."), {}};

}  // namespace

int bind_cuda_kernels(PyObject* module) { return PyModule_AddFunctions(module, cuda_kernels_functions); }

}  // namespace shim
