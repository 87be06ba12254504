#pragma once
// c10::Scalar.
#include <shim/types.h>

namespace c10 {

// A number that keeps whether it is an int, a double, a bool or complex.
class Scalar {
 public:
  Scalar() : Scalar(int64_t(0)) {}
  template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0> Scalar(T v) {
    cell_ = {SHIM_INT, 0, {int64_t(v)}, 0};
  }
  template <class T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0> Scalar(T v) {
    cell_ = {SHIM_BOOL, 0, {int64_t(v)}, 0};
  }
  Scalar(double v) : Scalar(v, SHIM_DOUBLE) {}
  Scalar(float v) : Scalar(double(v)) {}
  Scalar(Half v) : Scalar(double(float(v))) {}
  Scalar(BFloat16 v) : Scalar(double(float(v))) {}
  template <class T> Scalar(complex<T> v) : Scalar(double(v.real_), SHIM_COMPLEX) { cell_.im = double(v.imag_); }
  template <class T> Scalar(std::complex<T> v) : Scalar(complex<T>(v)) {}
  explicit Scalar(const ShimCell& cell) : cell_(cell) {}
  bool isIntegral(bool with_bool) const { return cell_.tag == SHIM_INT || (with_bool && isBoolean()); }
  bool isFloatingPoint() const { return cell_.tag == SHIM_DOUBLE; }
  bool isComplex() const { return cell_.tag == SHIM_COMPLEX; }
  bool isBoolean() const { return cell_.tag == SHIM_BOOL; }
  template <class T> T to() const {
    if constexpr (std::is_constructible_v<std::complex<double>, T> && !std::is_convertible_v<T, double>)  // complex
      return T(typename T::value_type(real()), typename T::value_type(isComplex() ? cell_.im : 0));
    else if constexpr (std::is_same_v<T, bool>)
      return real() != 0;
    else {
      TORCH_CHECK(!isComplex() || cell_.im == 0, "value cannot be converted to type without overflow");
      return isFloatingPoint() || isComplex() ? T(cell_.d) : T(cell_.i);
    }
  }
  int64_t toLong() const { return to<int64_t>(); }
  int toInt() const { return to<int>(); }
  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  bool toBool() const { return to<bool>(); }
  template <class T> bool equal(T v) const {
    return isBoolean() == std::is_same_v<T, bool> && !(isComplex() && cell_.im != 0) && real() == double(v);
  }
  Half toHalf() const { return Half(to<float>()); }
  ScalarType type() const {
    return isComplex() ? kComplexDouble : isFloatingPoint() ? kDouble : isBoolean() ? kBool : kLong;
  }
  Scalar operator-() const {
    ShimCell c = cell_;
    isFloatingPoint() || isComplex() ? void(c.d = -c.d) : void(c.i = -c.i);
    c.im = -c.im;
    return Scalar(c);
  }
  const ShimCell& cell() const { return cell_; }

 private:
  Scalar(double v, uint32_t tag) {
    cell_.tag = tag;
    cell_.n = 0;
    cell_.d = v;
    cell_.im = 0;
  }
  double real() const { return isFloatingPoint() || isComplex() ? cell_.d : double(cell_.i); }
  ShimCell cell_;
};
static_assert(sizeof(Scalar) == sizeof(ShimCell), "an array of Scalar is one of cells");
inline std::ostream& operator<<(std::ostream& out, const Scalar& s) {
  return s.isFloatingPoint() ? out << s.toDouble()
         : s.isBoolean()     ? out << (s.toBool() ? "true" : "false")
                             : out << s.toLong();
}

}  // namespace c10
