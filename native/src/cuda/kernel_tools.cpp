#include "cuda/kernel_tools.h"

#include "core/interpreter_lock.h"
#include "cuda/driver.h"
#include "cuda/elementwise.h"
#include "cuda/kernel_code.h"
#include "cuda/nvrtc.h"
#include "cuda/reduce.h"

namespace shim::cuda {
namespace {

std::string first_lines(const std::string& log, int lines) {
  size_t end = 0;
  for (; lines && end != std::string::npos; --lines) end = log.find('\n', end ? end + 1 : 0);
  return log.substr(0, end);
}

std::string wrong_library(std::string_view path) {  // "": none is named, or it can be used
  return path.empty() ? "" : nvrtc::use_library(std::string(path));
}

void use_nvrtc(std::string_view path) {
  if (const std::string wrong = wrong_library(path); !wrong.empty()) fail(Kind::Runtime, wrong);
}

}  // namespace

Specialisation specialisation_of(std::string_view line) {
  Specialisation s = Specialisation::parse(std::string(line));
  CHECK(Kind::Value, !s.program.empty(), "no specialisation of our kernels: ", std::string(line));
  return s;
}

std::string warning_of(const FailedKernel& failed) {
  return "shim_torch: the CUDA kernel \"" + failed.what.text() + "\" cannot be had for sm_" +
         std::to_string(failed.architecture) +
         ", so slower ways are taken. torch_proxy_status()[\"failed_kernels\"] has the whole log, and what else "
         "fails.\n" +
         first_lines(failed.log, 6);
}

std::tuple<std::string, std::map<int, int>> pack_state(std::string_view path) {
  const KernelPack pack{std::string(path)};
  std::map<int, int> numbers;
  for (const auto& [architecture, number] : pack.architectures()) numbers[int(architecture)] = int(number);
  return {pack.why(), numbers};
}

std::string pack_code(std::string_view path, std::string_view line, int architecture) {
  const KernelPack pack{std::string(path)};
  return std::string(pack.find(specialisation_of(line), architecture));
}

std::string specialisation_key(std::string_view line, int architecture) {
  return code_key(specialisation_of(line), architecture);
}

bool load_kernel(int device, std::string_view line, std::string_view entry) {
  const Specialisation s = specialisation_of(line);
  OnDevice current(device);
  return loaded_kernel(device, s.program, s.macros, std::string(entry).c_str()) != nullptr;
}

CompiledCode compile_line(std::string_view line, int architecture, std::string_view path) {
  const Specialisation s = specialisation_of(line);
  use_nvrtc(path);
  nvrtc::version();  // loads it, for which the interpreter is asked
  const Unlocked others_run;
  const nvrtc::Compiled c = nvrtc::compile(s, architecture, true);
  return {std::string(c.cubin.data(), c.cubin.size()), c.log};
}

std::tuple<int64_t, std::string> compile_products(int type, int architecture, std::string_view path) {
  use_nvrtc(path);
  int64_t bytes = 0;
  for (const char* program : {"gemm_columns", "skinny"}) {
    const nvrtc::Compiled c = nvrtc::compile({program, {"TYPE=" + std::to_string(type)}}, architecture);
    if (c.cubin.empty()) return {0, c.log};
    bytes += int64_t(c.cubin.size());
  }
  return {bytes, ""};
}

std::string compile_pointwise(std::string_view path, std::string_view op, DType in, DType result, DType out, int inputs,
    bool flat, int architecture) {
  const std::string wrong = wrong_library(path);
  return wrong.empty() ? compile_elementwise(std::string(op).c_str(), in, result, out, inputs, flat, architecture)
                       : wrong;
}

std::string compile_a_reduction(
    std::string_view path, std::string_view op, DType in, DType compute, DType out, int vector, int architecture) {
  const std::string wrong = wrong_library(path);
  return wrong.empty() ? compile_reduction(std::string(op).c_str(), in, compute, out, vector, architecture) : wrong;
}

Fact failure_report() {
  Fact::List all;
  for (const FailedKernel& f : failed_kernels())
    all.push_back(
        Fact::Named{{"kernel", f.what.program}, {"macros", Fact::List(f.what.macros.begin(), f.what.macros.end())},
            {"architecture", f.architecture}, {"log", f.log}});
  return all;
}

Fact code_report() {
  const CodeCounts c = code_counts();
  return Fact::Named{{"pack", c.pack}, {"kept", c.kept}, {"compiled", c.compiled}, {"ahead", c.ahead}};
}

}  // namespace shim::cuda
