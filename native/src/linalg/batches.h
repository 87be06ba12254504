#pragma once
// What the files of linalg/ share: batches of matrices by columns, and calls with a work area whose size LAPACK tells.
#include <algorithm>
#include <optional>
#include <vector>

#include "core/interpreter_lock.h"
#include "core/tensor.h"
#include "cpu/parallel.h"
#include "cpu/small_lu.h"
#include "linalg/lapack.h"
#include "ops/kernel.h"

namespace shim::linalg {

using lapack::Functions;
using lapack::Int;
using lapack::Real;

constexpr NotMine kNoMatrices{"no matrices, or empty ones"}, kNotSquare{"matrices that are not square, or empty ones"},
    kUnlike{"dtypes or shapes that do not fit together"}, kFailed{"an algorithm that failed"};

// While it lives, other threads run Python: matrices of so many elements keep LAPACK busy for long.
class LongWork {
 public:
  explicit LongWork(const Tensor& a) {
    if (a->numel() >= 4096) others_run_.emplace();
  }

 private:
  std::optional<Unlocked> others_run_;
};

inline Dims lead_of(const TensorImpl& t, int inner = 2) { return {t.sizes().begin(), t.sizes().end() - inner}; }
inline int64_t rows_of(const TensorImpl& t) { return t.sizes()[size_t(t.dim() - 2)]; }
inline int64_t cols_of(const TensorImpl& t) { return t.sizes()[size_t(t.dim() - 1)]; }
inline Dims join(Dims lead, std::initializer_list<int64_t> inner) {
  lead.insert(lead.end(), inner);
  return lead;
}
inline bool some_matrices(const TensorImpl& t) { return t.dim() >= 2 && t.numel() > 0 && t.device().is_cpu(); }
inline bool square(const TensorImpl& t) { return some_matrices(t) && rows_of(t) == cols_of(t); }
bool common_lead(const Dims& a, const Dims& b, Dims* to);  // false: they cannot be broadcast

// Memory for matrices by columns: the last two strides are (1, rows).
inline Tensor by_columns(const Dims& lead, int64_t rows, int64_t cols, DType dtype) {
  Tensor t = empty(join(lead, {cols, rows}), dtype, Device{});
  return transpose(*t, t->dim() - 2, t->dim() - 1);
}
inline Tensor copied_by_columns(const Tensor& from, const Dims& lead) {  // broadcast to `lead`
  Tensor t = by_columns(lead, rows_of(*from), cols_of(*from), from->dtype());
  copy_(t, from);
  return t;
}

// Where the i-th matrix (inner = 1: vector) of a batch begins, seen as one of the batch `lead`; in elements.
class BatchOffsets {
 public:
  BatchOffsets(const TensorImpl& t, const Dims& lead, int inner = 2);
  int64_t operator[](int64_t i) const;

 private:
  std::vector<std::pair<int64_t, int64_t>> dims_;  // size and stride, the last first
};

// Matrices that LAPACK may read where they are, by columns or (`turned`) by rows; others are copied.
struct Readable {
  Tensor t;
  bool turned = false;
  Int ld = 1;
  explicit Readable(const Tensor& from);
};

// Up to this many rows our own way through triangular systems is faster than the library's, which copies triangles first.
constexpr int64_t kOwnRows = 512;
template <class S>
Triangle<S> triangle_at(
    const S* data, int64_t down, int64_t right, bool upper, bool unit = false, bool conjugated = false) {
  return {data, down, right, !upper, unit, conjugated};
}
// f(matrix, first column, columns there are, right sides) for groups of the columns of matrices of n rows.
template <class S, class F> void each_columns(int64_t matrices, int64_t n, int64_t count, F&& f) {
  constexpr int64_t kWide = Columns<S>::kLanes;
  const int64_t groups = (count + kWide - 1) / kWide;
  parallel_for(matrices * groups, std::max<int64_t>(1, kGrain / (4 * n * n)), [&](int64_t begin, int64_t end) {
    Columns<S> columns(n);
    for (int64_t i = begin; i < end; ++i)
      f(i / groups, i % groups * kWide, std::min(kWide, count - i % groups * kWide), columns);
  });
}

// f(T()) for the dtypes that LAPACK has, if the library is there.
template <class R, class F> Outcome<R> by_type(DType dtype, F&& f) {
  const auto run = [&](auto zero) -> Outcome<R> {
    if (!lapack::functions<decltype(zero)>()) return NotMine{"no LAPACK"};
    return f(zero);
  };
  switch (dtype) {
    case DType::f32: return run(float());
    case DType::f64: return run(double());
    case DType::c64: return run(std::complex<float>());
    case DType::c128: return run(std::complex<double>());
    default: return NotMine{"a dtype that LAPACK lacks"};
  }
}

inline int32_t status(const Int& info) { return lapack::number_at(&info, 0); }

// call(work, size): once to ask for the size, which the first element then tells, then with that much.
template <class T> class Work {
 public:
  template <class F> explicit Work(F&& ask) {
    T wanted{};
    ask(&wanted, Int(-1));
    size_ = std::max<Int>(1, Int(std::real(wanted)));
    area_ = std::make_unique_for_overwrite<T[]>(size_t(size_));
  }
  T* data() { return area_.get(); }
  const Int* size() const { return &size_; }

 private:
  Int size_ = 1;
  std::unique_ptr<T[]> area_;
};

template <class T> T conjugate(T v) {
  if constexpr (lapack::is_complex<T>)
    return std::conj(v);
  else
    return v;
}

}  // namespace shim::linalg
