// Symmetric and Hermitian matrices: Cholesky's factors, and L D Lᵀ of indefinite ones.
#include <atomic>

#include "linalg/batches.h"
#include "linalg/linalg.h"

namespace shim::linalg {
namespace {

// Zeros beyond the triangle that was computed, in matrices by columns one after the other.
template <class T> void clear_other_triangle(T* data, Int n, int64_t count, bool upper) {
  for (int64_t i = 0; i < count; ++i)
    for (Int column = 0; column < n; ++column) {
      T* c = data + (i * n + column) * n;
      upper ? std::fill(c + column + 1, c + n, T(0)) : std::fill(c, c + column, T(0));
    }
}

}  // namespace

Outcome<Two> cholesky(const Tensor& a, bool upper, bool check_errors) {
  if (!square(*a)) return kNotSquare;
  const LongWork others_run(a);
  return by_type<Two>(a->dtype(), [&](auto zero) -> Outcome<Two> {
    using T = decltype(zero);
    const Dims lead = lead_of(*a);
    const Tensor factor = copied_by_columns(a, lead), info = empty(lead, DType::i32, Device{});
    const Int n = rows_of(*a);
    for (int64_t i = 0; i < info->numel(); ++i) {
      Int wrong = 0;
      lapack::functions<T>()->potrf(upper ? "U" : "L", &n, factor->template data_as<T>() + i * n * n, &n, &wrong, 1);
      if (check_errors && status(wrong)) return kFailed;
      info->template data_as<int32_t>()[i] = status(wrong);
    }
    clear_other_triangle(factor->template data_as<T>(), n, info->numel(), upper);
    return Two{factor, info};
  });
}

Outcome<Tensor> cholesky_solve(const Tensor& b, const Tensor& factor, bool upper) {
  const LongWork others_run(b);
  Dims lead;
  if (!square(*factor) || !some_matrices(*b) || factor->dtype() != b->dtype() || rows_of(*b) != rows_of(*factor))
    return kUnlike;
  if (!common_lead(lead_of(*factor), lead_of(*b), &lead)) return kUnlike;
  return by_type<Tensor>(b->dtype(), [&](auto zero) -> Tensor {
    using T = decltype(zero);
    if (rows_of(*b) <= kOwnRows) {  // L Lᴴ X = B
      const Tensor x = by_columns(lead, rows_of(*b), cols_of(*b), b->dtype());
      const BatchOffsets of_factor(*factor, lead), of_b(*b, lead);
      const size_t last = size_t(factor->dim() - 1), last_b = size_t(b->dim() - 1);
      each_columns<T>(
          product(lead), rows_of(*b), cols_of(*b), [&](int64_t i, int64_t first, int64_t count, Columns<T>& columns) {
            Triangle<T> t = triangle_at(factor->template data_as<T>() + of_factor[i], factor->strides()[last - 1],
                            factor->strides()[last], upper),
                        h = t.transposed();
            h.conjugated = true;
            columns.read(b->template data_as<T>() + of_b[i] + first * b->strides()[last_b], b->strides()[last_b - 1],
                b->strides()[last_b], count);
            columns.solve(upper ? h : t);
            columns.solve(upper ? t : h);
            columns.write(x->template data_as<T>() + (i * cols_of(*b) + first) * rows_of(*b), 1, rows_of(*b), count);
          });
      return x;
    }
    Readable from(factor);
    if (from.turned && lapack::is_complex<T>) {  // read by columns, the transpose is no adjoint
      from.t = copied_by_columns(factor, lead_of(*factor));
      from.turned = false;
      from.ld = rows_of(*factor);
    }
    const BatchOffsets offsets(*from.t, lead);
    const Tensor x = copied_by_columns(b, lead);
    const Int n = rows_of(*b), count = cols_of(*b);
    Int wrong = 0;
    for (int64_t i = 0; i < product(lead); ++i)
      lapack::functions<T>()->potrs(upper == from.turned ? "L" : "U", &n, &count,
          from.t->template data_as<T>() + offsets[i], &from.ld, x->template data_as<T>() + i * n * count, &n, &wrong,
          1);
    return x;
  });
}

Outcome<Tensor> cholesky_inverse(const Tensor& factor, bool upper) {
  if (!square(*factor)) return kNotSquare;
  const LongWork others_run(factor);
  return by_type<Tensor>(factor->dtype(), [&](auto zero) -> Outcome<Tensor> {
    using T = decltype(zero);
    const Int n = rows_of(*factor);
    if (n <= kOwnRows) {
      // The columns of L^-H L^-1 from the diagonal down; above it stand their conjugates.
      const Tensor x = by_columns(lead_of(*factor), n, n, factor->dtype());
      const BatchOffsets offsets(*factor, lead_of(*factor));
      const size_t last = size_t(factor->dim() - 1);
      std::atomic<bool> singular = false;
      each_columns<T>(x->numel() / (n * n), n, n, [&](int64_t i, int64_t first, int64_t count, Columns<T>& columns) {
        const T* from = factor->template data_as<T>() + offsets[i];
        Triangle<T> t = triangle_at(from, factor->strides()[last - 1], factor->strides()[last], upper),
                    h = t.transposed();
        h.conjugated = true;
        for (int64_t k = first; k < first + count; ++k)
          if (from[k * (t.down + t.right)] == T(0)) singular = true;
        columns.read_identity(first);
        columns.solve(upper ? h : t, first);
        columns.solve(upper ? t : h, first);
        for (int64_t j = 0; j < count; ++j) {
          T* diagonal = x->template data_as<T>() + i * n * n + (first + j) * (n + 1);
          columns.write_lane(j, first + j, diagonal, 1);
          for (int64_t k = 1; k < n - first - j; ++k) diagonal[k * n] = conjugate(diagonal[k]);
        }
      });
      if (!singular) return x;  // for the record to refuse
    }
    const Tensor x = copied_by_columns(factor, lead_of(*factor));
    for (int64_t i = 0; i < x->numel() / (n * n); ++i) {
      T* own = x->template data_as<T>() + i * n * n;
      Int wrong = 0;
      lapack::functions<T>()->potri(upper ? "U" : "L", &n, own, &n, &wrong, 1);
      if (status(wrong)) return kFailed;
      for (Int column = 0; column < n; ++column)
        for (Int row = 0; row < column; ++row) {
          T &above = own[column * n + row], &below = own[row * n + column];
          upper ? below = conjugate(above) : above = conjugate(below);
        }
    }
    return x;
  });
}

Outcome<Three> ldl_factor(const Tensor& a, bool hermitian, bool check_errors) {
  if (!square(*a)) return kNotSquare;
  const LongWork others_run(a);
  return by_type<Three>(a->dtype(), [&](auto zero) -> Outcome<Three> {
    using T = decltype(zero);
    const auto& lib = *lapack::functions<T>();
    const auto factor = hermitian ? lib.hetrf : lib.sytrf;
    const Dims lead = lead_of(*a);
    const Int n = rows_of(*a);
    const Tensor packed = copied_by_columns(a, lead), pivots = empty(join(lead, {n}), DType::i32, Device{}),
                 info = empty(lead, DType::i32, Device{});
    std::vector<Int> own(size_t(n), 0);
    Int wrong = 0;
    Work<T> work(
        [&](T* w, Int size) { factor("L", &n, packed->template data_as<T>(), &n, own.data(), w, &size, &wrong, 1); });
    for (int64_t i = 0; i < info->numel(); ++i) {
      wrong = 0;
      factor("L", &n, packed->template data_as<T>() + i * n * n, &n, own.data(), work.data(), work.size(), &wrong, 1);
      if (check_errors && status(wrong)) return kFailed;
      info->template data_as<int32_t>()[i] = status(wrong);
      for (Int j = 0; j < n; ++j)
        pivots->template data_as<int32_t>()[i * n + j] = lapack::number_at(own.data(), size_t(j));
    }
    clear_other_triangle(packed->template data_as<T>(), n, info->numel(), false);
    return Three{packed, pivots, info};
  });
}

Outcome<Tensor> ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian) {
  const LongWork others_run(ld);
  if (!square(*ld) || !some_matrices(*b) || ld->dtype() != b->dtype() || rows_of(*b) != rows_of(*ld) ||
      pivots->dtype() != DType::i32)
    return kUnlike;
  const Int n = rows_of(*ld), count = cols_of(*b);
  Dims lead;
  if (pivots->dim() != ld->dim() - 1 || lead_of(*pivots, 1) != lead_of(*ld) || pivots->sizes().back() != n)
    return kUnlike;
  if (!common_lead(lead_of(*ld), lead_of(*b), &lead)) return kUnlike;
  const Tensor pivot_list = contiguous(pivots);
  for (int64_t i = 0; i < pivot_list->numel(); ++i)
    if (const int32_t p = pivot_list->data_as<int32_t>()[i]; p == 0 || std::abs(p) > n) return kUnlike;
  return by_type<Tensor>(b->dtype(), [&](auto zero) -> Tensor {
    using T = decltype(zero);
    const auto& lib = *lapack::functions<T>();
    const Tensor from = copied_by_columns(ld, lead_of(*ld)), x = copied_by_columns(b, lead);
    const BatchOffsets of_ld(*from, lead), of_pivots(*pivot_list, lead, 1);
    std::vector<Int> own(size_t(n), 0);
    Int wrong = 0;
    for (int64_t i = 0; i < product(lead); ++i) {
      for (Int j = 0; j < n; ++j)
        lapack::put_number(own.data(), size_t(j), pivot_list->template data_as<int32_t>()[of_pivots[i] + j]);
      (hermitian ? lib.hetrs : lib.sytrs)("L", &n, &count, from->template data_as<T>() + of_ld[i], &n, own.data(),
          x->template data_as<T>() + i * n * count, &n, &wrong, 1);
    }
    return x;
  });
}

}  // namespace shim::linalg
