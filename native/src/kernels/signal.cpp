// Kernels of the operators in records/signal.
#include "cpu/fourier.h"
#include "cuda/cufft.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {

void register_signal_kernels() {
  register_kernel<&fft_c2c, kCpu>("fft_c2c");
  register_kernel<&cuda::fft_c2c, kCuda>("fft_c2c");
  register_kernel<&fft_r2c, kCpu>("fft_r2c");
  register_kernel<&cuda::fft_r2c, kCuda>("fft_r2c");
  register_kernel<&fft_c2r, kCpu>("fft_c2r");
  register_kernel<&cuda::fft_c2r, kCuda>("fft_c2r");
}

}  // namespace shim
