#pragma once
// c10::complex: two numbers side by side, aligned as a pair, on the host and on the device.
#include <shim/half.h>

namespace c10 {

template <class T> struct alignas(sizeof(T) * 2) complex {
  using value_type = T;
  T real_ = T(0), imag_ = T(0);
  constexpr complex() = default;
  C10_HOST_DEVICE constexpr complex(const T& real, const T& imag = T()) : real_(real), imag_(imag) {}
  template <class U>
  C10_HOST_DEVICE explicit constexpr complex(const std::complex<U>& o) : real_(T(o.real())), imag_(T(o.imag())) {}
  template <class U, std::enable_if_t<(sizeof(U) <= sizeof(T)), int> = 0>
  C10_HOST_DEVICE constexpr complex(const complex<U>& o) : real_(T(o.real_)), imag_(T(o.imag_)) {}
  template <class U, std::enable_if_t<(sizeof(U) > sizeof(T)), int> = 0>
  C10_HOST_DEVICE explicit constexpr complex(const complex<U>& o) : real_(T(o.real_)), imag_(T(o.imag_)) {}
  template <class U> explicit operator std::complex<U>() const { return {U(real_), U(imag_)}; }
  C10_HOST_DEVICE constexpr T real() const { return real_; }
  C10_HOST_DEVICE constexpr T imag() const { return imag_; }
  C10_HOST_DEVICE constexpr void real(T v) { real_ = v; }
  C10_HOST_DEVICE constexpr void imag(T v) { imag_ = v; }
  C10_HOST_DEVICE constexpr explicit operator bool() const { return real_ != T(0) || imag_ != T(0); }
  C10_HOST_DEVICE constexpr complex& operator=(T v) { return real_ = v, imag_ = T(0), *this; }
  C10_HOST_DEVICE constexpr complex& operator+=(T v) { return real_ += v, *this; }
  C10_HOST_DEVICE constexpr complex& operator-=(T v) { return real_ -= v, *this; }
  C10_HOST_DEVICE constexpr complex& operator*=(T v) { return real_ *= v, imag_ *= v, *this; }
  C10_HOST_DEVICE constexpr complex& operator/=(T v) { return real_ /= v, imag_ /= v, *this; }
  C10_HOST_DEVICE constexpr complex& operator+=(const complex& o) { return real_ += o.real_, imag_ += o.imag_, *this; }
  C10_HOST_DEVICE constexpr complex& operator-=(const complex& o) { return real_ -= o.real_, imag_ -= o.imag_, *this; }
  C10_HOST_DEVICE constexpr complex& operator*=(const complex& o) {
    const T r = real_ * o.real_ - imag_ * o.imag_;
    imag_ = real_ * o.imag_ + imag_ * o.real_;
    return real_ = r, *this;
  }
  C10_HOST_DEVICE constexpr complex& operator/=(const complex& o) {  // Smith's way: no square overflows
    const T c = o.real_, d = o.imag_, absolute_c = c < T(0) ? -c : c, absolute_d = d < T(0) ? -d : d;
    const bool first = absolute_c >= absolute_d;
    const T ratio = first ? d / c : c / d, below = first ? c + d * ratio : d + c * ratio;
    const T r = first ? (real_ + imag_ * ratio) / below : (real_ * ratio + imag_) / below;
    imag_ = first ? (imag_ - real_ * ratio) / below : (imag_ * ratio - real_) / below;
    return real_ = r, *this;
  }
};

#define SHIM_COMPLEX_OPERATOR(op)                                                                          \
  template <class T> C10_HOST_DEVICE constexpr complex<T> operator op(complex<T> a, const complex<T>& b) { \
    return a op## = b;                                                                                     \
  }                                                                                                        \
  template <class T> C10_HOST_DEVICE constexpr complex<T> operator op(complex<T> a, const T & b) {         \
    return a op## = b;                                                                                     \
  }                                                                                                        \
  template <class T> C10_HOST_DEVICE constexpr complex<T> operator op(const T & a, const complex<T>& b) {  \
    complex<T> made(a);                                                                                    \
    return made op## = b;                                                                                  \
  }                                                                                                        \
  template <class T, class I, std::enable_if_t<std::is_integral_v<I>, int> = 0>                            \
  C10_HOST_DEVICE constexpr complex<T> operator op(complex<T> a, const I & b) {                            \
    return a op## = T(b);                                                                                  \
  }                                                                                                        \
  template <class T, class I, std::enable_if_t<std::is_integral_v<I>, int> = 0>                            \
  C10_HOST_DEVICE constexpr complex<T> operator op(const I & a, const complex<T>& b) {                     \
    return T(a) op b;                                                                                      \
  }
SHIM_COMPLEX_OPERATOR(+)
SHIM_COMPLEX_OPERATOR(-)
SHIM_COMPLEX_OPERATOR(*)
SHIM_COMPLEX_OPERATOR(/)
template <class T> C10_HOST_DEVICE constexpr complex<T> operator+(const complex<T>& a) { return a; }
template <class T> C10_HOST_DEVICE constexpr complex<T> operator-(const complex<T>& a) { return {-a.real_, -a.imag_}; }
template <class T> C10_HOST_DEVICE constexpr bool operator==(const complex<T>& a, const complex<T>& b) {
  return a.real_ == b.real_ && a.imag_ == b.imag_;
}
template <class T> C10_HOST_DEVICE constexpr bool operator!=(const complex<T>& a, const complex<T>& b) {
  return !(a == b);
}
template <class T> std::ostream& operator<<(std::ostream& out, const complex<T>& z) {
  return out << std::complex<double>(double(z.real_), double(z.imag_));
}

}  // namespace c10

namespace std {  // what sources call by its standard name
template <class T> C10_HOST_DEVICE constexpr T real(const c10::complex<T>& z) { return z.real_; }
template <class T> C10_HOST_DEVICE constexpr T imag(const c10::complex<T>& z) { return z.imag_; }
template <class T> C10_HOST_DEVICE constexpr c10::complex<T> conj(const c10::complex<T>& z) {
  return {z.real_, -z.imag_};
}
template <class T> C10_HOST_DEVICE T abs(const c10::complex<T>& z) { return ::hypot(z.real_, z.imag_); }
template <class T> C10_HOST_DEVICE T arg(const c10::complex<T>& z) { return ::atan2(z.imag_, z.real_); }
template <class T> C10_HOST_DEVICE constexpr T norm(const c10::complex<T>& z) {
  return z.real_ * z.real_ + z.imag_ * z.imag_;
}
}  // namespace std
