#pragma once
// Compiled kernels by device, dtype and entry.
#include <atomic>
#include <span>

#include "core/dtype.h"
#include "cuda/driver.h"

namespace shim::gemm {

// -1: no kernels for this dtype; the number that -DTYPE wants of the others.
int type_number(DType);

// Of one program; each function is asked for once, one that could not be had is not asked for again.
class KernelTable {
 public:
  static constexpr int kEntries = 12, kMaxDevices = 64, kTypes = 4;
  KernelTable(const char* file, std::span<const char* const> entries) : file_(file), entries_(entries) {}
  cuda::CUfunction find(int device, DType, int entry);

 private:
  const char* file_;  // of cuda/kernels, without its ending
  std::span<const char* const> entries_;
  std::atomic<cuda::CUfunction> known_[kMaxDevices][kTypes][kEntries] = {};
  std::atomic<bool> asked_[kMaxDevices][kTypes][kEntries] = {};
};

// Launches a grid of x by y blocks of bx by by threads, and counts it; false where the driver refuses. `early`: the device of a
// kernel that calls wait_for_inputs() first, so that where the device can it is set up while the kernel before it still runs.
bool launch_own(cuda::CUfunction, unsigned x, unsigned y, unsigned bx, unsigned by, cuda::CUstream, void** arguments,
    int early = -1);

}  // namespace shim::gemm
