// Householder's reflections and what is made of them; eigenvalues of Hermitian matrices; singular values.
#include <cmath>

#include "linalg/batches.h"
#include "linalg/linalg.h"

namespace shim::linalg {
namespace {

// The transpose that LAPACK calls "C" for complex matrices.
template <class T> const char* adjoint_letter() { return lapack::is_complex<T> ? "C" : "T"; }

template <class T> void factor_into_reflections(const Tensor& a, const Tensor& scales) {
  const auto& lib = *lapack::functions<T>();
  const Int m = rows_of(*a), n = cols_of(*a), k = std::min(m, n);
  T *data = a->data_as<T>(), *tau = scales->data_as<T>();
  Int wrong = 0;
  Work<T> work([&](T* w, Int size) { lib.geqrf(&m, &n, data, &m, tau, w, &size, &wrong); });
  for (int64_t i = 0; i < a->numel() / (m * n); ++i)
    lib.geqrf(&m, &n, data + i * m * n, &m, tau + i * k, work.data(), work.size(), &wrong);
}

// The first `q`'s columns of the product of `k` reflections, in place of them.
template <class T> void make_q(const Tensor& q, const T* tau, Int k) {
  const auto& lib = *lapack::functions<T>();
  const Int m = rows_of(*q), n = cols_of(*q);
  T* data = q->data_as<T>();
  Int wrong = 0;
  Work<T> work([&](T* w, Int size) { lib.orgqr(&m, &n, &k, data, &m, tau, w, &size, &wrong); });
  for (int64_t i = 0; i < q->numel() / (m * n); ++i)
    lib.orgqr(&m, &n, &k, data + i * m * n, &m, tau + i * k, work.data(), work.size(), &wrong);
}

// The upper triangle of the first rows of matrices by columns.
template <class T> Tensor upper_triangle(const Tensor& a, int64_t rows) {
  const int64_t m = rows_of(*a), n = cols_of(*a);
  const Tensor r = by_columns(lead_of(*a), rows, n, a->dtype());
  const T* from = a->data_as<T>();
  T* to = r->data_as<T>();
  for (int64_t i = 0; i < a->numel() / m; ++i, from += m, to += rows) {  // column by column
    const int64_t kept = std::min(i % n + 1, std::min(rows, m));
    std::copy(from, from + kept, to);
    std::fill(to + kept, to + rows, T(0));
  }
  return r;
}

bool of_one_batch(const Tensor& a, const Tensor& scales) {
  return scales->dim() == a->dim() - 1 && scales->dtype() == a->dtype() && scales->device().is_cpu() &&
         lead_of(*scales, 1) == lead_of(*a);
}

template <class T> bool finite(const Tensor& t) {
  const auto* p = t->data_as<Real<T>>();
  return std::all_of(
      p, p + t->numel() * int64_t(sizeof(T) / sizeof(Real<T>)), [](Real<T> v) { return std::isfinite(v); });
}

constexpr NotMine kNotFinite{"NaN or infinity"};

// Eigenvalues of Hermitian matrices in ascending order; the second result holds their vectors if they are wanted.
Outcome<Two> hermitian(const Tensor& a, bool lower, bool vectors) {
  if (!square(*a)) return kNotSquare;
  const LongWork others_run(a);
  return by_type<Two>(a->dtype(), [&](auto zero) -> Outcome<Two> {
    using T = decltype(zero);
    const auto& lib = *lapack::functions<T>();
    const Dims lead = lead_of(*a);
    const Int n = rows_of(*a);
    const Tensor basis = copied_by_columns(a, lead), values = empty(join(lead, {n}), to_real(a->dtype()), Device{});
    const char *job = vectors ? "V" : "N", *uplo = lower ? "L" : "U";
    T* data = basis->template data_as<T>();
    auto* w = values->template data_as<Real<T>>();
    Int wrong = 0;
    const Int integer_count = vectors ? 3 + 5 * n : 1, real_count = vectors ? 1 + 5 * n + 2 * n * n : n;
    std::vector<Int> integers(static_cast<size_t>(integer_count));
    std::vector<Real<T>> reals(lapack::is_complex<T> ? size_t(real_count) : 0);
    const auto run = [&](T* matrix, Real<T>* to, T* area, const Int* size) {
      if constexpr (lapack::is_complex<T>)
        lib.heevd(job, uplo, &n, matrix, &n, to, area, size, reals.data(), &real_count, integers.data(), &integer_count,
            &wrong, 1, 1);
      else
        lib.syevd(job, uplo, &n, matrix, &n, to, area, size, integers.data(), &integer_count, &wrong, 1, 1);
    };
    Work<T> work([&](T* area, Int size) { run(data, w, area, &size); });
    for (int64_t i = 0; i < values->numel() / n; ++i) {
      run(data + i * n * n, w + i * n, work.data(), work.size());
      if (status(wrong)) return kFailed;
    }
    return Two{values, basis};
  });
}

Outcome<Three> decomposed(
    const Tensor& a, bool full, bool vectors) {  // without vectors only the second result is there
  if (!some_matrices(*a)) return kNoMatrices;
  const LongWork others_run(a);
  return by_type<Three>(a->dtype(), [&](auto zero) -> Outcome<Three> {
    using T = decltype(zero);
    const auto& lib = *lapack::functions<T>();
    const Dims lead = lead_of(*a);
    const Int m = rows_of(*a), n = cols_of(*a), k = std::min(m, n), most = std::max(m, n),
              columns = vectors ? (full ? m : k) : 1, rows = vectors ? (full ? n : k) : 1;
    const Tensor copy = copied_by_columns(a, lead), values = empty(join(lead, {k}), to_real(a->dtype()), Device{});
    if (!finite<T>(copy)) return kNotFinite;
    const Tensor u = vectors ? by_columns(lead, m, columns, a->dtype()) : Tensor{},
                 vt = vectors ? by_columns(lead, rows, n, a->dtype()) : Tensor{};
    const char* job = !vectors ? "N" : full ? "A" : "S";
    std::vector<Int> integers(size_t(8 * k));
    std::vector<Real<T>> reals(
        lapack::is_complex<T> ? size_t(vectors ? k * std::max(5 * k + 7, 2 * most + 2 * k + 1) : 7 * k) : 0);
    Int wrong = 0;
    const auto run = [&](int64_t i, T* area, const Int* size) {
      T *from = copy->template data_as<T>() + i * m * n,
        *to_u = vectors ? u->template data_as<T>() + i * m * columns : nullptr;
      T* to_vt = vectors ? vt->template data_as<T>() + i * rows * n : nullptr;
      auto* s = values->template data_as<Real<T>>() + i * k;
      if constexpr (lapack::is_complex<T>)
        lib.gesdd_complex(
            job, &m, &n, from, &m, s, to_u, &m, to_vt, &rows, area, size, reals.data(), integers.data(), &wrong, 1);
      else
        lib.gesdd_plain(job, &m, &n, from, &m, s, to_u, &m, to_vt, &rows, area, size, integers.data(), &wrong, 1);
    };
    Work<T> work([&](T* area, Int size) { run(0, area, &size); });
    for (int64_t i = 0; i < values->numel() / k; ++i) {
      run(i, work.data(), work.size());
      if (status(wrong)) return kFailed;
    }
    return Three{u, values, vt};
  });
}

Outcome<Two> general(const Tensor& a, bool vectors) {
  if (!square(*a)) return kNotSquare;
  const LongWork others_run(a);
  return by_type<Two>(a->dtype(), [&](auto zero) -> Outcome<Two> {
    using T = decltype(zero);
    using C = std::complex<Real<T>>;
    const auto& lib = *lapack::functions<T>();
    const Dims lead = lead_of(*a);
    const Int n = rows_of(*a), one = 1;
    const DType dtype = to_complex(a->dtype());
    const Tensor copy = copied_by_columns(a, lead), values = empty(join(lead, {n}), dtype, Device{});
    const Tensor basis = vectors ? by_columns(lead, n, n, dtype) : Tensor{};
    if (!finite<T>(copy)) return kNotFinite;
    const char* job = vectors ? "V" : "N";
    std::vector<T> own(vectors && !lapack::is_complex<T> ? size_t(n * n) : 1);
    std::vector<Real<T>> parts(size_t(2 * n));
    const Int ld = vectors ? n : 1;
    Int wrong = 0;
    const auto run = [&](int64_t i, T* work, const Int* size) {
      T* data = copy->template data_as<T>() + i * n * n;
      if constexpr (lapack::is_complex<T>)
        lib.geev_complex("N", job, &n, data, &n, values->template data_as<T>() + i * n, own.data(), &one,
            vectors ? basis->template data_as<T>() + i * n * n : own.data(), &ld, work, size, parts.data(), &wrong, 1,
            1);
      else
        lib.geev_plain("N", job, &n, data, &n, parts.data(), parts.data() + n, own.data(), &one, own.data(), &ld, work,
            size, &wrong, 1, 1);
    };
    Work<T> work([&](T* area, Int size) { run(0, area, &size); });
    for (int64_t i = 0; i < values->numel() / n; ++i) {
      run(i, work.data(), work.size());
      if (status(wrong)) return kFailed;
      if constexpr (!lapack::is_complex<T>) {  // a pair of conjugate values has its vectors' parts side by side
        C* to = values->template data_as<C>() + i * n;
        for (Int j = 0; j < n; ++j) to[j] = {parts[size_t(j)], parts[size_t(n + j)]};
        for (Int j = 0; vectors && j < n; ++j) {
          C* column = basis->template data_as<C>() + (i * n + j) * n;
          const T* re = own.data() + j * n;
          const bool pair = parts[size_t(n + j)] != 0;
          for (Int r = 0; r < n; ++r) {
            column[r] = {re[r], pair ? re[n + r] : 0};
            if (pair) column[n + r] = std::conj(column[r]);
          }
          j += pair;
        }
      }
    }
    return Two{values, basis};
  });
}

}  // namespace

Outcome<Two> reflections(const Tensor& a) {
  if (!some_matrices(*a)) return kNoMatrices;
  const LongWork others_run(a);
  return by_type<Two>(a->dtype(), [&](auto zero) -> Two {
    const Tensor packed = copied_by_columns(a, lead_of(*a)),
                 scales = empty(join(lead_of(*a), {std::min(rows_of(*a), cols_of(*a))}), a->dtype(), Device{});
    factor_into_reflections<decltype(zero)>(packed, scales);
    return {packed, scales};
  });
}

Outcome<Tensor> householder_product(const Tensor& a, const Tensor& scales) {
  const LongWork others_run(a);
  if (!some_matrices(*a) || !of_one_batch(a, scales)) return kUnlike;
  const Int k = scales->sizes().back();
  if (rows_of(*a) < cols_of(*a) || k > cols_of(*a) || k == 0) return kUnlike;
  return by_type<Tensor>(a->dtype(), [&](auto zero) -> Tensor {
    using T = decltype(zero);
    const Tensor q = copied_by_columns(a, lead_of(*a)), tau = contiguous(scales);
    make_q<T>(q, tau->template data_as<T>(), k);
    return q;
  });
}

Outcome<Tensor> multiply_by_q(const Tensor& a, const Tensor& scales, const Tensor& other, bool left, bool adjoint) {
  const LongWork others_run(a);
  if (!some_matrices(*a) || !some_matrices(*other) || !of_one_batch(a, scales) || other->dtype() != a->dtype() ||
      lead_of(*other) != lead_of(*a))
    return kUnlike;
  const Int m = rows_of(*other), n = cols_of(*other), k = scales->sizes().back(), rows = left ? m : n;
  if (rows_of(*a) != rows || k > cols_of(*a) || k > rows || k == 0) return kUnlike;
  return by_type<Tensor>(a->dtype(), [&](auto zero) -> Tensor {
    using T = decltype(zero);
    const auto& lib = *lapack::functions<T>();
    const Tensor from = copied_by_columns(a, lead_of(*a)), to = copied_by_columns(other, lead_of(*other)),
                 tau = contiguous(scales);
    const char *side = left ? "L" : "R", *trans = adjoint ? adjoint_letter<T>() : "N";
    const T *q = from->template data_as<T>(), *t = tau->template data_as<T>();
    T* c = to->template data_as<T>();
    const int64_t step = a->numel() / std::max<int64_t>(1, product(lead_of(*a)));
    Int wrong = 0;
    Work<T> work(
        [&](T* w, Int size) { lib.ormqr(side, trans, &m, &n, &k, q, &rows, t, c, &m, w, &size, &wrong, 1, 1); });
    for (int64_t i = 0; i < to->numel() / (m * n); ++i)
      lib.ormqr(side, trans, &m, &n, &k, q + i * step, &rows, t + i * k, c + i * m * n, &m, work.data(), work.size(),
          &wrong, 1, 1);
    return to;
  });
}

Outcome<Two> qr(const Tensor& a, std::string_view mode) {
  if (mode != "reduced" && mode != "complete" && mode != "r") return NotMine{"a mode that there is not"};
  const LongWork others_run(a);
  auto packed = reflections(a);
  if (!packed) return packed.why();
  const auto& reflected = std::get<0>(*packed);
  const auto& scales = std::get<1>(*packed);
  const Int m = rows_of(*a), n = cols_of(*a), k = std::min(m, n), columns = mode == "complete" ? m : k;
  return by_type<Two>(a->dtype(), [&](auto zero) -> Two {
    using T = decltype(zero);
    const Tensor r = upper_triangle<T>(reflected, columns);
    if (mode == "r") return {empty(Dims{0}, a->dtype(), Device{}), r};
    Tensor q = reflected;
    if (columns != n) {  // the reflections in a matrix of Q's size
      q = by_columns(lead_of(*a), m, columns, a->dtype());
      const T* from = reflected->template data_as<T>();
      T* to = q->template data_as<T>();
      for (int64_t i = 0; i < q->numel() / (m * columns); ++i)
        std::copy(from + i * m * n, from + i * m * n + m * k, to + i * m * columns);
    }
    make_q<T>(q, scales->template data_as<T>(), k);
    return {q, r};
  });
}

Outcome<Two> eigh(const Tensor& a, std::string_view triangle) {
  if (triangle != "L" && triangle != "l") return NotMine{"vectors of upper triangles, whose signs PyTorch chooses"};
  return hermitian(a, true, true);
}

Outcome<Tensor> eigvalsh(const Tensor& a, std::string_view triangle) {
  const bool lower = triangle == "L" || triangle == "l";
  if (!lower && triangle != "U" && triangle != "u") return NotMine{"a triangle that there is not"};
  auto found = hermitian(a, lower, false);
  if (!found) return found.why();
  return std::get<0>(*found);
}

Outcome<Three> svd(const Tensor& a, bool full, std::optional<std::string_view> driver) {
  if (driver) return NotMine{"a driver, which is cuSOLVER's"};
  return decomposed(a, full, true);
}

Outcome<Tensor> singular_values(const Tensor& a) {
  auto found = decomposed(a, false, false);
  if (!found) return found.why();
  return std::get<1>(*found);
}

Outcome<Two> eig(const Tensor& a) { return general(a, true); }

Outcome<Tensor> eigvals(const Tensor& a) {
  auto found = general(a, false);
  if (!found) return found.why();
  return std::get<0>(*found);
}

}  // namespace shim::linalg
