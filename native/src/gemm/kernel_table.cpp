#include "gemm/kernel_table.h"

#include <string>

#include "cuda/nvrtc.h"
#include "gemm/settings.h"

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
    cuda::ensure_context();
    const std::string number = std::to_string(type);
    cuda::CUfunction f = nvrtc::kernel(device, name_ + ("-" + number), source_, {"-DTYPE=" + number}, entries_[size_t(entry)]);
    known_[device][type][entry] = f;
    asked_[device][type][entry] = true;
    if (!f) ++counters().fallbacks;
  }
  return known_[device][type][entry];
}

bool launch_own(cuda::CUfunction f, unsigned x, unsigned y, unsigned bx, unsigned by, cuda::CUstream stream, void** arguments) {
  if (cuda::driver().launch(f, x, y, 1, bx, by, 1, 0, stream, arguments, nullptr) != 0) return false;
  counters().own.fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace shim::gemm
