#pragma once
// What tools and tests ask of our CUDA kernels: compilations without a GPU, the pack's contents, loading one as a launch does. A
// specialisation is given as its line (specialisation.h); ValueError where it is none. `nvrtc`: the library's path, or "".
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "core/dtype.h"
#include "core/report.h"
#include "cuda/kernel_store.h"
#include "cuda/specialisation.h"

namespace shim::cuda {

Specialisation specialisation_of(std::string_view line);
std::tuple<std::string, std::map<int, int>> pack_state(
    std::string_view path);  // what is wrong, kernels by architecture
std::string pack_code(std::string_view path, std::string_view line, int architecture);
std::string specialisation_key(std::string_view line, int architecture);  // in the cache
bool load_kernel(int device, std::string_view line, std::string_view entry);
std::string warning_of(const FailedKernel&);
Fact failure_report();  // of failed_kernels()
Fact code_report();     // of code_counts()

struct CompiledCode {
  std::string code, log;
};
// RuntimeError where the library cannot be used. Other threads of the interpreter run while a line is compiled.
CompiledCode compile_line(std::string_view line, int architecture, std::string_view nvrtc);
std::tuple<int64_t, std::string> compile_products(int type, int architecture, std::string_view nvrtc);  // bytes, log

// The compiler's log, "" when it compiled.
std::string compile_pointwise(std::string_view nvrtc, std::string_view op, DType in, DType result, DType out,
    int inputs, bool flat, int architecture);
std::string compile_a_reduction(
    std::string_view nvrtc, std::string_view op, DType in, DType compute, DType out, int vector, int architecture);

}  // namespace shim::cuda
