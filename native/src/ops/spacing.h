#pragma once
// How linspace steps from one end to the other: from both ends to the middle, each product and sum rounded once.
#include <type_traits>

#include "ops/kernels.h"

namespace shim {

// Integers have whole ends, and are stepped between in double.
template <class T> struct Spacing {
  using Step = std::conditional_t<std::is_integral_v<T>, double, T>;
  Step first, last, step;
};

// RuntimeError where the dtype of T cannot hold an end.
template <class T> Spacing<T> spacing_of(Scalar start, Scalar end, int64_t steps, DType t) {
  using Step = typename Spacing<T>::Step;
  const auto number = [&](Scalar s) {
    check_fits(s, t);
    if constexpr (std::is_integral_v<T>)
      if (s.type != Scalar::Float) return Step(T(s.i));
    return Step(T(s.to_double()));
  };
  const Step first = number(start), last = number(end);
  return {first, last, (last - first) / Step(steps - 1)};
}

// f.template operator()<T>() for the dtypes that linspace has a loop for.
template <class R, class F> R for_spaced_dtype(DType t, const F& f, R other) {
  switch (t) {
    case DType::f32: return f.template operator()<float>();
    case DType::f64: return f.template operator()<double>();
    case DType::u8: return f.template operator()<uint8_t>();
    case DType::i8: return f.template operator()<int8_t>();
    case DType::i16: return f.template operator()<int16_t>();
    case DType::i32: return f.template operator()<int32_t>();
    case DType::i64: return f.template operator()<int64_t>();
    default: return other;
  }
}

}  // namespace shim
