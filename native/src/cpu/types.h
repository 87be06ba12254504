#pragma once
// The C++ element types behind the dtypes, and the cast of one element as PyTorch does it.
#include <complex>
#include <type_traits>

#include "cpu/convert.h"

namespace shim {

struct ComplexHalf {
  Half re, im;
};
struct Bool {
  uint8_t v;
};

template <class T> struct is_complex_type : std::false_type {};
template <class T> struct is_complex_type<std::complex<T>> : std::true_type {};

template <class To, class From> inline To cast_element(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (std::is_same_v<From, Bool>)
    return cast_element<To>(uint8_t(x.v != 0));
  else if constexpr (std::is_same_v<From, ComplexHalf>)
    return cast_element<To>(std::complex<float>(to_float(x.re), to_float(x.im)));
  else if constexpr (NarrowFloat<From>)
    return cast_element<To>(to_float(x));
  else if constexpr (std::is_same_v<To, Bool>)
    return Bool{uint8_t(x != From(0))};
  else if constexpr (std::is_same_v<To, ComplexHalf>) {
    auto c = cast_element<std::complex<float>>(x);
    return ComplexHalf{to_half(c.real()), to_half(c.imag())};
  } else if constexpr (is_complex_type<From>::value) {
    if constexpr (is_complex_type<To>::value)
      return To(typename To::value_type(x.real()), typename To::value_type(x.imag()));
    else
      return cast_element<To>(x.real());
  } else if constexpr (is_complex_type<To>::value)
    return To(typename To::value_type(x), 0);
  else if constexpr (NarrowFloat<To>)
    return FromFloat<To>::make(float(x));
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (sizeof(To) == 8 && std::is_unsigned_v<To>)
      return x < 0 ? To(int64_t(x)) : To(x);
    else if constexpr (sizeof(To) >= 4 && std::is_signed_v<To>)
      return static_cast<To>(x);
    else if constexpr (std::is_same_v<To, uint8_t> || sizeof(To) >= 4)
      return To(int64_t(x));
    else
      return To(int32_t(x));  // both wrap as PyTorch's narrowing does on x86-64
  } else
    return static_cast<To>(x);
}

// run(T) for an unsigned T of as many bytes: what only moves elements asks no more of a type. No other size: nothing, R().
template <class R, class F> R of_size(size_t bytes, F&& run) {
  switch (bytes) {
    case 1: return run(uint8_t{});
    case 2: return run(uint16_t{});
    case 4: return run(uint32_t{});
    case 8: return run(uint64_t{});
    default: return R();
  }
}

// f of an element of what is computed in: double for float64, else float.
template <class F> void by_dtype(DType t, F&& f) { t == DType::f64 ? f(double{}) : f(float{}); }

}  // namespace shim
