#pragma once
// Errors that end a device's CUDA context: what the driver says of them, what a kernel's assert said before, and the refusal of every later
// call on the device.
#include <atomic>

#include "cuda/driver.h"

namespace shim::cuda {

bool breaks_context(CUresult);  // no call on the device succeeds after it

// After a driver's call that failed by such an error: raises torch.AcceleratorError with its reason.
[[noreturn]] void raise_failure(CUresult, const char* what);
[[noreturn]] void raise_broken(int device);  // again, for a device that is known to be broken

inline std::atomic<uint64_t> broken_devices{0};  // a bit a device
inline void refuse_broken(int device) {
  if (__builtin_expect(broken_devices.load(std::memory_order_relaxed) >> device & 1, 0)) raise_broken(device);
}
// Where a library's call failed: raises if that is because the device is broken.
void check_device(int device);

// Tells a program that was loaded where its kernels' asserts leave their record. Programs without asserts are left alone.
void give_assert_record(CUmodule, int device);

}  // namespace shim::cuda
