// Norms over the channels of a batch: the elements of a channel lie in one piece a sample.
#include <cmath>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/pooling.h"
#include "ops/kernels.h"

namespace shim {
namespace {

constexpr int kLanes = 16;

struct Layout {
  int64_t batch, channels, span;
};

template <class T> SHIM_MATH_CLONES double sum_of(const T* x, int64_t n) {
  double lanes[kLanes] = {}, sum = 0;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) lanes[k] += double(x[i + k]);
  for (; i < n; ++i) lanes[0] += double(x[i]);
  for (double l : lanes) sum += l;
  return sum;
}
// The sum of a (x - m) for a = x - m or another tensor.
template <class T> SHIM_MATH_CLONES double products(const T* a, T of_a, const T* x, T m, int64_t n) {
  double lanes[kLanes] = {}, sum = 0;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) lanes[k] += double((a[i + k] - of_a) * (x[i + k] - m));
  for (; i < n; ++i) lanes[0] += double((a[i] - of_a) * (x[i] - m));
  for (double l : lanes) sum += l;
  return sum;
}
template <class T> SHIM_MATH_CLONES void scaled(const T* x, T* y, T m, T scale, T shift, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * scale + shift;
}
template <class T>
SHIM_MATH_CLONES void slopes(const T* g, const T* x, T* dx, T m, T scale, T of_one, T of_normal, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dx[i] = (g[i] - of_one - (x[i] - m) * of_normal) * scale;
}

template <class F> void each_channel(Layout l, F&& f) {
  parallel_for(l.channels, std::max<int64_t>(1, kGrain / std::max<int64_t>(l.batch * l.span, 1)),
      [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) f(c);
      });
}

template <class T>
void forward(Layout l, const T* x, const T* w, const T* b, double eps, bool of_batch, T* mean, T* variance, T* y) {
  const double count = double(l.batch * l.span);
  each_channel(l, [&](int64_t c) {
    auto at = [&](int64_t n) { return (n * l.channels + c) * l.span; };
    if (of_batch) {
      double sum = 0, squares = 0;
      for (int64_t n = 0; n < l.batch; ++n) sum += sum_of(x + at(n), l.span);
      mean[c] = T(sum / count);
      for (int64_t n = 0; n < l.batch; ++n) squares += products(x + at(n), mean[c], x + at(n), mean[c], l.span);
      variance[c] = T(squares / count);
    }
    const T scale = T(1 / std::sqrt(double(variance[c]) + eps)) * (w ? w[c] : T(1));
    for (int64_t n = 0; n < l.batch; ++n) scaled(x + at(n), y + at(n), mean[c], scale, b ? b[c] : T(0), l.span);
  });
}

template <class T>
void backward(Layout l, const T* g, const T* x, const T* w, const T* mean, const T* variance, double eps, bool of_batch,
    T* dx, T* dw, T* db) {
  const double count = double(l.batch * l.span);
  each_channel(l, [&](int64_t c) {
    auto at = [&](int64_t n) { return (n * l.channels + c) * l.span; };
    const double rstd = 1 / std::sqrt(double(variance[c]) + eps);
    double sum = 0, normal = 0;
    for (int64_t n = 0; n < l.batch; ++n) {
      sum += sum_of(g + at(n), l.span);
      normal += products(g + at(n), T(0), x + at(n), mean[c], l.span);
    }
    db[c] = T(sum);
    dw[c] = T(normal * rstd);
    const T of_one = of_batch ? T(sum / count) : T(0), of_normal = of_batch ? T(normal * rstd * rstd / count) : T(0);
    for (int64_t n = 0; n < l.batch; ++n)
      slopes(g + at(n), x + at(n), dx + at(n), mean[c], T(rstd) * (w ? w[c] : T(1)), of_one, of_normal, l.span);
  });
}

template <class F> void by_dtype(DType t, F&& f) { t == DType::f64 ? f(double{}) : f(float{}); }
template <class T> T* data_or_null(const Tensor& t) { return t ? t->data_as<T>() : nullptr; }
Tensor as(const Tensor& t, DType dtype) {
  return !t ? t : t->dtype() == dtype ? contiguous(t) : contiguous(to_dtype(t, dtype));
}
Tensor narrowed(const Tensor& t, DType dtype) { return t->dtype() == dtype ? t : to_dtype(t, dtype); }

// One element a channel and sample: the other way round, each channel lies in one piece.
struct Seen {
  Tensor data;
  Layout layout;
  bool turned;
};
Seen seen(const Tensor& t, DType compute) {
  const int64_t batch = t->sizes()[0], channels = t->sizes()[1],
                span = batch && channels ? t->numel() / (batch * channels) : 0;
  if (span != 1) return {as(t, compute), {batch, channels, span}, false};
  Tensor flat = view(*contiguous(t), Dims{batch, channels});
  return {as(transpose(*flat, 0, 1), compute), {1, channels, batch}, true};
}
Tensor back(const Seen& s, const Tensor& made, const Tensor& like) {
  if (!s.turned) return narrowed(made, like->dtype());
  return view(*contiguous(narrowed(transpose(*made, 0, 1), like->dtype())), like->sizes());
}

}  // namespace

Tensor channel_norm(
    const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, Tensor* mean, Tensor* variance) {
  const DType compute = compute_dtype(x->dtype());
  const Seen s = seen(x, compute);
  const Tensor w = as(weight, compute), b = as(bias, compute);
  const bool of_batch = !*mean;
  // Given ones come back as copies: what a node keeps is not what the next batch moves.
  Tensor m = of_batch ? empty(Dims{s.layout.channels}, compute, Device{}) : contiguous(to_dtype(*mean, compute));
  Tensor v = of_batch ? empty(Dims{s.layout.channels}, compute, Device{}) : contiguous(to_dtype(*variance, compute));
  Tensor out = empty(s.data->sizes(), compute, Device{});
  by_dtype(compute, [&]<class T>(T) {
    forward<T>(s.layout, s.data->data_as<T>(), data_or_null<T>(w), data_or_null<T>(b), eps, of_batch, m->data_as<T>(),
        v->data_as<T>(), out->data_as<T>());
  });
  *mean = m, *variance = v;
  return back(s, out, x);
}

ChannelGradients channel_norm_backward(const Tensor& g, const Tensor& x, const Tensor& weight, const Tensor& mean,
    const Tensor& variance, double eps, bool of_batch) {
  const DType compute = compute_dtype(x->dtype());
  const Seen s = seen(x, compute), dy = seen(g, compute);
  const Tensor w = as(weight, compute), m = as(mean, compute), v = as(variance, compute);
  Tensor dx = empty(s.data->sizes(), compute, Device{}), dw = empty(Dims{s.layout.channels}, compute, Device{}),
         db = empty(Dims{s.layout.channels}, compute, Device{});
  by_dtype(compute, [&]<class T>(T) {
    backward<T>(s.layout, dy.data->data_as<T>(), s.data->data_as<T>(), data_or_null<T>(w), m->data_as<T>(),
        v->data_as<T>(), eps, of_batch, dx->data_as<T>(), dw->data_as<T>(), db->data_as<T>());
  });
  return {back(s, dx, x), dw, db};
}

}  // namespace shim
