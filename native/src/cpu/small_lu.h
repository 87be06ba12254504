#pragma once
// LU factors of small matrices, and triangular systems with several right-hand sides, a vector's width of columns at a time: each element of
// the triangle is loaded once for all of them.
#include <complex>
#include <cstdint>
#include <memory>

namespace shim {

// Element (i, j) at data[i * down + j * right], S one of float, double and their complex numbers.
template <class S> struct Triangle {
  const S* data;
  int64_t down, right;
  bool lower, unit, conjugated;
  Triangle transposed() const { return {data, right, down, !lower, unit, conjugated}; }
};

template <class S> struct PartOf {
  using type = S;
};
template <class T> struct PartOf<std::complex<T>> {
  using type = T;
};

template <class S> class Columns {
 public:
  using T = typename PartOf<S>::type;
  static constexpr int64_t kLanes = 64 / sizeof(T), kParts = sizeof(S) / sizeof(T);
  explicit Columns(int64_t rows) : rows_(rows), memory_(new Line[size_t(rows * kParts)]) {}
  // Row i is row order[i] of what is read, or i without an order; the same in `write`.
  void read(const S* from, int64_t down, int64_t right, int64_t count, const int32_t* order = nullptr);
  void write(S* to, int64_t down, int64_t right, int64_t count, const int32_t* order = nullptr) const;
  void write_one(int64_t lane, S* to) const { write_lane(lane, 0, to, 1); }  // one column, its elements side by side
  void write_lane(int64_t lane, int64_t first, S* to, int64_t step) const;   // rows from `first` on
  void read_identity(int64_t first);  // columns `first`, first + 1, ... of the identity
  // t X = B in place. Of a lower triangle rows before `first` hold zeros, of an upper one they are not wanted.
  void solve(const Triangle<S>& t, int64_t first = 0);

 private:
  struct alignas(64) Line {
    T lanes[kLanes];
  };
  T* line(int64_t row) const { return memory_[size_t(row * kParts)].lanes; }
  int64_t rows_;
  std::unique_ptr<Line[]> memory_;
};

// The LU factors, with exchanges of rows, of a matrix (m, n) by columns, in place: pivots from 1, and as result the first pivot that is
// zero, from 1 (0: none), as LAPACK's getrf.
template <class S> int64_t eliminate(S* a, int64_t m, int64_t n, int32_t* pivots);

}  // namespace shim
