#pragma once
// Products of matrices of float and double by kernels of our own: as inner products of rows, or of packed columns.
#include <cstdint>

namespace shim::gemm {

// Column-major d[m,n] = alpha op(a)[m,k] op(b)[k,n] + beta d on the calling thread; with beta 0, d is not read. False, with nothing done,
// where the processor has no kernel or a BLAS is as good.
template <class T>
bool own_product(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
    const T* b, int64_t ldb, T beta, T* d, int64_t ldd);
extern template bool own_product(
    bool, bool, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*, int64_t, float, float*, int64_t);
extern template bool own_product(bool, bool, int64_t, int64_t, int64_t, double, const double*, int64_t, const double*,
    int64_t, double, double*, int64_t);

}  // namespace shim::gemm
