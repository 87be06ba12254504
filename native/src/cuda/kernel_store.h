#pragma once
// Our own CUDA C++ kernels, loaded on the devices that ask for them.
#include <string>
#include <vector>

#include "cuda/driver.h"
#include "cuda/specialisation.h"

namespace shim::cuda {

// The kernel `entry` of a program (a file of cuda/kernels, compiled with these macros or -D options) on a device. Null if it cannot be
// had: `failed_kernels` says why. SHIM_TORCH_RECORD_KERNELS names a file that gets a line for each program.
CUfunction loaded_kernel(
    int device, std::string_view program, const std::vector<std::string>& options, const char* entry);
int architecture_of(int device);  // 90 for sm_90
bool kernels_to_be_had();         // a pack or a compiler is there

struct FailedKernel {
  Specialisation what;
  int architecture;
  std::string log;
};
std::vector<FailedKernel> failed_kernels();  // the first of them
void set_failure_reporter(void (*)(const FailedKernel&));

}  // namespace shim::cuda
