// Functions of the module that run CUDA kernels without an operator: random numbers, running statistics, lists of tensors (None and
// False: there is no kernel), cuDNN's switches and recurrent layers, compilations for tests.
#include <algorithm>
#include <string_view>

#include "autograd/autograd.h"
#include "cuda/channel_norm.h"
#include "cuda/cudnn.h"
#include "cuda/cudnn_rnn.h"
#include "cuda/driver.h"
#include "cuda/launch.h"
#include "cuda/nvrtc.h"
#include "cuda/random.h"
#include "cuda/rows.h"
#include "kernels/cuda_foreach.h"
#include "python/cuda_function.h"
#include "autograd/forward_mode.h"
#include "python/torch_dispatch.h"

namespace shim {

namespace {

// (path of libnvrtc, family, [macro, ...], architecture) -> the compiler's log, "" when it compiled
std::string compile_kernels(
    std::string_view path, std::string_view family, std::vector<std::string> macros, int architecture) {
  const std::string wrong = path.empty() ? "" : nvrtc::use_library(std::string(path));
  return wrong.empty() ? cuda::compile_family(std::string(family), std::move(macros), architecture) : wrong;
}

bool cudnn_setting(std::string_view name, std::optional<bool> value) {
  return exchanged(cudnn::switch_named(name), name, value);
}

std::optional<module_call::Tuple> each(
    std::string_view op, bool in_place, const Value& self, const Value& others, const Value& numbers) {
  auto made = cuda_each(op, in_place, self, others, numbers);
  if (!made) return {};
  return module_call::Tuple{std::move(*made)};
}

bool cudnn_rnn_takes(Rest given) {
  if (forward_gradients() || (python_dispatch && dispatch_mode_active())) return false;
  return std::ranges::all_of(given, [](PyObject* o) {
    if (!is_tensor(o)) return false;
    const Tensor t(unwrap(o));
    return cudnn::takes(t) && has_data(*t) && is_plain(t);
  });
}

Tensor dropout_state(double p, int64_t seed, int device) { return cudnn::dropout_state(p, seed, device); }

const ModulePart cuda_kernels_functions{
    {function<&compile_kernels>("cuda_compile_kernels", "Compiles kernels without loading them; the compiler's log."),
        function<&cuda::draw_poisson>("cuda_poisson", "Counts of Poisson's distribution at a CUDA tensor's rates."),
        function<&cuda::track>("cuda_track", "Moves running statistics of channels toward a batch's."),
        function<&cudnn_setting>(
            "cudnn_setting", "(name[, value]): reads or sets a switch of convolutions on CUDA; the former word."),
        function<&cudnn::version>("cudnn_version", "0 without the library."), function<&each>("cuda_each"),
        function<&cuda_norms>("cuda_norms"),
        function<&cudnn::weight_buffer>("cudnn_rnn_buffer",
            "(weights, stride, input_size, mode, hidden_size, proj_size, num_layers, bidirectional): the weights of "
            "recurrent layers in one buffer, and views of their places in it; None without cuDNN."),
        function<&cudnn_rnn_takes>("cudnn_rnn_takes",
            "Whether these are CUDA tensors as cuDNN takes them, and no handler, mode or tangent goes with them."),
        function<&dropout_state>("cudnn_dropout_state",
            "(p, seed, device): the state of random numbers that cuDNN's dropout works on; None without cuDNN.")}};

}  // namespace

}  // namespace shim
