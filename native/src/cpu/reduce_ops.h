#pragma once
// What reductions do with two elements.
#include <complex>
#include <limits>

#include "cpu/convert.h"
#include "cpu/kernel_table.h"
#include "cpu/loops.h"

// The loops of reductions. The input is seen as rows to be reduced one by one (contiguous) or added up on each other (columns).

namespace shim {

namespace {

struct SumOp {
  template <class T> static T zero() { return T(0); }
  template <class T> static T f(T a, T b) { return T(a + b); }
};
struct NanSumOp : SumOp {};  // of what is read a NaN counts as zero
struct ProdOp {
  template <class T> static T zero() { return T(1); }
  template <class T> static T f(T a, T b) { return T(a * b); }
  template <class T>
  static std::complex<T> f(std::complex<T> a, std::complex<T> b) {  // infinities are not put right, as in PyTorch
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
};
struct MaxOp {
  template <class T> static T zero() {
    if constexpr (std::is_floating_point_v<T>)
      return -std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::lowest();
  }
  template <class T> static T f(T a, T b) { return a != a ? a : b != b ? b : a > b ? a : b; }
};
struct MinOp {
  template <class T> static T zero() {
    if constexpr (std::is_floating_point_v<T>)
      return std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::max();
  }
  template <class T> static T f(T a, T b) { return a != a ? a : b != b ? b : a < b ? a : b; }
};

}  // namespace

}  // namespace shim
