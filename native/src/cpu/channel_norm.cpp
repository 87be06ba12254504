// Norms over the channels of a batch: the elements of a channel lie in one piece a sample.
#include <cmath>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/pooling.h"
#include "cpu/types.h"
#include "cpu/window_settings.h"

namespace shim {
namespace {

constexpr int kLanes = 16;

struct ChannelLayout {
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

template <class F> void each_channel(ChannelLayout l, F&& f) {
  parallel_for(l.channels, std::max<int64_t>(1, kGrain / std::max<int64_t>(l.batch * l.span, 1)),
      [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) f(c);
      });
}

template <class T>
void forward(
    ChannelLayout l, const T* x, const T* w, const T* b, double eps, bool of_batch, T* mean, T* variance, T* y) {
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
void backward(ChannelLayout l, const T* g, const T* x, const T* w, const T* mean, const T* variance, double eps,
    bool of_batch, T* dx, T* dw, T* db) {
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

template <class T> T* data_or_null(const Tensor& t) { return t ? t->data_as<T>() : nullptr; }

// One element a channel and sample: the other way round, each channel lies in one piece.
struct Seen {
  Tensor data;
  ChannelLayout layout;
  bool turned;
};
Seen seen(const Tensor& t, DType compute) {
  const int64_t batch = t->sizes()[0], channels = t->sizes()[1],
                span = batch && channels ? t->numel() / (batch * channels) : 0;
  if (span != 1) return {contiguous_of(t, compute), {batch, channels, span}, false};
  Tensor flat = view(*contiguous(t), Dims{batch, channels});
  return {contiguous_of(transpose(*flat, 0, 1), compute), {1, channels, batch}, true};
}
Tensor back(const Seen& s, const Tensor& made, const Tensor& like) {
  if (!s.turned) return of_dtype(made, like->dtype());
  return view(*contiguous(of_dtype(transpose(*made, 0, 1), like->dtype())), like->sizes());
}

// Whether an input of images or the like has one number a channel, or none: anybody can call the operators.
bool of_channels(const Tensor& x, std::initializer_list<const Tensor*> all) {
  return x->dim() >= 2 && x->numel() &&
         std::ranges::all_of(all, [&](const Tensor* t) { return !*t || (*t)->numel() == x->sizes()[1]; });
}
constexpr NotMine kNoChannels{"empty tensors, or other than one number a channel"};

}  // namespace

Outcome<std::tuple<Tensor, Tensor, Tensor>> channel_norm(const Tensor& x, const OptionalTensor& weight,
    const OptionalTensor& bias, const OptionalTensor& mean, const OptionalTensor& variance, bool of_batch, double eps) {
  if (of_batch == mean.has_value() || mean.has_value() != variance.has_value())
    return NotMine{"a mean or a variance alone, or beside the batch's own"};
  if (!floats_in_order(x) || !floats_in_order(weight) || !floats_in_order(bias) || !floats_in_order(mean) ||
      !floats_in_order(variance))
    return kChannelsLastOrNoFloats;
  if (!of_channels(x, {&or_null(weight), &or_null(bias), &or_null(mean), &or_null(variance)})) return kNoChannels;
  return unlocked(x->numel(), [&] {
    const DType compute = compute_dtype(x->dtype());
    const Seen s = seen(x, compute);
    const Tensor w = contiguous_of(or_null(weight), compute), b = contiguous_of(or_null(bias), compute);
    const auto own = [&](const OptionalTensor& given) {
      return given ? contiguous(to_dtype(*given, compute)) : empty(Dims{s.layout.channels}, compute, Device{});
    };
    const Tensor m = own(mean), v = own(variance), out = empty(s.data->sizes(), compute, Device{});
    by_dtype(compute, [&]<class T>(T) {
      forward<T>(s.layout, s.data->data_as<T>(), data_or_null<T>(w), data_or_null<T>(b), eps, of_batch, m->data_as<T>(),
          v->data_as<T>(), out->data_as<T>());
    });
    return std::tuple(back(s, out, x), m, v);
  });
}

Outcome<std::tuple<Tensor, Tensor, Tensor>> channel_norm_backward(const Tensor& g, const Tensor& x,
    const OptionalTensor& weight, const Tensor& mean, const Tensor& variance, double eps, bool of_batch) {
  if (!floats_in_order(g) || !floats_in_order(x) || !floats_in_order(weight) || !floats_in_order(mean) ||
      !floats_in_order(variance))
    return kChannelsLastOrNoFloats;
  if (!of_channels(x, {&or_null(weight), &mean, &variance}) || !std::ranges::equal(g->sizes(), x->sizes()))
    return kNoChannels;
  return unlocked(x->numel(), [&] {
    const DType compute = compute_dtype(x->dtype());
    const Seen s = seen(x, compute), dy = seen(g, compute);
    const Tensor w = contiguous_of(or_null(weight), compute), m = contiguous_of(mean, compute),
                 v = contiguous_of(variance, compute);
    const Tensor dx = empty(s.data->sizes(), compute, Device{}), dw = empty(Dims{s.layout.channels}, compute, Device{}),
                 db = empty(Dims{s.layout.channels}, compute, Device{});
    by_dtype(compute, [&]<class T>(T) {
      backward<T>(s.layout, dy.data->data_as<T>(), s.data->data_as<T>(), data_or_null<T>(w), m->data_as<T>(),
          v->data_as<T>(), eps, of_batch, dx->data_as<T>(), dw->data_as<T>(), db->data_as<T>());
    });
    return std::tuple(back(s, dx, x), dw, db);
  });
}

}  // namespace shim
