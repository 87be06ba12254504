// Where the kernels that were compiled for the host lie.
#pragma once
#include <cstdlib>
#include <string>

static std::string kernel_folder() {
  const char* f = std::getenv("SIMULATED_KERNELS");
  return f ? f : ".";
}
