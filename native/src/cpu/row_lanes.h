#pragma once
// Sums and extremes of rows in 16 lanes: the order of additions, and so the last bit, is the same wherever they are used.
// Each file compiles them for itself, since functions made for several processors cannot be shared.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "cpu/kernel_table.h"
#include "cpu/vector_math.h"

namespace shim {
namespace {

constexpr int kLanes = 16;

template <class T, class F> __attribute__((always_inline)) inline T lane_sum(int64_t n, F f) {
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) lanes[k] += f(i + k);
  for (; i < n; ++i) lanes[0] += f(i);
  T sum = 0;
  for (T l : lanes) sum += l;
  return sum;
}

template <class T> SHIM_MATH_CLONES T largest(const T* x, int64_t n) {
  T lanes[kLanes];
  for (T& l : lanes) l = -std::numeric_limits<T>::infinity();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) lanes[k] = x[i + k] > lanes[k] ? x[i + k] : lanes[k];
  for (; i < n; ++i) lanes[0] = x[i] > lanes[0] ? x[i] : lanes[0];
  return *std::max_element(lanes, lanes + kLanes);
}

// Of exp(x - m), where m is no less than any of them. A NaN among x reaches the sum.
template <class T> SHIM_MATH_CLONES T sum_of_exponentials(const T* x, T m, int64_t n) {
  return lane_sum<T>(n, [=](int64_t i) { return exp_below(x[i] - m); });
}

}  // namespace
}  // namespace shim
