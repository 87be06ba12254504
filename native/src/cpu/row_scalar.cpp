#include "cpu/row_scalar.h"

#include <cstring>

#include "cpu/kernel_table.h"

namespace shim {
namespace {

struct Add {
  template <class T> static T f(T x, T k) { return x + k; }
};
struct Sub {
  template <class T> static T f(T x, T k) { return x - k; }
};
struct SubFrom {
  template <class T> static T f(T x, T k) { return k - x; }
};
struct Mul {
  template <class T> static T f(T x, T k) { return x * k; }
};
struct Div {
  template <class T> static T f(T x, T k) { return x / k; }
};
struct DivBy {
  template <class T> static T f(T x, T k) { return k / x; }
};

template <class F, class T> SHIM_CLONES void scalar_loop(const T* x, T k, T* y, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = F::f(x[i], k);
}
template <class F, class T> void with_scalar(char* out, const char* row, const char* number, int64_t n) {
  scalar_loop<F>(reinterpret_cast<const T*>(row), *reinterpret_cast<const T*>(number), reinterpret_cast<T*>(out), n);
}

struct Named {
  const char* op;
  RowScalar after[2], first[2];  // float, double
};
template <class F, class First> constexpr Named named(const char* op) {
  return {op, {with_scalar<F, float>, with_scalar<F, double>}, {with_scalar<First, float>, with_scalar<First, double>}};
}
constexpr Named kNamed[] = {
    named<Add, Add>("add"), named<Sub, SubFrom>("sub"), named<Mul, Mul>("mul"), named<Div, DivBy>("div")};

}  // namespace

RowScalar row_scalar(const char* op, bool number_first, DType t) {
  if (t != DType::f32 && t != DType::f64) return nullptr;
  for (const Named& n : kNamed)
    if (!std::strcmp(n.op, op)) return (number_first ? n.first : n.after)[t == DType::f64];
  return nullptr;
}

}  // namespace shim
