#pragma once
// Our own CUDA C++ kernels: compiled by NVRTC (loaded with dlopen) when first needed, kept on disk as machine code.
#include <string>
#include <vector>

#include "cuda/driver.h"

namespace shim::nvrtc {

struct Compiled {
  std::string cubin;  // empty: `log` says why
  std::string log;
};

// `architecture`: 90 for sm_90. Needs no GPU. `name`: what a terminal is told where it takes long.
Compiled compile(const std::string& source, int architecture, const std::vector<std::string>& options,
    const std::string& name = "a program");
std::string version();                             // "13.0", or empty when the library is not there
std::string use_library(const std::string& path);  // this one instead of what is found; what is wrong with it, or empty

// The kernel `entry` of a program on a device, from memory, disk or the compiler. Null if it cannot be had; `why_not` says why.
// `name` distinguishes programs that share a source but differ in options.
cuda::CUfunction kernel(int device, const std::string& name, const char* source,
    const std::vector<std::string>& options, const char* entry);
std::string why_not();

}  // namespace shim::nvrtc
