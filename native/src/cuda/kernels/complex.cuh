#pragma once
// Arithmetic and functions of complex numbers.
#include "cuda/kernels/types.cuh"

template <class R> __device__ inline Complex<R> operator-(Complex<R> x) { return {-x.real, -x.imag}; }
template <class R> __device__ inline Complex<R> operator+(Complex<R> a, Complex<R> b) {
  return {a.real + b.real, a.imag + b.imag};
}
template <class R> __device__ inline Complex<R> operator-(Complex<R> a, Complex<R> b) {
  return {a.real - b.real, a.imag - b.imag};
}
template <class R> __device__ inline Complex<R> operator*(Complex<R> a, Complex<R> b) {
  return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}
// By the larger part, so that no square overflows; as on the CPU.
template <class R> __device__ inline Complex<R> operator/(Complex<R> a, Complex<R> b) {
  const R re = fabs(b.real), im = fabs(b.imag), most = re > im ? re : im, scale = R(1) / most;
  if (most == R(0) && re == R(0)) return {a.real / most, a.imag / most};  // not of a part that is no number
  if (isinf(most)) {                                                      // what is finite gives 0
    const R ratio = re >= im ? b.imag / b.real : b.real / b.imag;
    const R part = R(1) / (re >= im ? b.real + b.imag * ratio : b.real * ratio + b.imag);
    if (re >= im) return {(a.real + a.imag * ratio) * part, (a.imag - a.real * ratio) * part};
    return {(a.real * ratio + a.imag) * part, (a.imag * ratio - a.real) * part};
  }
  const R c = b.real * scale, d = b.imag * scale, x = a.real * scale, y = a.imag * scale, size = c * c + d * d;
  return {(x * c + y * d) / size, (y * c - x * d) / size};
}
template <class R> __device__ inline bool operator==(Complex<R> a, Complex<R> b) {
  return a.real == b.real && a.imag == b.imag;
}
template <class R> __device__ inline bool operator!=(Complex<R> a, Complex<R> b) { return !(a == b); }
template <class R> __device__ inline bool isinf(Complex<R> x) { return isinf(x.real) || isinf(x.imag); }
template <class R> __device__ inline bool isfinite(Complex<R> x) { return isfinite(x.real) && isfinite(x.imag); }

template <class R> __device__ inline Complex<R> exp(Complex<R> x) {
  if (x.imag == R(0)) return {exp(x.real), x.imag};
  if (isinf(x.real) && (x.real < R(0) || !isfinite(x.imag)))
    return {x.real < R(0) ? R(0) : x.real, x.real < R(0) ? R(0) : x.imag - x.imag};
  const R most = sizeof(R) == 8 ? R(709) : R(88), half = R(0.5) * x.real, c = cos(x.imag), s = sin(x.imag);
  if (x.real > most) return {exp(half) * c * exp(half), exp(half) * s * exp(half)};
  const R size = exp(x.real);
  return {size * c, size * s};
}
template <class R> __device__ inline Complex<R> log(Complex<R> x) {
  return {log(hypot(x.real, x.imag)), atan2(x.imag, x.real)};
}
template <class R> __device__ inline Complex<R> sqrt(Complex<R> x) {
  if (x.real == R(0) && x.imag == R(0)) return {R(0), x.imag};
  if (isinf(x.imag)) return {fabs(x.imag), x.imag};
  if (isinf(x.real))
    return x.real > R(0) ? Complex<R>(x.real, x.imag == x.imag ? copysign(R(0), x.imag) : x.imag)
                         : Complex<R>(x.imag == x.imag ? R(0) : x.imag, copysign(x.real, x.imag));
  const R root = sqrt(R(0.5) * (fabs(x.real) + hypot(x.real, x.imag)));
  if (x.real < R(0)) return {fabs(x.imag) / (R(2) * root), copysign(root, x.imag)};
  return {root, x.imag / (R(2) * root)};
}
template <class R> __device__ inline Complex<R> rsqrt(Complex<R> x) { return Complex<R>(R(1)) / sqrt(x); }
template <class R> __device__ inline Complex<R> pow(Complex<R> a, Complex<R> b) {
  return b == Complex<R>(R(0.5)) ? sqrt(a) : exp(b * log(a));
}
// What is 0 times what is infinite or no number is 0.
template <class R> __device__ inline R times(R a, R b) {
  return a == R(0) || b == R(0) ? copysign(R(0), a) * copysign(R(1), b) : a * b;
}
template <class R> __device__ inline Complex<R> sin(Complex<R> x) {
  return {times(sin(x.real), cosh(x.imag)), times(cos(x.real), sinh(x.imag))};
}
template <class R> __device__ inline Complex<R> cos(Complex<R> x) {
  return {times(cos(x.real), cosh(x.imag)), -times(sin(x.real), sinh(x.imag))};
}
template <class R> __device__ inline Complex<R> sinh(Complex<R> x) {
  return {times(sinh(x.real), cos(x.imag)), times(cosh(x.real), sin(x.imag))};
}
template <class R> __device__ inline Complex<R> cosh(Complex<R> x) {
  return {times(cosh(x.real), cos(x.imag)), times(sinh(x.real), sin(x.imag))};
}
template <class R> __device__ inline Complex<R> tanh(Complex<R> x) {
  if (fabs(x.real) > R(20))
    return {copysign(R(1), x.real), times<R>(exp(R(-2) * fabs(x.real)), R(2) * sin(R(2) * x.imag))};
  const R a = sinh(x.real), b = cos(x.imag),
          size = a * a + b * b;  // a sum of squares: exact to the last bits near poles
  return {a * cosh(x.real) / size, b * sin(x.imag) / size};
}
template <class R> __device__ inline Complex<R> tan(Complex<R> x) {
  const Complex<R> turned = tanh(Complex<R>(-x.imag, x.real));
  return {turned.imag, -turned.real};
}
template <class R> __device__ inline Complex<R> scaled(Complex<R> x, R by) { return {x.real * by, x.imag * by}; }
template <class R> __device__ inline Complex<R> exp2(Complex<R> x) { return exp(scaled(x, R(0.69314718055994530942))); }
template <class R> __device__ inline Complex<R> log2(Complex<R> x) { return scaled(log(x), R(1.44269504088896340736)); }
template <class R> __device__ inline Complex<R> log10(Complex<R> x) {
  return scaled(log(x), R(0.43429448190325182765));
}
template <class R> __device__ inline Complex<R> log1p(Complex<R> x) {
  const Complex<R> one_more(R(1) + x.real, x.imag), of_it = log(one_more);
  if (!(fabs(x.real) < R(0.5) && fabs(x.imag) < R(0.5))) return of_it;
  return {R(0.5) * log1p(x.real * (R(2) + x.real) + x.imag * x.imag), of_it.imag};
}
