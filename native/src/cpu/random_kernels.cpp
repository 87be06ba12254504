#include "cpu/random_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/autograd.h"
#include "cpu/parallel.h"

namespace shim {
namespace {

constexpr NotMine kServed{nullptr}, kDTypes{"dtypes other than float32 and float64"},
    kRange{"a range that the dtype does not hold"}, kParameters{"parameters that there is no distribution of"};

// --- what is filled -----------------------------------------------------------------------------------------------------

NotMine unfillable(const Tensor& t, bool floats) {
  if (!t->is_contiguous() || t->has_math_bits()) return {"tensors that are not contiguous"};
  if (t->requires_grad() && GradMode::enabled()) return {"a tensor that wants a gradient"};
  if (!is_plain(t)) return {"tensors without values of their own"};
  return floats && !is_drawn(t->dtype()) ? kDTypes : kServed;
}

template <class F> const Tensor& filled(const Tensor& t, F&& f) {
  if (t->numel())
    unlocked(t->numel(), [&] {
      f(t);
      return 0;
    });
  return t;
}
template <class F> Outcome<Tensor> filled_in_place(const Tensor& self, F&& f) {
  filled(self, f);
  self->bump_version();
  return self;
}

// Whole numbers that the dtype holds one by one.
bool holds_range(DType t, int64_t low, int64_t high) {
  int64_t least = 0, most = 0;  // the most is one more than the last
  switch (t) {
    case DType::i64: return low < high;
    case DType::u8: most = 256; break;
    case DType::i8: least = -128, most = 128; break;
    case DType::i16: least = -32768, most = 32768; break;
    case DType::i32: least = -(int64_t(1) << 31), most = int64_t(1) << 31; break;
    case DType::f32: least = -(int64_t(1) << 24), most = int64_t(1) << 24; break;
    case DType::f64: least = -(int64_t(1) << 53), most = int64_t(1) << 53; break;
    default: return false;
  }
  return low < high && low >= least && high <= most;
}

void fill_range(const Tensor& t, int64_t low, uint64_t span, Mersenne& s, bool short_words = false) {
  if (t->dtype() == DType::i64) return fill_integer(t, low, span, s);
  const Tensor whole = empty(t->sizes(), DType::i64, Device{});
  fill_integer(whole, low, span, s, short_words);
  copy_(t, whole);
}

// --- what is made -------------------------------------------------------------------------------------------------------

NotMine unserved(const RandomOptions& o) {
  if (o.layout && *o.layout != Layout::strided) return {"a layout"};
  if (o.memory_format) return {"a memory format"};
  return o.pin_memory.value_or(false) ? NotMine{"pinned memory"} : kServed;
}
NotMine unserved(IntArrayRef sizes, const RandomOptions& o) {
  return std::ranges::any_of(sizes, [](int64_t n) { return n < 0; }) ? NotMine{"negative sizes"} : unserved(o);
}

}  // namespace

Outcome<Tensor> uniform_(const Tensor& self, double low, double high, Mersenne& s) {
  constexpr double kMost = std::numeric_limits<float>::max() / 2;
  if (const NotMine no = unfillable(self, true); no.reason) return no;
  if (!(low <= high) || std::fabs(low) > kMost || std::fabs(high) > kMost) return kParameters;
  return filled_in_place(self, [&](const Tensor& t) { fill_uniform(t, low, high, s); });
}

Outcome<Tensor> normal_(const Tensor& self, double mean, double deviation, Mersenne& s) {
  if (const NotMine no = unfillable(self, true); no.reason) return no;
  if (!std::isfinite(mean) || !std::isfinite(deviation) || deviation < 0) return kParameters;
  return filled_in_place(self, [&](const Tensor& t) { fill_normal(t, mean, deviation, s); });
}

Outcome<Tensor> exponential_(const Tensor& self, double rate, Mersenne& s) {
  if (const NotMine no = unfillable(self, true); no.reason) return no;
  if (!std::isfinite(rate) || !(rate > 0)) return kParameters;
  return filled_in_place(self, [&](const Tensor& t) { fill_exponential(t, rate, s); });
}

Outcome<Tensor> bernoulli_(const Tensor& self, double chance, Mersenne& s) {
  if (const NotMine no = unfillable(self, self->dtype() != DType::b8); no.reason) return no;
  if (!(chance >= 0 && chance <= 1)) return kParameters;
  return filled_in_place(self, [&](const Tensor& t) { fill_chance(t, chance, s); });
}

Outcome<Tensor> random_(const Tensor& self, Mersenne& s) {
  if (const NotMine no = unfillable(self, false); no.reason) return no;
  uint64_t span;
  const DType dtype = self->dtype();
  switch (dtype) {
    case DType::i64: span = uint64_t(1) << 63; break;
    case DType::i32: span = uint64_t(1) << 31; break;
    case DType::f32: span = (uint64_t(1) << 24) + 1; break;
    case DType::f64: span = (uint64_t(1) << 53) + 1; break;
    default: return NotMine{"dtypes other than int32, int64, float32 and float64"};
  }
  return filled_in_place(self, [&](const Tensor& t) { fill_range(t, 0, span, s, dtype == DType::i32); });
}

Outcome<Tensor> random_to_(const Tensor& self, int64_t high, Mersenne& s) { return random_from_(self, 0, high, s); }

Outcome<Tensor> random_from_(const Tensor& self, int64_t low, std::optional<int64_t> high, Mersenne& s) {
  if (const NotMine no = unfillable(self, false); no.reason) return no;
  if (!high) return NotMine{"a range without an end"};
  if (!holds_range(self->dtype(), low, *high)) return kRange;
  return filled_in_place(self, [&](const Tensor& t) { fill_range(t, low, uint64_t(*high) - uint64_t(low), s); });
}

Outcome<Tensor> new_uniform(IntArrayRef sizes, Mersenne& s, const RandomOptions& options) {
  const DType dtype = options.dtype.value_or(default_dtype());
  if (const NotMine no = unserved(sizes, options); no.reason) return no;
  if (!is_drawn(dtype)) return kDTypes;
  return filled(empty(sizes, dtype, Device{}), [&](const Tensor& t) { fill_uniform(t, 0, 1, s); });
}

Outcome<Tensor> new_normal(
    double mean, double deviation, IntArrayRef sizes, Mersenne& s, const RandomOptions& options) {
  const DType dtype = options.dtype.value_or(default_dtype());
  if (const NotMine no = unserved(sizes, options); no.reason) return no;
  if (!is_drawn(dtype)) return kDTypes;
  if (!std::isfinite(mean) || !std::isfinite(deviation) || deviation < 0) return kParameters;
  return filled(empty(sizes, dtype, Device{}), [&](const Tensor& t) { fill_normal(t, mean, deviation, s); });
}

Outcome<Tensor> new_integers(int64_t low, int64_t high, IntArrayRef sizes, Mersenne& s, const RandomOptions& options) {
  const DType dtype = options.dtype.value_or(DType::i64);
  if (const NotMine no = unserved(sizes, options); no.reason) return no;
  if (!holds_range(dtype, low, high)) return kRange;
  return filled(
      empty(sizes, dtype, Device{}), [&](const Tensor& t) { fill_range(t, low, uint64_t(high) - uint64_t(low), s); });
}

Outcome<Tensor> new_permutation(int64_t n, Mersenne& s, const RandomOptions& options) {
  if (const NotMine no = unserved(options); no.reason) return no;
  if (options.dtype.value_or(DType::i64) != DType::i64) return NotMine{"dtypes other than int64"};
  if (n < 0) return NotMine{"fewer than no numbers"};
  return unlocked(n, [&] { return permutation(n, s); });
}

namespace {

// A factory's options where the result is to be like self.
NotMine like(const Tensor& self, RandomOptions* options) {
  if (!self->is_contiguous()) return {"tensors that are not contiguous"};
  if (!options->dtype) options->dtype = self->dtype();
  return unserved(*options);
}

}  // namespace

Outcome<Tensor> uniform_like(const Tensor& self, Mersenne& s, const RandomOptions& given) {
  RandomOptions options = given;
  if (const NotMine no = like(self, &options); no.reason) return no;
  return new_uniform(self->sizes(), s, options);
}

Outcome<Tensor> normal_like(const Tensor& self, Mersenne& s, const RandomOptions& given) {
  RandomOptions options = given;
  if (const NotMine no = like(self, &options); no.reason) return no;
  return new_normal(0, 1, self->sizes(), s, options);
}

Outcome<Tensor> integers_like(const Tensor& self, int64_t low, int64_t high, Mersenne& s, const RandomOptions& given) {
  RandomOptions options = given;
  if (const NotMine no = like(self, &options); no.reason) return no;
  return new_integers(low, high, self->sizes(), s, options);
}

Outcome<Tensor> bernoulli(const Tensor& p, Mersenne& s) {
  if (!is_drawn(p->dtype())) return kDTypes;
  if (!p->is_contiguous() || !is_plain(p))
    return NotMine{"tensors that are not contiguous, or without values of their own"};
  const auto all_chances = [&]<class T>(const T* x) {
    int bad = 0;
    for (int64_t i = 0; i < p->numel(); ++i) bad |= !(x[i] >= T(0) && x[i] <= T(1));
    return !bad;
  };
  if (!(p->dtype() == DType::f32 ? all_chances(p->data_as<float>()) : all_chances(p->data_as<double>())))
    return kParameters;
  return unlocked(p->numel(), [&] { return chances(p, s); });
}

}  // namespace shim
