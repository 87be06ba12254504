// Pools over boxes of up to three dims, each dim's spans given: windows of volumes, and the parts of adaptive pools.
#include <algorithm>
#include <limits>

#include "cpu/parallel.h"
#include "cpu/pooling.h"

namespace shim {
namespace {

template <class F>
void each_box(const Tensor& x, const Spans (&spans)[3], F&& f) {  // f(plane, first result of it, rows of a plane)
  const int64_t per_plane = int64_t(spans[0].size() * spans[1].size() * spans[2].size());
  const int64_t work = std::max<int64_t>(1, per_plane + x->numel() / std::max<int64_t>(1, x->sizes()[0]));
  parallel_for(x->sizes()[0], std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      int64_t place = p * per_plane;
      for (const BoxSpan& a : spans[0])
        for (const BoxSpan& b : spans[1])
          for (const BoxSpan& c : spans[2]) f(p, place++, a, b, c);
    }
  });
}

template <class F> void by_dtype(DType t, F&& f) { t == DType::f64 ? f(double{}) : f(float{}); }

Dims result_sizes(const Tensor& x, const Spans (&spans)[3]) {
  return {x->sizes()[0], int64_t(spans[0].size()), int64_t(spans[1].size()), int64_t(spans[2].size())};
}

}  // namespace

Tensor box_max(const Tensor& x, const Spans (&spans)[3], const int64_t (&step)[3], Tensor* indices) {
  const int64_t height = x->sizes()[2], width = x->sizes()[3], plane = x->sizes()[1] * height * width;
  Tensor out = empty(result_sizes(x, spans), x->dtype(), Device{});
  *indices = empty(result_sizes(x, spans), DType::i64, Device{});
  by_dtype(x->dtype(), [&]<class T>(T) {
    each_box(x, spans, [&](int64_t p, int64_t place, const BoxSpan& a, const BoxSpan& b, const BoxSpan& c) {
      const T* from = x->data_as<T>() + p * plane;
      T best = -std::numeric_limits<T>::infinity();
      int64_t at = -1;
      for (int64_t i = a.first; i < a.last; i += step[0])
        for (int64_t j = b.first; j < b.last; j += step[1])
          for (int64_t k = c.first; k < c.last; k += step[2]) {
            const int64_t here = (i * height + j) * width + k;
            const T v = from[here];
            if (at < 0 || v > best || v != v) best = v, at = here;  // not a number beats all
          }
      out->data_as<T>()[place] = best;
      (*indices)->data_as<int64_t>()[place] = at;
    });
  });
  return out;
}

Tensor box_mean(const Tensor& x, const Spans (&spans)[3], int64_t divisor) {
  const int64_t height = x->sizes()[2], width = x->sizes()[3], plane = x->sizes()[1] * height * width;
  Tensor out = empty(result_sizes(x, spans), x->dtype(), Device{});
  by_dtype(x->dtype(), [&]<class T>(T) {
    each_box(x, spans, [&](int64_t p, int64_t place, const BoxSpan& a, const BoxSpan& b, const BoxSpan& c) {
      const T* from = x->data_as<T>() + p * plane;
      T sum = 0;
      for (int64_t i = a.first; i < a.last; ++i)
        for (int64_t j = b.first; j < b.last; ++j)
          for (int64_t k = c.first; k < c.last; ++k) sum += from[(i * height + j) * width + k];
      out->data_as<T>()[place] = sum / T(divisor ? divisor : a.counted * b.counted * c.counted);
    });
  });
  return out;
}

}  // namespace shim
