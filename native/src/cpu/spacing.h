#pragma once
// How linspace steps from one end to the other: from both ends to the middle, each product and sum rounded once.
#include <cmath>
#include <type_traits>

#include "cpu/convert.h"
#include "ops/kernels.h"

namespace shim {

// Integers have whole ends, and are stepped between in double; narrow floats are stepped between in themselves, held as float.
template <class T> struct Spacing {
  using Step = std::conditional_t<std::is_integral_v<T>, double, std::conditional_t<NarrowFloat<T>, float, T>>;
  Step first, last, step;

  static Step rounded(Step x) {
    if constexpr (NarrowFloat<T>)
      return to_float(FromFloat<T>::make(x));
    else
      return x;
  }
  T at(int64_t i, int64_t steps) const {
    const bool forward = i < steps / 2;
    const Step from = forward ? first : last, by = forward ? step : -step,
               count = rounded(Step(forward ? i : steps - 1 - i));
    if constexpr (NarrowFloat<T>)
      return FromFloat<T>::make(from + rounded(by * count));
    else
      return T(std::fma(by, count, from));
  }
};

// RuntimeError where the dtype of T cannot hold an end.
template <class T> Spacing<T> spacing_of(Scalar start, Scalar end, int64_t steps, DType t) {
  using Space = Spacing<T>;
  using Step = typename Space::Step;
  const auto number = [&](Scalar s) {
    check_fits(s, t);
    if constexpr (std::is_integral_v<T>)
      return s.type == Scalar::Float ? Step(T(s.f)) : Step(T(s.i));
    else
      return Space::rounded(Step(s.to_double()));
  };
  const Step first = number(start), last = number(end), count = Space::rounded(Step(steps - 1));
  return {first, last, Space::rounded(Space::rounded(last - first) / count)};
}

// f.template operator()<T>() for the dtypes that linspace has a loop for.
template <class R, class F> R for_spaced_dtype(DType t, const F& f, R other) {
  switch (t) {
    case DType::f16: return f.template operator()<Half>();
    case DType::bf16: return f.template operator()<BFloat16>();
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
