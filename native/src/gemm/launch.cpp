// Which launcher serves a device.
#include "gemm/plan.h"
#include "ops/gemm_settings.h"

namespace shim::gemm {

bool can_launch(Device device, DType dtype) {
  const bool plain = floating(dtype);
  if (device.is_cpu()) return plain && can_launch_cpu();
  if (!device.is_cuda() || !plain) return false;
  if (cublaslt::library().loaded) return true;
  ++counters().fallbacks;
  return false;
}

bool launch(Device device, const GemmProblem& p, const GemmBuffers& buffers, double alpha, double beta) {
  if (device.is_cpu()) return launch_cpu(p, buffers, alpha, beta);
  if (device.is_cuda() && launch_cuda(device.index, p, buffers, alpha, beta)) return true;
  ++counters().fallbacks;
  return false;
}

}  // namespace shim::gemm
