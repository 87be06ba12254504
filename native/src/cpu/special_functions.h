#pragma once
// Special functions of one number, in double: what torch.special has beyond the C library. The ends and NaN are PyTorch's.
#include <cstdint>
#include <span>

#include "cpu/formulas.h"
#include "ops/kernel.h"

namespace shim::special {

// special_bessel.cpp; of order 0 or 1
double bessel_j(double x, int order);
double bessel_y(double x, int order);
double modified_i(double x, int order, bool scaled);  // scaled: times e^-|x|
double modified_k(double x, int order, bool scaled);  // scaled: times e^x
double airy_ai(double x);

// special_gamma.cpp
double gamma_incomplete(double a, double x, bool upper);  // regularised: P(a, x), or Q(a, x)
double zeta(double s, double q);                          // Hurwitz's
double erfcx(double x);                                   // e^(x^2) erfc(x)
double log_ndtr(double x);
double ndtri(double p);  // the normal quantile

}  // namespace shim::special

namespace shim {

// Pointwise operators made of them, for float32 and float64 alone: PyTorch refuses most of them to others. special_formulas.cpp
std::span<const PointwiseFormula> special_formulas();
Outcome<Tensor> polygamma(int64_t n, const Tensor& x);

}  // namespace shim
