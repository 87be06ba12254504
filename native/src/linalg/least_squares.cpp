// Least squares by LAPACK's four drivers.
#include <cmath>
#include <limits>

#include "linalg/batches.h"
#include "linalg/linalg.h"

namespace shim::linalg {
namespace {

enum class Driver { gels, gelsy, gelsd, gelss };
Driver driver_of(std::string_view name) {
  return name == "gels"    ? Driver::gels
         : name == "gelsd" ? Driver::gelsd
         : name == "gelss" ? Driver::gelss
                           : Driver::gelsy;
}

// One batch of problems, each solved in place by the driver.
template <class T> class Problems {
 public:
  Problems(const Tensor& a, const Tensor& b, Int m, Int count, double rcond)
      : m_(m),
        n_(cols_of(*a)),
        count_(count),
        ld_(rows_of(*b)),
        a_(a->data_as<T>()),
        b_(b->data_as<T>()),
        rcond_(Real<T>(rcond)),
        integers_(size_t(std::max<Int>(n_, 1)), 0),
        reals_(size_t(2 * std::max<Int>(n_, 1))) {}

  // Asks `driver` how much it wants to work in.
  void prepare(Driver driver, Real<T>* values) {
    Int integers = 1;
    T wanted{};
    Real<T> reals{};
    if (driver == Driver::gelsd) {  // the only one that tells of its other areas, in their first elements
      size_ = -1;
      run_gelsd(0, values, &wanted, &reals, &integers);
      const Int k = std::min(m_, n_), levels = 32;
      integers_.assign(size_t(std::max<Int>(status(integers), k * (3 * levels + 11))) + 1, 0);
      if (lapack::is_complex<T>) reals_.assign(size_t(std::max<Int>(Int(reals), 1)) + 1, 0);
    } else {
      size_ = -1;
      run(driver, 0, values, &wanted);
      if (driver == Driver::gelss) reals_.assign(size_t(5 * std::max<Int>(std::min(m_, n_), 1)), 0);
    }
    size_ = std::max<Int>(1, Int(std::real(wanted)));
    work_.resize(size_t(size_));
  }

  // Solves the i-th; false where it failed.
  bool solve(Driver driver, int64_t i, Real<T>* values) {
    std::fill(integers_.begin(), integers_.end(), 0);  // gelsy: every column may move
    wrong_ = rank_ = 0;
    if (driver == Driver::gelsd)
      run_gelsd(i, values, work_.data(), reals_.data(), integers_.data());
    else
      run(driver, i, values, work_.data());
    return status(wrong_) == 0;
  }
  int64_t rank() const { return status(rank_); }
  // After gels, which only sees zeros on the diagonal of its triangular factor: whether rounding is all that keeps one from being zero.
  bool nearly_singular(int64_t i) {
    Real<T> least = std::numeric_limits<Real<T>>::infinity(), most = 0;
    for (Int j = 0; j < std::min(m_, n_); ++j) {
      const Real<T> size = std::abs(a(i)[j * m_ + j]);
      least = std::min(least, size);
      most = std::max(most, size);
    }
    return most > 0 && !(least > most * std::numeric_limits<Real<T>>::epsilon() * Real<T>(std::max(m_, n_)));
  }

 private:
  T* a(int64_t i) { return a_ + i * m_ * n_; }
  T* b(int64_t i) { return b_ + i * ld_ * count_; }

  void run(Driver driver, int64_t i, [[maybe_unused]] Real<T>* values, T* work) {
    const auto& lib = *lapack::functions<T>();
    if (driver == Driver::gels)
      return lib.gels("N", &m_, &n_, &count_, a(i), &m_, b(i), &ld_, work, &size_, &wrong_, 1);
    if constexpr (lapack::is_complex<T>) {
      if (driver == Driver::gelsy)
        lib.gelsy_complex(&m_, &n_, &count_, a(i), &m_, b(i), &ld_, integers_.data(), &rcond_, &rank_, work, &size_,
            reals_.data(), &wrong_);
      else
        lib.gelss_complex(
            &m_, &n_, &count_, a(i), &m_, b(i), &ld_, values, &rcond_, &rank_, work, &size_, reals_.data(), &wrong_);
    } else {
      if (driver == Driver::gelsy)
        lib.gelsy_plain(
            &m_, &n_, &count_, a(i), &m_, b(i), &ld_, integers_.data(), &rcond_, &rank_, work, &size_, &wrong_);
      else
        lib.gelss_plain(&m_, &n_, &count_, a(i), &m_, b(i), &ld_, values, &rcond_, &rank_, work, &size_, &wrong_);
    }
  }

  void run_gelsd(int64_t i, Real<T>* values, T* work, [[maybe_unused]] Real<T>* reals, Int* integers) {
    const auto& lib = *lapack::functions<T>();
    if constexpr (lapack::is_complex<T>)
      lib.gelsd_complex(
          &m_, &n_, &count_, a(i), &m_, b(i), &ld_, values, &rcond_, &rank_, work, &size_, reals, integers, &wrong_);
    else
      lib.gelsd_plain(
          &m_, &n_, &count_, a(i), &m_, b(i), &ld_, values, &rcond_, &rank_, work, &size_, integers, &wrong_);
  }

  Int m_, n_, count_, ld_, size_ = -1, rank_ = 0, wrong_ = 0;
  T *a_, *b_;
  Real<T> rcond_;
  std::vector<Int> integers_;
  std::vector<Real<T>> reals_;
  std::vector<T> work_;
};

}  // namespace

Outcome<Three> least_squares(const Tensor& a, const Tensor& b, double rcond, std::string_view name) {
  const LongWork others_run(a);
  const Driver driver = driver_of(name);
  if (!some_matrices(*a) || !some_matrices(*b) || a->dtype() != b->dtype() || rows_of(*a) != rows_of(*b))
    return kUnlike;
  Dims lead;
  if (!common_lead(lead_of(*a), lead_of(*b), &lead)) return kUnlike;
  return by_type<Three>(a->dtype(), [&](auto zero) -> Outcome<Three> {
    using T = decltype(zero);
    const Int m = rows_of(*a), n = cols_of(*a), count = cols_of(*b), k = std::min(m, n);
    const Tensor from = copied_by_columns(a, lead), all = by_columns(lead, std::max(m, n), count, a->dtype());
    T* rows = all->template data_as<T>();
    std::fill(rows, rows + all->numel(), T(0));
    copy_(narrow(*all, all->dim() - 2, 0, m), b);
    const bool ranks = driver != Driver::gels, values = driver == Driver::gelsd || driver == Driver::gelss;
    const Tensor rank = empty(ranks ? lead : Dims{0}, DType::i64, Device{}),
                 s = empty(values ? join(lead, {k}) : Dims{0}, to_real(a->dtype()), Device{});
    auto* to = s->template data_as<Real<T>>();
    Problems<T> problems(from, all, m, count, rcond);
    problems.prepare(driver, to);
    for (int64_t i = 0; i < product(lead); ++i) {
      if (!problems.solve(driver, i, values ? to + i * k : nullptr) ||
          (driver == Driver::gels && problems.nearly_singular(i)))
        return kFailed;
      if (ranks) rank->template data_as<int64_t>()[i] = problems.rank();
    }
    return Three{all, rank, s};
  });
}

}  // namespace shim::linalg
