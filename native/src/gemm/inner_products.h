#pragma once
// Products of matrices whose rows both lie along what is summed (x W^T of a linear layer), as inner products: nothing is packed.
#include <cstdint>

namespace shim::gemm {

// Column-major d[m,n] = alpha a^T b + beta d of a[k,m] and b[k,n] on the calling thread; with beta 0, d is not read. False, with nothing
// done, where the processor has no kernel or another way is better.
template <class T>
bool inner_products(int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda, const T* b, int64_t ldb, T beta, T* d, int64_t ldd);
extern template bool inner_products(int64_t, int64_t, int64_t, float, const float*, int64_t, const float*, int64_t, float, float*, int64_t);
extern template bool inner_products(int64_t, int64_t, int64_t, double, const double*, int64_t, const double*, int64_t, double, double*, int64_t);

}  // namespace shim::gemm
