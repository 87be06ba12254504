#include "core/checked.h"
#include "cpu/lookup.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <vector>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/reduce.h"
#include "cpu/types.h"
#include "ops/kernels.h"

namespace shim {
namespace {

template <class F> Outcome<Tensor> of_searched(DType t, F&& f) {
  switch (t) {
    case DType::u8: return f(uint8_t{});
    case DType::i32: return f(int32_t{});
    case DType::i64: return f(int64_t{});
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    default: return NotMine{"a dtype that is not searched"};
  }
}

template <class T> struct Limits {
  T least, most;
};
template <class T> SHIM_CLONES Limits<T> limits_of(const T* x, int64_t n) {
  T least = x[0], most = x[0];
  for (int64_t i = 0; i < n; ++i) least = x[i] < least ? x[i] : least, most = x[i] > most ? x[i] : most;
  return {least, most};
}

// The half that is left is chosen without a branch. A NaN is above all numbers.
template <bool Right, class T> int64_t place_of(const T* row, int64_t n, T value) {
  const T* base = row;
  for (; n > 1; n -= n / 2) {
    const T at = base[n / 2 - 1];
    base += (Right ? !(at > value) : !(at >= value)) ? n / 2 : 0;
  }
  return base - row + (n == 1 && (Right ? !(*base > value) : !(*base >= value)));
}

template <class T, class I> void search(const Tensor& rows, const Tensor& values, bool right, I* out) {
  const int64_t n = rows->sizes().back(), step = rows->dim() == 1 ? 0 : n,
                width = values->dim() ? values->sizes().back() : 1;
  const T *row = rows->data_as<T>(), *value = values->data_as<T>();
  parallel_for(values->numel(), 2048, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* in = row + (step ? i / width * step : 0);
      out[i] = I(right ? place_of<true>(in, n, value[i]) : place_of<false>(in, n, value[i]));
    }
  });
}

Outcome<Tensor> found_places(const Tensor& sequence, const Tensor& values, bool narrow, bool right) {
  const int n = sequence->dim();
  if (n == 0) return NotMine{"a sequence without dims"};
  if (sequence->dtype() != values->dtype()) return NotMine{"two dtypes"};
  if (!sequence->is_contiguous() || !values->is_contiguous()) return NotMine{"tensors that are not contiguous"};
  if (n > 1 && (values->dim() != n ||
                   !std::equal(sequence->sizes().begin(), sequence->sizes().end() - 1, values->sizes().begin())))
    return NotMine{"sequences of other sizes"};
  const UnlockedWork others_run(values->numel() * 8);
  return of_searched(sequence->dtype(), [&]<class T>(T) -> Outcome<Tensor> {
    Tensor out = empty(values->sizes(), narrow ? DType::i32 : DType::i64, Device{});
    if (narrow)
      search<T>(sequence, values, right, out->data_as<int32_t>());
    else
      search<T>(sequence, values, right, out->data_as<int64_t>());
    return out;
  });
}

}  // namespace

Outcome<Tensor> searchsorted(const Tensor& sequence, const Tensor& self, bool out_int32, bool right,
    std::optional<std::string_view> side, const OptionalTensor& sorter) {
  if (sorter) return NotMine{"a sorter"};
  if (side && *side != "right" && (right || *side != "left")) return NotMine{"a side that is none, or not `right`"};
  return found_places(sequence, self, out_int32, side ? *side == "right" : right);
}
Outcome<Tensor> bucketize(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right) {
  if (boundaries->dim() != 1) return NotMine{"boundaries that have not one dim"};
  return found_places(boundaries, self, out_int32, right);
}

Outcome<Tensor> one_hot(const Tensor& classes, int64_t count) {
  const int64_t n = classes->numel();
  if (count < -1) return NotMine{"a number of classes below -1"};
  if (classes->dtype() != DType::i64) return NotMine{"classes that are not int64"};
  if (n == 0) return NotMine{"no elements"};
  const UnlockedWork others_run(n);
  const Tensor in = contiguous(classes);
  const auto* x = in->data_as<int64_t>();
  const auto [least, most] = limits_of(x, n);
  if (least < 0 || (count != -1 && most >= count)) return NotMine{"a class out of range"};
  if (count == -1) count = most + 1;
  Dims shape(classes->sizes().begin(), classes->sizes().end());
  shape.push_back(count);
  Tensor out = empty(shape, DType::i64, Device{});
  auto* to = out->data_as<int64_t>();
  parallel_for(n, std::max<int64_t>(1, kGrain / count), [&](int64_t begin, int64_t end) {
    std::fill(to + begin * count, to + end * count, 0);
    for (int64_t i = begin; i < end; ++i) to[i * count + x[i]] = 1;
  });
  return out;
}

Outcome<Tensor> bincount(const Tensor& self, const OptionalTensor& weights, int64_t least) {
  if (weights) return NotMine{"weights"};
  if (self->dim() != 1 || self->numel() == 0) return NotMine{"no elements of one dim"};
  if (least < 0) return NotMine{"a minlength below 0"};
  const UnlockedWork others_run(self->numel());
  const Tensor in = contiguous(self);
  return of_searched(self->dtype(), [&]<class T>(T) -> Outcome<Tensor> {
    if constexpr (std::is_integral_v<T>) {
      const T* x = in->data_as<T>();
      const int64_t n = in->numel();
      const auto [low, high] = limits_of(x, n);
      if (low < T(0)) return NotMine{"elements below 0"};
      CHECK(Kind::Runtime, sizeof(T) < 8 || high < std::numeric_limits<T>::max(),
          "maximum value of input overflowed, it should be < ", int64_t(std::numeric_limits<T>::max()), " but got ",
          int64_t(high));
      const int64_t size = std::max<int64_t>(least, int64_t(high) + 1);
      Tensor out = empty(Dims{size}, DType::i64, Device{});
      auto* count = out->data_as<int64_t>();
      std::fill_n(count, size, 0);
      if (size > 4096 || n < 4 * size) {
        for (int64_t i = 0; i < n; ++i) ++count[x[i]];
        return out;
      }
      std::vector<int64_t> more(size_t(3 * size));  // four rows of counters: neighbours that are equal do not wait
      int64_t *a = more.data(), *b = a + size, *c = b + size, i = 0;
      for (; i + 4 <= n; i += 4) ++count[x[i]], ++a[x[i + 1]], ++b[x[i + 2]], ++c[x[i + 3]];
      for (; i < n; ++i) ++count[x[i]];
      for (int64_t k = 0; k < size; ++k) count[k] += a[k] + b[k] + c[k];
      return out;
    } else {
      return NotMine{"floats"};
    }
  });
}

Outcome<Tensor> histc(const Tensor& self, int64_t bins, double low, double high) {
  const int64_t n = self->numel();
  if (n == 0 || bins <= 0) return NotMine{"no elements or no bins"};
  if (self->has_math_bits()) return NotMine{"math bits"};
  const UnlockedWork others_run(n);
  const Tensor in = contiguous(self);
  auto run = [&]<class T>(const T* x) -> Outcome<Tensor> {
    if (low == high) low = double(extreme_value(x, n, false)), high = double(extreme_value(x, n, true));
    if (low == high) low -= 1, high += 1;
    if (!std::isfinite(low) || !std::isfinite(high) || low >= high) return NotMine{"a range that is none"};
    const T least = T(low), most = T(high), width = most - least, count = T(bins);
    std::vector<int64_t> found(size_t(bins), 0);
    std::mutex mutex;
    parallel_for(n, std::max(kGrain, bins), [&](int64_t begin, int64_t end) {
      std::vector<int64_t> mine(size_t(bins) + 1, 0);
      for (int64_t i = begin; i < end; ++i) {
        if (!(x[i] >= least && x[i] <= most)) continue;
        const T place = (x[i] - least) * count / width;  // no number, where the product overflows
        ++mine[place < count ? size_t(place) : size_t(bins)];
      }
      mine[size_t(bins - 1)] += mine[size_t(bins)];  // the greatest belong to the last one
      std::lock_guard lock(mutex);
      for (int64_t k = 0; k < bins; ++k) found[size_t(k)] += mine[size_t(k)];
    });
    Tensor out = empty(Dims{bins}, self->dtype(), Device{});
    for (int64_t k = 0; k < bins; ++k) out->data_as<T>()[k] = T(found[size_t(k)]);
    return out;
  };
  return self->dtype() == DType::f32   ? run(in->data_as<float>())
         : self->dtype() == DType::f64 ? run(in->data_as<double>())
                                       : Outcome<Tensor>(NotMine{"neither float32 nor float64"});
}

namespace {

template <int times, class T> void repeat_few(const T* from, T* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i, to += times)
    for (int k = 0; k < times; ++k) to[k] = from[i];
}
template <class T> void repeat(const T* from, T* to, int64_t slices, int64_t inner, int64_t times) {
  if (inner == 1 && times == 2) return repeat_few<2>(from, to, slices);
  if (inner == 1 && times == 4) return repeat_few<4>(from, to, slices);
  for (int64_t s = 0; s < slices; ++s, from += inner)
    for (int64_t k = 0; k < times; ++k, to += inner) {
      if (inner == 1)
        *to = *from;
      else
        std::memcpy(to, from, size_t(inner) * sizeof(T));
    }
}

}  // namespace

Outcome<Tensor> repeat_interleave(
    const Tensor& given, int64_t times, std::optional<int64_t> dim, std::optional<int64_t> output_size) {
  if (times < 0) return NotMine{"a number of repeats below 0"};
  if (output_size) return NotMine{"an output_size"};
  if (given->has_math_bits()) return NotMine{"math bits"};
  const Tensor self = dim ? given : view(*contiguous(given), Dims{given->numel()});
  const int64_t along = dim.value_or(0), dims = self->dim();
  if (along < -dims || along >= dims) return NotMine{"a dim out of range"};
  const UnlockedWork others_run(checked_product({self->numel(), times}));
  const size_t d = size_t(along < 0 ? along + dims : along);
  Dims shape(self->sizes().begin(), self->sizes().end());
  const int64_t slices = product_of(shape, 0, d + 1), inner = product_of(shape, d + 1, shape.size());
  shape[d] = checked_product({shape[d], times});
  const Tensor in = contiguous(self);
  Tensor out = empty(shape, self->dtype(), Device{});
  return or_not_mine(of_size<Tensor>(self->itemsize(),
                         [&]<class T>(T) {
                           parallel_for(slices, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, inner * times)),
                               [&](int64_t begin, int64_t end) {
                                 repeat(static_cast<const T*>(in->data()) + begin * inner,
                                     static_cast<T*>(out->data()) + begin * inner * times, end - begin, inner, times);
                               });
                           return out;
                         }),
      "elements of 16 bytes");
}

Outcome<Tensor> isin(const Tensor& self, const Tensor& others, Ignored, bool invert) {
  if (self->dtype() != others->dtype()) return NotMine{"two dtypes"};
  const UnlockedWork others_run(self->numel() + others->numel());
  const Tensor in = contiguous(self), given = contiguous(others);
  return of_searched(self->dtype(), [&]<class T>(T) -> Outcome<Tensor> {
    const T* x = in->data_as<T>();
    std::vector<T> sorted;
    for (int64_t i = 0; i < given->numel(); ++i)
      if (const T v = given->data_as<T>()[i]; v == v) sorted.push_back(v);  // a NaN is equal to none
    const bool few = sorted.size() <= 16;
    if (!few) std::sort(sorted.begin(), sorted.end());
    Tensor out = empty(self->sizes(), DType::b8, Device{});
    auto* to = static_cast<uint8_t*>(out->data());
    parallel_for(self->numel(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        to[i] = (few ? std::find(sorted.begin(), sorted.end(), x[i]) != sorted.end()
                     : std::binary_search(sorted.begin(), sorted.end(), x[i]) && x[i] == x[i]) != invert;
    });
    return out;
  });
}

}  // namespace shim
