#include "cpu/row_scalar.h"

#include <cstring>

#include "cpu/binary_functors.h"
#include "cpu/kernel_table.h"

namespace shim {
namespace {

template <class F> struct OfNumber {  // the number comes first
  template <class T> static T f(T x, T k) { return F::f(k, x); }
};

template <class F, class T> SHIM_CLONES void scalar_loop(const T* x, T k, T* y, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = F::f(x[i], k);
}
template <class F, class T> void with_scalar(char* out, const char* row, const char* number, int64_t n) {
  scalar_loop<F>(reinterpret_cast<const T*>(row), *reinterpret_cast<const T*>(number), reinterpret_cast<T*>(out), n);
}

struct LoopsWithNumber {
  const char* op;
  RowScalar after[2], first[2];  // float, double
};
template <class F, class First> constexpr LoopsWithNumber with_number(const char* op) {
  return {op, {with_scalar<F, float>, with_scalar<F, double>}, {with_scalar<First, float>, with_scalar<First, double>}};
}
constexpr LoopsWithNumber kWithNumber[] = {with_number<Add, Add>("add"), with_number<Sub, OfNumber<Sub>>("sub"),
    with_number<Mul, Mul>("mul"), with_number<Div, OfNumber<Div>>("div")};

}  // namespace

RowScalar row_scalar(const char* op, bool number_first, DType t) {
  if (t != DType::f32 && t != DType::f64) return nullptr;
  for (const LoopsWithNumber& n : kWithNumber)
    if (!std::strcmp(n.op, op)) return (number_first ? n.first : n.after)[t == DType::f64];
  return nullptr;
}

}  // namespace shim
