#pragma once
// What the gradients of a normalized row are sums of.
#include <cstdint>
#include <cstring>

#include "cpu/kernel_table.h"
#include "cpu/vectors.h"

namespace shim {
namespace {

constexpr int kLanes = 16;

template <class T> struct RowSums {
  T dn = 0, dn_normal = 0;
};
// Sums of g w and g w (x - m) r over columns, and what weight and bias get of the row where they are asked for. V: what is loaded at once.
template <bool weighted, bool of_weight, bool of_bias, class V, class T>
__attribute__((always_inline)) inline RowSums<T> sums_of_row(
    const T* g, const T* x, T m, T r, const T* w, T* dw, T* db, int64_t n) {
  constexpr int kWide = sizeof(V) / sizeof(T), kVectors = kLanes / kWide;
  V first[kVectors] = {}, second[kVectors] = {};
  const auto at = [&]<class L>(int64_t i, L* dn_sum, L* normal_sum) __attribute__((always_inline)) {
    L of, normal, dn, other;
    load_vector(of, g + i), load_vector(normal, x + i);
    normal = (normal - m) * r, dn = of;
    if (weighted) load_vector(other, w + i), dn = of * other;
    *dn_sum += dn;
    *normal_sum += dn * normal;
    if (of_weight) load_vector(other, dw + i), store_vector(L(other + of * normal), dw + i);
    if (of_bias) load_vector(other, db + i), store_vector(L(other + of), db + i);
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
#pragma GCC unroll 4
    for (int k = 0; k < kVectors; ++k) at(i + k * kWide, &first[k], &second[k]);
  T dn[kLanes], dn_normal[kLanes];
  std::memcpy(dn, first, sizeof(dn)), std::memcpy(dn_normal, second, sizeof(dn_normal));
  for (; i < n; ++i) at(i, &dn[0], &dn_normal[0]);
  RowSums<T> s;
  for (int k = 0; k < kLanes; ++k) s.dn += dn[k], s.dn_normal += dn_normal[k];
  return s;
}
// A bias without a weight is rare enough for a pass of its own. dw: only with w.
template <class V, class T>
__attribute__((always_inline)) inline RowSums<T> row_sums_by(
    const T* g, const T* x, T m, T r, const T* w, T* dw, T* db, int64_t n) {
  if (dw && db) return sums_of_row<true, true, true, V>(g, x, m, r, w, dw, db, n);
  if (dw) return sums_of_row<true, true, false, V>(g, x, m, r, w, dw, db, n);
  for (int64_t i = 0; db && i < n; ++i) db[i] += g[i];
  return w ? sums_of_row<true, false, false, V>(g, x, m, r, w, dw, db, n)
           : sums_of_row<false, false, false, V>(g, x, m, r, w, dw, db, n);
}
#ifdef SHIM_WIDE_TARGET
template <class T>
SHIM_WIDE_TARGET RowSums<T> row_sums_wide(const T* g, const T* x, T m, T r, const T* w, T* dw, T* db, int64_t n) {
  return row_sums_by<typename VectorsOf<T>::Whole>(g, x, m, r, w, dw, db, n);
}
#endif
template <class T>
SHIM_NARROW_CLONES RowSums<T> row_sums_half(const T* g, const T* x, T m, T r, const T* w, T* dw, T* db, int64_t n) {
  return row_sums_by<typename VectorsOf<T>::Half>(g, x, m, r, w, dw, db, n);
}
template <class T> RowSums<T> row_sums(const T* g, const T* x, T m, T r, const T* w, T* dw, T* db, int64_t n) {
#ifdef SHIM_WIDE_TARGET
  if (has_avx512()) return row_sums_wide(g, x, m, r, w, dw, db, n);
#endif
  return row_sums_half(g, x, m, r, w, dw, db, n);
}
}  // namespace
}  // namespace shim
