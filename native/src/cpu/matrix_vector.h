#pragma once
// Matrix-vector and outer products on our own threads: bound by memory, and small ones done before a BLAS has woken its threads.
#include <cstdint>

namespace shim::gemm {

// Column-major m of rows x cols: y = alpha op(m) x + beta y, op(m) its transpose where `trans`. With beta 0, y is not read.
template <class T>
void matrix_vector(bool trans, int64_t rows, int64_t cols, T alpha, const T* m, int64_t ld, const T* x, int64_t step_x,
    T beta, T* y, int64_t step_y);
extern template void matrix_vector(
    bool, int64_t, int64_t, float, const float*, int64_t, const float*, int64_t, float, float*, int64_t);
extern template void matrix_vector(
    bool, int64_t, int64_t, double, const double*, int64_t, const double*, int64_t, double, double*, int64_t);

// Column-major d of rows x cols: d = alpha x y^T + beta d.
template <class T>
void outer_product(int64_t rows, int64_t cols, T alpha, const T* x, int64_t step_x, const T* y, int64_t step_y, T beta,
    T* d, int64_t ld);
extern template void outer_product(
    int64_t, int64_t, float, const float*, int64_t, const float*, int64_t, float, float*, int64_t);
extern template void outer_product(
    int64_t, int64_t, double, const double*, int64_t, const double*, int64_t, double, double*, int64_t);

}  // namespace shim::gemm
