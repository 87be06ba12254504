#include "cpu/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "autograd/autograd.h"
#include "cpu/parallel.h"

namespace shim {
namespace {

template <class T> void close(const T* a, const T* b, uint8_t* to, int64_t n, T relative, T absolute, bool equal_nan) {
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T d = std::fabs(a[i] - b[i]);
      to[i] = (a[i] == b[i]) |
              (bool(d <= absolute + std::fabs(relative * b[i])) & bool(d < std::numeric_limits<T>::infinity())) |
              (equal_nan & bool(a[i] != a[i]) & bool(b[i] != b[i]));
    }
  });
}

}  // namespace

Outcome<Tensor> isclose(const Tensor& a, const Tensor& b, double relative, double absolute, bool equal_nan) {
  if (!(relative >= 0) || !(absolute >= 0)) return NotMine{"a tolerance below 0"};
  const bool narrow = a->dtype() == DType::f32;
  if (a->dtype() != b->dtype() || (!narrow && a->dtype() != DType::f64)) return NotMine{"dtypes other than one float"};
  if (!std::ranges::equal(a->sizes(), b->sizes()) || !a->is_contiguous() || !b->is_contiguous())
    return NotMine{"tensors of two shapes or not contiguous"};
  const UnlockedWork others_run(a->numel());
  Tensor out = empty(a->sizes(), DType::b8, Device{});
  auto* to = static_cast<uint8_t*>(out->data());
  if (narrow)
    close<float>(a->data_as<float>(), b->data_as<float>(), to, a->numel(), float(relative), float(absolute), equal_nan);
  else
    close<double>(a->data_as<double>(), b->data_as<double>(), to, a->numel(), relative, absolute, equal_nan);
  return out;
}

Outcome<bool> equal(const Tensor& given, const Tensor& other) {
  if (given->dtype() != other->dtype()) return NotMine{"two dtypes"};
  if (!is_plain(given) || !is_plain(other)) return NotMine{"tensors without values of their own"};
  if (!std::ranges::equal(given->sizes(), other->sizes())) return false;
  const UnlockedWork others_run(given->numel());
  const Tensor a = contiguous(given), b = contiguous(other);
  const auto same = [&]<class T>(const T* x, const T* y) {
    constexpr int64_t kPart = 4096;
    for (int64_t at = 0; at < a->numel(); at += kPart) {
      const int64_t n = std::min(kPart, a->numel() - at);
      int differ = 0;
      for (int64_t i = at; i < at + n; ++i) differ |= x[i] != y[i];
      if (differ) return false;
    }
    return true;
  };
  if (a->dtype() == DType::f32) return same(a->data_as<float>(), b->data_as<float>());
  if (a->dtype() == DType::f64) return same(a->data_as<double>(), b->data_as<double>());
  if (!is_integral(a->dtype(), true)) return NotMine{"complex numbers or floats of 16 bits and fewer"};
  return a->numel() == 0 || std::memcmp(a->data(), b->data(), size_t(a->numel()) * a->itemsize()) == 0;
}

}  // namespace shim
