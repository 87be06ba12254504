// Norms over the channels of a batch: the elements of a channel lie in one piece a sample, or in channels last, one a place.
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

// The same of lines of channels: sums of all places for each channel.
template <class T> SHIM_MATH_CLONES void add_to(double* sum, const T* x, int64_t n) {
  for (int64_t c = 0; c < n; ++c) sum[c] += double(x[c]);
}
template <class T>
SHIM_MATH_CLONES void add_products(double* sum, const T* a, const T* of_a, const T* x, const T* m, int64_t n) {
  for (int64_t c = 0; c < n; ++c) sum[c] += double((a[c] - of_a[c]) * (x[c] - m[c]));
}
template <class T>
SHIM_MATH_CLONES void scaled_line(const T* x, T* y, const T* m, const T* scale, const T* shift, int64_t n) {
  for (int64_t c = 0; c < n; ++c) y[c] = (x[c] - m[c]) * scale[c] + shift[c];
}
template <class T>
SHIM_MATH_CLONES void slope_line(
    const T* g, const T* x, T* dx, const T* m, const T* scale, const T* of_one, const T* of_normal, int64_t n) {
  for (int64_t c = 0; c < n; ++c) dx[c] = (g[c] - of_one[c] - (x[c] - m[c]) * of_normal[c]) * scale[c];
}

constexpr int64_t kStrip = 64;  // channels that are summed together

// f(first channel, how many) for strips of channels.
template <class F> void each_strip(ChannelLayout l, F&& f) {
  const int64_t strips = (l.channels + kStrip - 1) / kStrip;
  parallel_for(strips, std::max<int64_t>(1, kGrain / std::max<int64_t>(l.batch * l.span * kStrip, 1)),
      [&](int64_t begin, int64_t end) {
        for (int64_t s = begin; s < end; ++s) f(s * kStrip, std::min(kStrip, l.channels - s * kStrip));
      });
}

template <class T>
void forward_lines(
    ChannelLayout l, const T* x, const T* w, const T* b, double eps, bool of_batch, T* mean, T* variance, T* y) {
  const int64_t rows = l.batch * l.span;
  each_strip(l, [&](int64_t first, int64_t n) {
    T scale[kStrip], shift[kStrip], *m = mean + first, *v = variance + first;
    if (of_batch) {
      double sum[kStrip] = {}, squares[kStrip] = {};
      for (int64_t r = 0; r < rows; ++r) add_to(sum, x + r * l.channels + first, n);
      for (int64_t c = 0; c < n; ++c) m[c] = T(sum[c] / double(rows));
      for (int64_t r = 0; r < rows; ++r) {
        const T* row = x + r * l.channels + first;
        add_products(squares, row, m, row, m, n);
      }
      for (int64_t c = 0; c < n; ++c) v[c] = T(squares[c] / double(rows));
    }
    for (int64_t c = 0; c < n; ++c) {
      scale[c] = T(1 / std::sqrt(double(v[c]) + eps)) * (w ? w[first + c] : T(1));
      shift[c] = b ? b[first + c] : T(0);
    }
    for (int64_t r = 0; r < rows; ++r)
      scaled_line(x + r * l.channels + first, y + r * l.channels + first, m, scale, shift, n);
  });
}

template <class T>
void backward_lines(ChannelLayout l, const T* g, const T* x, const T* w, const T* mean, const T* variance, double eps,
    bool of_batch, T* dx, T* dw, T* db) {
  const int64_t rows = l.batch * l.span;
  each_strip(l, [&](int64_t first, int64_t n) {
    const T zeros[kStrip] = {}, *m = mean + first;
    T scale[kStrip], of_one[kStrip], of_normal[kStrip];
    double sum[kStrip] = {}, normal[kStrip] = {};
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = r * l.channels + first;
      add_to(sum, g + at, n);
      add_products(normal, g + at, zeros, x + at, m, n);
    }
    for (int64_t c = 0; c < n; ++c) {
      const double rstd = 1 / std::sqrt(double(variance[first + c]) + eps);
      db[first + c] = T(sum[c]), dw[first + c] = T(normal[c] * rstd);
      of_one[c] = of_batch ? T(sum[c] / double(rows)) : T(0);
      of_normal[c] = of_batch ? T(normal[c] * rstd * rstd / double(rows)) : T(0);
      scale[c] = T(rstd) * (w ? w[first + c] : T(1));
    }
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = r * l.channels + first;
      slope_line(g + at, x + at, dx + at, m, scale, of_one, of_normal, n);
    }
  });
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
  bool lines = false;  // in channels last
};
Seen seen(const Tensor& t, DType compute) {
  const int64_t batch = t->sizes()[0], channels = t->sizes()[1],
                span = batch && channels ? t->numel() / (batch * channels) : 0;
  if (Tensor images = in_lines(t, compute)) return {std::move(images), {batch, channels, span}, false, true};
  if (span != 1) return {contiguous_of(t, compute), {batch, channels, span}, false};
  Tensor flat = view(*contiguous(t), Dims{batch, channels});
  return {contiguous_of(transpose(*flat, 0, 1), compute), {1, channels, batch}, true};
}
Tensor back(const Seen& s, const Tensor& made, const Tensor& like) {
  if (!s.turned) return of_dtype(made, like->dtype());
  return view(*contiguous(of_dtype(transpose(*made, 0, 1), like->dtype())), like->sizes());
}

Tensor empty_like(const Seen& s) {
  const MemoryFormat format = s.lines ? MemoryFormat::channels_last : MemoryFormat::contiguous;
  return empty(s.data->sizes(), s.data->dtype(), Device{}, false, format);
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
  if (!floats_of_planes(x) || !floats_in_order(weight) || !floats_in_order(bias) || !floats_in_order(mean) ||
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
    const Tensor m = own(mean), v = own(variance), out = empty_like(s);
    by_dtype(compute, [&]<class T>(T) {
      const auto run = s.lines ? forward_lines<T> : forward<T>;
      run(s.layout, s.data->data_as<T>(), data_or_null<T>(w), data_or_null<T>(b), eps, of_batch, m->data_as<T>(),
          v->data_as<T>(), out->data_as<T>());
    });
    const auto of_call = [&](const Tensor& t) { return of_batch ? t : empty(Dims{0}, compute, Device{}); };
    return std::tuple(back(s, out, x), of_call(m), of_call(v));
  });
}

Outcome<std::tuple<Tensor, Tensor, Tensor>> channel_norm_backward(const Tensor& g, const Tensor& x,
    const OptionalTensor& weight, const Tensor& mean, const Tensor& variance, double eps, bool of_batch) {
  if (!floats_of_planes(g) || !floats_of_planes(x) || !floats_in_order(weight) || !floats_in_order(mean) ||
      !floats_in_order(variance))
    return kChannelsLastOrNoFloats;
  if (!of_channels(x, {&or_null(weight), &mean, &variance}) || !std::ranges::equal(g->sizes(), x->sizes()))
    return kNoChannels;
  return unlocked(x->numel(), [&] {
    const DType compute = compute_dtype(x->dtype());
    const Seen s = seen(x, compute);
    const bool turned = s.lines && !lies_in_lines(*g);
    const Seen dy = seen(turned ? clone(g, MemoryFormat::channels_last) : s.lines ? g : contiguous(g), compute);
    const Tensor w = contiguous_of(or_null(weight), compute), m = contiguous_of(mean, compute),
                 v = contiguous_of(variance, compute);
    const Tensor dx = empty_like(s), dw = empty(Dims{s.layout.channels}, compute, Device{}),
                 db = empty(Dims{s.layout.channels}, compute, Device{});
    by_dtype(compute, [&]<class T>(T) {
      const auto run = s.lines ? backward_lines<T> : backward<T>;
      run(s.layout, dy.data->data_as<T>(), s.data->data_as<T>(), data_or_null<T>(w), m->data_as<T>(), v->data_as<T>(),
          eps, of_batch, dx->data_as<T>(), dw->data_as<T>(), db->data_as<T>());
    });
    return std::tuple(back(s, dx, x), dw, db);
  });
}

}  // namespace shim
