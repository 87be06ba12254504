// LU factors, solutions by them, inverses, triangular systems.
#include <numeric>

#include "linalg/batches.h"
#include "linalg/linalg.h"

namespace shim::linalg {
namespace {

// Factors matrices in place and tells the pivots and infos.
template <class T> void factor(const Tensor& packed, const Tensor& pivots, const Tensor& info) {
  const auto& lib = *lapack::functions<T>();
  const Int m = rows_of(*packed), n = cols_of(*packed), k = std::min(m, n), count = info->numel();
  if (std::max(m, n) <=
      (lapack::is_complex<T> ? 16 : 256))  // the library spends more than this on its own preparations
    return parallel_for(count, std::max<int64_t>(1, kGrain / (m * n)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        info->data_as<int32_t>()[i] =
            int32_t(eliminate(packed->data_as<T>() + i * m * n, m, n, pivots->data_as<int32_t>() + i * k));
    });
  std::vector<Int> own(size_t(k), 0);
  for (Int i = 0; i < count; ++i) {
    Int wrong = 0;
    lib.getrf(&m, &n, packed->data_as<T>() + i * m * n, &m, own.data(), &wrong);
    info->data_as<int32_t>()[i] = status(wrong);
    for (Int j = 0; j < k; ++j) pivots->data_as<int32_t>()[i * k + j] = lapack::number_at(own.data(), size_t(j));
  }
}

// Solves op(A) X = B in place for the batch of `x`, whose matrices lie one after the other by columns.
template <class T>
void solve_in_place(
    const Tensor& lu, const Tensor& pivots, const char* trans, Int n, Int count, const Dims& lead, T* x) {
  const auto& lib = *lapack::functions<T>();
  const Readable from(lu);
  const BatchOffsets of_pivots(*pivots, lead, 1);
  const Tensor dense = from.turned ? copied_by_columns(lu, lead_of(*lu)) : from.t;  // packed factors are not turned
  const BatchOffsets of_dense(*dense, lead);
  const Int ld = from.turned ? n : from.ld;
  const int64_t step = pivots->strides()[size_t(pivots->dim() - 1)];
  std::vector<Int> own(size_t(n), 0);
  for (int64_t i = 0; i < product(lead); ++i) {
    const int32_t* given = pivots->data_as<int32_t>() + of_pivots[i];
    for (Int j = 0; j < n; ++j) lapack::put_number(own.data(), size_t(j), given[j * step]);
    Int wrong = 0;
    lib.getrs(trans, &n, &count, dense->data_as<T>() + of_dense[i], &ld, own.data(), x + i * n * count, &n, &wrong, 1);
  }
}

// The order that exchanges of rows leave them in.
void order_of(const int32_t* pivots, int64_t step, Int n, int32_t* order) {
  std::iota(order, order + n, 0);
  for (Int j = 0; j < n; ++j) std::swap(order[j], order[pivots[j * step] - 1]);
}

// A X = B, of the transposed factors or of the conjugated ones; `across`: of the rows of b and x instead of their columns.
template <class T>
void solve_by_own(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool transposed, bool conjugated,
    bool across, const Dims& lead, const Tensor& x) {
  const Int n = rows_of(*lu);
  const size_t last = size_t(lu->dim() - 1), last_b = size_t(b->dim() - 1), last_x = size_t(x->dim() - 1);
  const BatchOffsets of_lu(*lu, lead), of_pivots(*pivots, lead, 1), of_b(*b, lead), of_x(*x, lead);
  const int64_t down = lu->strides()[last - 1], right = lu->strides()[last],
                step = pivots->strides()[size_t(pivots->dim() - 1)];
  const int64_t b_down = b->strides()[last_b - !across], b_right = b->strides()[last_b - across],
                x_down = x->strides()[last_x - !across], x_right = x->strides()[last_x - across];
  each_columns<T>(product(lead), n, across ? rows_of(*b) : cols_of(*b),
      [&](int64_t i, int64_t first, int64_t count, Columns<T>& columns) {
        std::vector<int32_t> order(static_cast<size_t>(n));
        order_of(pivots->data_as<int32_t>() + of_pivots[i], step, n, order.data());
        const T* own = lu->data_as<T>() + of_lu[i];
        const auto l = triangle_at(own, down, right, false, true, conjugated),
                   u = triangle_at(own, down, right, true, false, conjugated);
        columns.read(
            b->data_as<T>() + of_b[i] + first * b_right, b_down, b_right, count, transposed ? nullptr : order.data());
        columns.solve(transposed ? u.transposed() : l);
        columns.solve(transposed ? l.transposed() : u);
        columns.write(
            x->data_as<T>() + of_x[i] + first * x_right, x_down, x_right, count, transposed ? order.data() : nullptr);
      });
}

bool failed(const Tensor& info) {
  const int32_t* p = info->data_as<int32_t>();
  return std::any_of(p, p + info->numel(), [](int32_t v) { return v != 0; });
}

bool pivots_fit(const Tensor& pivots, Int n) {
  const Tensor all = contiguous(pivots);
  const int32_t* p = all->data_as<int32_t>();
  return std::all_of(p, p + all->numel(), [n](int32_t v) { return v >= 1 && v <= n; });
}

}  // namespace

Outcome<Three> lu_factor(const Tensor& a, bool pivot, bool check_errors) {
  if (!pivot) return NotMine{"factors without exchanges of rows"};
  if (!some_matrices(*a)) return kNoMatrices;
  const LongWork others_run(a);
  return by_type<Three>(a->dtype(), [&](auto zero) -> Outcome<Three> {
    const Dims lead = lead_of(*a);
    const Tensor packed = copied_by_columns(a, lead),
                 pivots = empty(join(lead, {std::min(rows_of(*a), cols_of(*a))}), DType::i32, Device{});
    const Tensor info = empty(lead, DType::i32, Device{});
    factor<decltype(zero)>(packed, pivots, info);
    if (check_errors && failed(info)) return kFailed;
    return Three{packed, pivots, info};
  });
}

Outcome<Tensor> lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left, bool adjoint) {
  const LongWork others_run(lu);
  if (!square(*lu) || !some_matrices(*b) || lu->dtype() != b->dtype() || pivots->dtype() != DType::i32 ||
      pivots->dim() != lu->dim() - 1)
    return kUnlike;
  const Int n = rows_of(*lu);
  if (lead_of(*pivots, 1) != lead_of(*lu) || pivots->sizes().back() != n || (left ? rows_of(*b) : cols_of(*b)) != n ||
      !pivots_fit(pivots, n))
    return kUnlike;
  Dims lead;
  if (!common_lead(lead_of(*lu), lead_of(*b), &lead)) return kUnlike;
  return by_type<Tensor>(lu->dtype(), [&](auto zero) -> Tensor {
    using T = decltype(zero);
    if (n <= kOwnRows) {
      const Tensor x = left ? by_columns(lead, n, cols_of(*b), b->dtype())
                            : empty(join(lead, {rows_of(*b), n}), b->dtype(), Device{});
      solve_by_own<T>(lu, pivots, b, left == adjoint, adjoint, !left, lead, x);
      return x;
    }
    if (left) {
      const Tensor x = copied_by_columns(b, lead);
      solve_in_place<T>(lu, pivots, adjoint ? "C" : "N", n, cols_of(*b), lead, x->template data_as<T>());
      return x;
    }
    // X op(A) = B is op(A)ᵀ Xᵀ = Bᵀ, and rows are the columns of a transpose. With op(A) = Aᴴ that is conj(A) Xᵀ = Bᵀ: both sides conjugated.
    const Tensor x = empty(join(lead, {rows_of(*b), n}), b->dtype(), Device{});
    copy_(x, b);
    const bool turned = adjoint && lapack::is_complex<T>;
    T* data = x->template data_as<T>();
    if (turned) std::transform(data, data + x->numel(), data, conjugate<T>);
    solve_in_place<T>(lu, pivots, adjoint ? "N" : "T", n, rows_of(*b), lead, data);
    if (turned) std::transform(data, data + x->numel(), data, conjugate<T>);
    return x;
  });
}

Outcome<Two> solve(const Tensor& a, const Tensor& b, bool left, bool check_errors) {
  const LongWork others_run(a);
  const bool of_a_batch =
                 a->dim() == b->dim() + 1 && std::equal(b->sizes().begin(), b->sizes().end(), a->sizes().begin()),
             vector = b->dim() == 1 || of_a_batch;
  if (!square(*a)) return kNotSquare;
  if (!b->numel() || a->dtype() != b->dtype() || (vector && !left)) return kUnlike;
  const Tensor right = vector ? unsqueeze(*b, b->dim()) : b;
  const Int n = rows_of(*a);
  Dims lead;
  if (right->dim() < 2 || (left ? rows_of(*right) : cols_of(*right)) != n ||
      !common_lead(lead_of(*a), lead_of(*right), &lead))
    return kUnlike;
  auto factors = lu_factor(a, true, check_errors);
  if (!factors) return factors.why();
  const auto& [lu, pivots, info] = *factors;
  auto found = lu_solve(lu, pivots, right, left, false);
  if (!found) return found.why();
  Tensor x = *found;
  if (vector) {  // PyTorch lays out a batch of vectors as if it were one of matrices
    x = squeeze(*x, Dims{x->dim() - 1});
    if (x->dim() > 1) x = copied_by_columns(x, lead_of(*x));
  }
  return Two{x, info};
}

Outcome<Two> inverse(const Tensor& a, bool check_errors) {
  if (!square(*a)) return kNotSquare;
  const LongWork others_run(a);
  auto factors = lu_factor(a, true, check_errors);
  if (!factors) return factors.why();
  const Tensor &lu = std::get<0>(*factors), &pivots = std::get<1>(*factors), &info = std::get<2>(*factors);
  const Int n = rows_of(*a);
  const Tensor x = by_columns(lead_of(*a), n, n, a->dtype());
  return by_type<Two>(a->dtype(), [&](auto zero) -> Two {
    using T = decltype(zero);
    T* data = x->template data_as<T>();
    if (n <= kOwnRows) {  // A = P L U: the columns of U^-1 L^-1, in the order of the exchanges
      each_columns<T>(x->numel() / (n * n), n, n, [&](int64_t i, int64_t first, int64_t count, Columns<T>& columns) {
        std::vector<int32_t> order(static_cast<size_t>(n));
        order_of(pivots->template data_as<int32_t>() + i * n, 1, n, order.data());
        const T* own = lu->template data_as<T>() + i * n * n;
        columns.read_identity(first);
        columns.solve(triangle_at(own, 1, n, false, true), first);
        columns.solve(triangle_at(own, 1, n, true));
        for (int64_t j = 0; j < count; ++j) columns.write_one(j, data + (i * n + order[size_t(first + j)]) * n);
      });
      return {x, info};
    }
    std::fill(data, data + x->numel(), T(0));
    for (int64_t i = 0; i < x->numel() / n; ++i) data[i * n + i % n] = T(1);
    solve_in_place<T>(lu, pivots, "N", n, n, lead_of(*a), data);
    return {x, info};
  });
}

Outcome<Tensor> solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unit) {
  const LongWork others_run(a);
  if (!square(*a) || !some_matrices(*b) || a->dtype() != b->dtype() ||
      (left ? rows_of(*b) : cols_of(*b)) != rows_of(*a))
    return kUnlike;
  Dims lead;
  if (!common_lead(lead_of(*a), lead_of(*b), &lead)) return kUnlike;
  return by_type<Tensor>(a->dtype(), [&](auto zero) -> Tensor {
    using T = decltype(zero);
    const Int m = rows_of(*b), n = cols_of(*b);
    if (rows_of(*a) <= kOwnRows) {  // X A = B is a system of the transposes
      const Tensor x = by_columns(lead, m, n, b->dtype());
      const BatchOffsets offsets(*a, lead), of_b(*b, lead);
      const size_t last = size_t(a->dim() - 1), last_b = size_t(b->dim() - 1);
      const int64_t down = b->strides()[last_b - left], right = b->strides()[last_b - !left], x_down = left ? 1 : m,
                    x_right = left ? m : 1;
      each_columns<T>(
          product(lead), rows_of(*a), left ? n : m, [&](int64_t i, int64_t first, int64_t count, Columns<T>& columns) {
            const auto t = triangle_at(
                a->template data_as<T>() + offsets[i], a->strides()[last - 1], a->strides()[last], upper, unit);
            columns.read(b->template data_as<T>() + of_b[i] + first * right, down, right, count);
            columns.solve(left ? t : t.transposed());
            columns.write(x->template data_as<T>() + i * m * n + first * x_right, x_down, x_right, count);
          });
      return x;
    }
    const auto& lib = *lapack::functions<T>();
    const Readable from(a);
    const BatchOffsets of_a(*from.t, lead);
    const Tensor x = copied_by_columns(b, lead);
    const char *side = left ? "L" : "R", *uplo = upper == from.turned ? "L" : "U", *trans = from.turned ? "T" : "N",
               *diag = unit ? "U" : "N";
    const T one(1);
    for (int64_t i = 0; i < product(lead); ++i)
      lib.trsm(side, uplo, trans, diag, &m, &n, &one, from.t->template data_as<T>() + of_a[i], &from.ld,
          x->template data_as<T>() + i * m * n, &m, 1, 1, 1, 1);
    return x;
  });
}

Outcome<Tensor> determinant(const Tensor& a) {
  if (!square(*a)) return kNotSquare;
  const LongWork others_run(a);
  auto factors = lu_factor(a, true, false);
  if (!factors) return factors.why();
  const Tensor &lu = std::get<0>(*factors), &all_pivots = std::get<1>(*factors);
  const Tensor found = empty(lead_of(*a), a->dtype(), Device{});
  const Int n = rows_of(*a);
  return by_type<Tensor>(a->dtype(), [&](auto zero) -> Tensor {
    using T = decltype(zero);
    for (int64_t i = 0; i < found->numel(); ++i) {
      const T* packed = lu->template data_as<T>() + i * n * n;
      const int32_t* pivots = all_pivots->template data_as<int32_t>() + i * n;
      T product(1);
      for (Int j = 0; j < n; ++j) product *= pivots[j] == j + 1 ? packed[j * n + j] : -packed[j * n + j];
      found->template data_as<T>()[i] = product;
    }
    return found;
  });
}

Outcome<Tensor> row_order(const Tensor& given, int64_t rows) {
  const LongWork others_run(given);
  if (given->dim() < 1 || given->dtype() != DType::i32 || given->sizes().back() > rows || !pivots_fit(given, rows))
    return NotMine{"no pivots of these rows"};
  const Tensor pivots = contiguous(given), order = empty(join(lead_of(*given, 1), {rows}), DType::i64, Device{});
  const int64_t k = given->sizes().back();
  for (int64_t i = 0; rows && i < order->numel() / rows; ++i) {
    int64_t* own = order->data_as<int64_t>() + i * rows;
    std::iota(own, own + rows, 0);
    for (int64_t j = 0; j < k; ++j) std::swap(own[j], own[pivots->data_as<int32_t>()[i * k + j] - 1]);
  }
  return order;
}

}  // namespace shim::linalg
