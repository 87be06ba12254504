#pragma once
// Special functions of one text: the host compiles these headers, and NVRTC those parts of kernels that include them.

#ifdef __CUDACC_RTC__
#define SHIM_FUNCTION __device__ inline
#define SHIM_TABLE __device__ const
#define log_gamma lgamma
#else
#include <cmath>
#define SHIM_FUNCTION inline
#define SHIM_TABLE inline constexpr

namespace shim::special {

using std::copysign, std::erfc, std::exp, std::fabs, std::floor, std::log, std::log1p, std::pow, std::sqrt;

inline double log_gamma(double x) {
#if defined(__GLIBC__)
  int sign;
  return lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}

}  // namespace shim::special
#endif
