// Kernels of the operators in records/linalg.
#include "linalg/linalg.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {

void register_linalg_kernels() {
  register_kernel<&linalg::eig, kCpu>("eig");
  register_kernel<&linalg::eigvals, kCpu>("eigvals");
  register_kernel<&linalg::determinant, kCpu>("det");
  register_kernel<&linalg::least_squares, kCpu>("lstsq");
  register_kernel<&linalg::lu_factor, kCpu>("lu_factor");
  register_kernel<&linalg::lu_solve, kCpu>("lu_solve");
  register_kernel<&linalg::row_order, kCpu>("row_order");
  register_kernel<&linalg::solve, kCpu>("solve");
  register_kernel<&linalg::inverse, kCpu>("inverse");
  register_kernel<&linalg::solve_triangular, kCpu>("solve_triangular");
  register_kernel<&linalg::cholesky, kCpu>("cholesky");
  register_kernel<&linalg::cholesky_solve, kCpu>("cholesky_solve");
  register_kernel<&linalg::cholesky_inverse, kCpu>("cholesky_inverse");
  register_kernel<&linalg::ldl_factor, kCpu>("ldl_factor");
  register_kernel<&linalg::ldl_solve, kCpu>("ldl_solve");
  register_kernel<&linalg::reflections, kCpu>("geqrf");
  register_kernel<&linalg::householder_product, kCpu>("householder");
  register_kernel<&linalg::multiply_by_q, kCpu>("ormqr");
  register_kernel<&linalg::qr, kCpu>("qr");
  register_kernel<&linalg::eigh, kCpu>("eigh");
  register_kernel<&linalg::eigvalsh, kCpu>("eigvalsh");
  register_kernel<&linalg::svd, kCpu>("svd");
  register_kernel<&linalg::singular_values, kCpu>("svdvals");
}

}  // namespace shim
