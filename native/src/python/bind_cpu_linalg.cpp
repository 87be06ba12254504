// CPU kernels of linear algebra: LAPACK's. Errors are the records' to find: where `check_errors` finds one, the body says which.
#include <cstring>
#include <optional>

#include "linalg/linalg.h"
#include "python/native_values.h"

namespace shim {
namespace {

using namespace linalg;

constexpr int64_t kWorthUnlocking = 4096;  // elements of a matrix that keeps LAPACK busy for long

bool on_cpu(PyObject* o) { return is_tensor(o) && unwrap(o)->device().is_cpu(); }
Tensor at(PyObject* const* args, int i) { return Tensor(unwrap(args[i])); }
bool is(PyObject* o, const char* text) { return PyUnicode_Check(o) && PyUnicode_CompareWithASCIIString(o, text) == 0; }

// f() where the first `tensors` arguments are on the CPU, without the GIL where that pays; what it gives (null: not our case) as Python
// objects.
template <class F> PyObject* run(PyObject* const* args, int tensors, F&& f) {
  for (int i = 0; i < tensors; ++i)
    if (!on_cpu(args[i])) return nullptr;
  return guarded([&]() -> PyObject* {
    const auto found = [&] {
      std::optional<GilRelease> released;
      if (unwrap(args[0])->numel() >= kWorthUnlocking) released.emplace();
      return f();
    }();
    using Found = std::decay_t<decltype(found)>;
    if constexpr (std::is_same_v<Found, Tensor>)
      return wrapped(found);
    else if constexpr (std::is_same_v<Found, Two>)
      return found.first ? tuple_of({found.first, found.second}) : nullptr;
    else
      return found.first ? tuple_of({found.first, found.second, found.third}) : nullptr;
  });
}

bool failed(const Tensor& info) {
  const int32_t* p = info ? info->data_as<int32_t>() : nullptr;
  return p && std::any_of(p, p + info->numel(), [](int32_t v) { return v != 0; });
}

// `found`, or null where it failed and that has to be told.
template <class R> R unless_failed(R found, const Tensor& info, PyObject* check) {
  return check == Py_True && failed(info) ? R{} : found;
}

// linalg_lu_factor_ex(A, pivot, check_errors)
PyObject* lu_factor_ex(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || args[1] != Py_True) return nullptr;
  return run(args, 1, [&] {
    const Three f = lu_factor(at(args, 0));
    return unless_failed(f, f.third, args[2]);
  });
}

// _lu_solve_of(LU, pivots, B, left, adjoint)
PyObject* lu_solve_of(Operator&, PyObject* const* args, size_t n) {
  if (n != 5) return nullptr;
  return run(
      args, 3, [&] { return lu_solve(at(args, 0), at(args, 1), at(args, 2), args[3] == Py_True, args[4] == Py_True); });
}

// _row_order(pivots, rows)
PyObject* row_order_of(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !PyLong_Check(args[1])) return nullptr;
  const int64_t rows = PyLong_AsLongLong(args[1]);
  return run(args, 1, [&] { return row_order(at(args, 0), rows); });
}

// linalg_solve_ex(A, B, left, check_errors)
PyObject* solve_ex(Operator&, PyObject* const* args, size_t n) {
  if (n != 4) return nullptr;
  return run(args, 2, [&]() -> Two {
    const Tensor a = at(args, 0), b = at(args, 1);
    const bool of_a_batch =
        a->dim() == b->dim() + 1 && std::equal(b->sizes().begin(), b->sizes().end(), a->sizes().begin());
    const Two found = solve(a, b, args[2] == Py_True, b->dim() == 1 || of_a_batch);
    return unless_failed(found, found.second, args[3]);
  });
}

// linalg_inv_ex(A, check_errors)
PyObject* inv_ex(Operator&, PyObject* const* args, size_t n) {
  if (n != 2) return nullptr;
  return run(args, 1, [&] {
    const Two found = inverse(at(args, 0));
    return unless_failed(found, found.second, args[1]);
  });
}

// linalg_solve_triangular(self, B, upper, left, unitriangular)
PyObject* triangular(Operator&, PyObject* const* args, size_t n) {
  if (n != 5) return nullptr;
  return run(args, 2, [&] {
    return solve_triangular(at(args, 0), at(args, 1), args[2] == Py_True, args[3] == Py_True, args[4] == Py_True);
  });
}

// linalg_cholesky_ex(self, upper, check_errors)
PyObject* cholesky_ex(Operator&, PyObject* const* args, size_t n) {
  if (n != 3) return nullptr;
  return run(args, 1, [&] {
    const Two found = cholesky(at(args, 0), args[1] == Py_True);
    return unless_failed(found, found.second, args[2]);
  });
}

// cholesky_solve(self, input2, upper)
PyObject* solve_by_cholesky(Operator&, PyObject* const* args, size_t n) {
  if (n != 3) return nullptr;
  return run(args, 2, [&] { return cholesky_solve(at(args, 0), at(args, 1), args[2] == Py_True); });
}

// cholesky_inverse(self, upper)
PyObject* inverse_by_cholesky(Operator&, PyObject* const* args, size_t n) {
  if (n != 2) return nullptr;
  return run(args, 1, [&] { return cholesky_inverse(at(args, 0), args[1] == Py_True); });
}

// linalg_ldl_factor_ex(self, hermitian, check_errors)
PyObject* ldl_factor_ex(Operator&, PyObject* const* args, size_t n) {
  if (n != 3) return nullptr;
  return run(args, 1, [&] {
    const Three f = ldl_factor(at(args, 0), args[1] == Py_True);
    return unless_failed(f, f.third, args[2]);
  });
}

// linalg_ldl_solve(LD, pivots, B, hermitian)
PyObject* solve_by_ldl(Operator&, PyObject* const* args, size_t n) {
  if (n != 4) return nullptr;
  return run(args, 3, [&] { return ldl_solve(at(args, 0), at(args, 1), at(args, 2), args[3] == Py_True); });
}

// geqrf(self)
PyObject* geqrf(Operator&, PyObject* const* args, size_t n) {
  if (n != 1) return nullptr;
  return run(args, 1, [&] { return reflections(at(args, 0)); });
}

// _householder_of(input, tau)
PyObject* householder_of(Operator&, PyObject* const* args, size_t n) {
  if (n != 2) return nullptr;
  return run(args, 2, [&] { return householder_product(at(args, 0), at(args, 1)); });
}

// _ormqr_of(self, tau, other, left, transpose)
PyObject* ormqr_of(Operator&, PyObject* const* args, size_t n) {
  if (n != 5) return nullptr;
  return run(args, 3,
      [&] { return multiply_by_q(at(args, 0), at(args, 1), at(args, 2), args[3] == Py_True, args[4] == Py_True); });
}

// linalg_qr(A, mode)
PyObject* qr_of(Operator&, PyObject* const* args, size_t n) {
  if (n != 2) return nullptr;
  const std::optional<QrMode> mode = is(args[1], "reduced")    ? std::optional(QrMode::reduced)
                                     : is(args[1], "complete") ? std::optional(QrMode::complete)
                                     : is(args[1], "r")        ? std::optional(QrMode::r)
                                                               : std::nullopt;
  if (!mode) return nullptr;
  return run(args, 1, [&] { return qr(at(args, 0), *mode); });
}

// linalg_eigh(self, UPLO) and, for the values alone, _eigvalsh_of(self, UPLO)
template <bool Vectors> PyObject* eigh_of(Operator&, PyObject* const* args, size_t n) {
  const bool lower = n == 2 && (is(args[1], "L") || is(args[1], "l"));
  if (n != 2 || (!lower && !is(args[1], "U") && !is(args[1], "u"))) return nullptr;
  if (Vectors && !lower) return nullptr;  // the body's vectors have the signs that PyTorch's have
  if constexpr (Vectors)
    return run(args, 1, [&] { return eigh(at(args, 0), true, true); });
  else
    return run(args, 1, [&] { return eigh(at(args, 0), lower, false).first; });
}

// linalg_svd(A, full_matrices, driver)
PyObject* svd_of(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || args[2] != Py_None) return nullptr;
  return run(args, 1, [&] { return svd(at(args, 0), args[1] == Py_True, true); });
}

// _svdvals_of(A)
PyObject* svdvals_of(Operator&, PyObject* const* args, size_t n) {
  if (n != 1) return nullptr;
  return run(args, 1, [&] { return svd(at(args, 0), false, false).second; });
}

// linalg_eig(self) and, for the values alone, _eigvals_of(self)
template <bool Vectors> PyObject* eig_of(Operator&, PyObject* const* args, size_t n) {
  if (n != 1) return nullptr;
  if constexpr (Vectors)
    return run(args, 1, [&] { return eig(at(args, 0), true); });
  else
    return run(args, 1, [&] { return eig(at(args, 0), false).first; });
}

// linalg_det(A)
PyObject* det_of(Operator&, PyObject* const* args, size_t n) {
  if (n != 1) return nullptr;
  return run(args, 1, [&] { return determinant(at(args, 0)); });
}

// _lstsq_of(A, B, rcond, driver)
PyObject* lstsq_of(Operator&, PyObject* const* args, size_t n) {
  Scalar rcond;
  if (n != 4 || !number_of(args[2], &rcond)) return nullptr;
  const Driver driver = is(args[3], "gels")    ? Driver::gels
                        : is(args[3], "gelsd") ? Driver::gelsd
                        : is(args[3], "gelss") ? Driver::gelss
                                               : Driver::gelsy;
  return run(args, 2, [&] { return least_squares(at(args, 0), at(args, 1), rcond.to_double(), driver); });
}

}  // namespace

void register_cpu_linalg() {
  register_native_cpu("eig", eig_of<true>);
  register_native_cpu("eigvals", eig_of<false>);
  register_native_cpu("det", det_of);
  register_native_cpu("lstsq", lstsq_of);
  register_native_cpu("lu_factor", lu_factor_ex);
  register_native_cpu("lu_solve", lu_solve_of);
  register_native_cpu("row_order", row_order_of);
  register_native_cpu("solve", solve_ex);
  register_native_cpu("inverse", inv_ex);
  register_native_cpu("solve_triangular", triangular);
  register_native_cpu("cholesky", cholesky_ex);
  register_native_cpu("cholesky_solve", solve_by_cholesky);
  register_native_cpu("cholesky_inverse", inverse_by_cholesky);
  register_native_cpu("ldl_factor", ldl_factor_ex);
  register_native_cpu("ldl_solve", solve_by_ldl);
  register_native_cpu("geqrf", geqrf);
  register_native_cpu("householder", householder_of);
  register_native_cpu("ormqr", ormqr_of);
  register_native_cpu("qr", qr_of);
  register_native_cpu("eigh", eigh_of<true>);
  register_native_cpu("eigvalsh", eigh_of<false>);
  register_native_cpu("svd", svd_of);
  register_native_cpu("svdvals", svdvals_of);
}

}  // namespace shim
