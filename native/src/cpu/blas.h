#pragma once
// Products on the calling thread, for kernels that share their work among threads themselves.
#include <cstdint>

namespace shim::gemm {

// While one lives, the BLAS works on the calling thread alone.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;

 private:
  void* only_ = nullptr;
};

// Column-major d[m,n] = op(a)[m,k] op(b)[k,n] + beta d, of float or double. can_launch_cpu() must hold, and sizes fit 32 bits.
template <class T>
void multiply(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
    int64_t ldb, T beta, T* d, int64_t ldd);

}  // namespace shim::gemm
