#include "gemm/kernel_table.h"

#include <string>

#include "cuda/device_failure.h"
#include "cuda/kernel_store.h"
#include "ops/gemm_settings.h"

namespace shim::gemm {

int type_number(DType t) {
  switch (t) {
    case DType::f32: return 0;
    case DType::f16: return 1;
    case DType::bf16: return 2;
    case DType::f64: return 3;
    default: return -1;
  }
}

cuda::CUfunction KernelTable::find(int device, DType dtype, int entry) {
  const int type = type_number(dtype);
  if (type < 0 || device < 0 || device >= kMaxDevices) return nullptr;
  if (!asked_[device][type][entry]) {
    cuda::CUfunction f = cuda::loaded_kernel(device, file_, {"TYPE=" + std::to_string(type)}, entries_[size_t(entry)]);
    known_[device][type][entry] = f;
    asked_[device][type][entry] = true;
    if (!f) ++counters().fallbacks;
  }
  return known_[device][type][entry];
}

namespace {

bool waits_in_kernels(int device) {                                 // compute capability 9 and later
  static std::atomic<int8_t> known[KernelTable::kMaxDevices] = {};  // 0: not asked
  if (device < 0 || device >= KernelTable::kMaxDevices) return false;
  int8_t k = known[device];
  if (!k) {
    constexpr int kMajor = 75;
    int major = 0;
    cuda::CUdevice handle = 0;
    const cuda::Driver& d = cuda::driver();
    const bool asked =
        d.launch_ex && d.device_get(&handle, device) == 0 && d.device_attribute(&major, kMajor, handle) == 0;
    known[device] = k = asked && major >= 9 ? 1 : -1;
  }
  return k > 0;
}

}  // namespace

bool launch_own(cuda::CUfunction f, unsigned x, unsigned y, unsigned bx, unsigned by, cuda::CUstream stream,
    void** arguments, int early) {
  const cuda::Driver& d = cuda::driver();
  cuda::CUresult r;
  if (waits_in_kernels(early)) {
    constexpr int kProgrammatic = 6;
    cuda::LaunchAttribute overlap{.id = kProgrammatic, .value = {1}};
    const cuda::LaunchConfig config{
        .grid = {x, y, 1}, .block = {bx, by, 1}, .stream = stream, .attributes = &overlap, .count = 1};
    r = d.launch_ex(&config, f, arguments, nullptr);
  } else {
    r = d.launch(f, x, y, 1, bx, by, 1, 0, stream, arguments, nullptr);
  }
  if (r != 0) {
    if (cuda::breaks_context(r)) cuda::raise_failure(r, "cuLaunchKernel");
    return false;
  }
  counters().own.fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace shim::gemm
