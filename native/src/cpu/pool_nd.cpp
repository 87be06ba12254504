// Pools over boxes of up to three dims, each dim's spans given: windows of volumes, and the parts of adaptive pools.
#include <algorithm>
#include <limits>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/pool_spans.h"
#include "cpu/pooling.h"
#include "cpu/reduce.h"
#include "cpu/window_settings.h"

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

Dims result_sizes(const Tensor& x, const Spans (&spans)[3]) {
  return {x->sizes()[0], int64_t(spans[0].size()), int64_t(spans[1].size()), int64_t(spans[2].size())};
}

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

// divisor 0: what each span counts
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

// (planes, depth, height, width) of the compute dtype, of an input whose last n dims are pooled; null where it has no dims for that.
Tensor as_volumes(const Tensor& x, int n) {
  if (x->dim() < n + 1 || x->dim() > n + 2) return {};
  Dims sizes(4, 1);
  for (int i = 0; i < n; ++i) sizes[size_t(4 - n + i)] = x->sizes()[size_t(x->dim() - n + i)];
  sizes[0] = x->numel() / (sizes[1] * sizes[2] * sizes[3]);
  return view(*contiguous_of(x, compute_dtype(x->dtype())), sizes);
}

// A result of planes, in the input's dtype and with its leading dims.
Tensor given_back(const Tensor& out, const Tensor& x, int n, DType dtype) {
  Dims sizes(x->sizes().begin(), x->sizes().end());
  for (int i = 0; i < n; ++i) sizes[sizes.size() - size_t(n) + size_t(i)] = out->sizes()[size_t(4 - n + i)];
  return of_dtype(view(*out, sizes), dtype);
}

bool adaptive_spans(const Tensor& x, int n, IntArrayRef parts, Spans (&spans)[3]) {
  if (parts.size() != size_t(n)) return false;
  for (int d = 0; d < 3; ++d) {
    if (d < 3 - n) {
      spans[d] = {{0, 1, 1}};
      continue;
    }
    const int64_t size = x->sizes()[size_t(d + 1)], many = parts[size_t(d - 3 + n)];
    if (many < 1 || many > (int64_t(1) << 24)) return false;
    spans[d] = spans_of_parts(size, many);
  }
  return true;
}

struct VolumeWindows {
  int64_t kernel[3], stride[3], padding[3], dilation[3];
};

// False where the record has to say what is wrong with the settings.
bool windows_of(IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, VolumeWindows* w) {
  if (!triple_of(kernel, 3, 1, 1, w->kernel) || !triple_of(padding, 3, 0, 0, w->padding) ||
      !triple_of(dilation, 3, 1, 1, w->dilation))
    return false;
  if (stride.empty())
    std::copy_n(w->kernel, 3, w->stride);
  else if (!triple_of(stride, 3, 1, 1, w->stride))
    return false;
  for (int d = 0; d < 3; ++d)
    if (w->padding[d] > ((w->kernel[d] - 1) * w->dilation[d] + 1) / 2) return false;
  return true;
}

bool window_spans(const Tensor& x, const VolumeWindows& w, bool ceil_mode, bool include_pad, Spans (&spans)[3]) {
  for (size_t d = 0; d < 3; ++d) {
    const int64_t size = x->sizes()[d + 1], reach = w.dilation[d] * (w.kernel[d] - 1) + 1,
                  room = size + 2 * w.padding[d] - reach;
    if (room < 0) return false;
    int64_t many = (ceil_mode ? (room + w.stride[d] - 1) / w.stride[d] : room / w.stride[d]) + 1;
    if (ceil_mode && (many - 1) * w.stride[d] >= size + w.padding[d]) --many;
    if (many < 1) return false;
    spans[d] = spans_of_windows(size, many, w.kernel[d], w.stride[d], w.padding[d], w.dilation[d], include_pad);
  }
  return true;
}

// The spans of a pool of images in channels last, where it is one.
template <int n> bool spans_of_lines(const Tensor& x, IntArrayRef parts, Spans (&spans)[2]) {
  if (n != 2 || !wide_float(x) || !lies_in_lines(*x) || parts.size() != 2) return false;
  for (size_t d = 0; d < 2; ++d) {
    if (parts[d] < 1 || parts[d] > (int64_t(1) << 24)) return false;
    spans[d] = spans_of_parts(x->sizes()[2 + d], parts[d]);
  }
  return true;
}

}  // namespace

template <int n> Outcome<ValuesAndIndices> adaptive_max_pool(const Tensor& x, IntArrayRef output_size) {
  if (!(n == 2 ? floats_of_planes(x) : floats_in_order(x)) || !x->numel()) return kChannelsLastOrNoFloats;
  if (Spans over[2]; spans_of_lines<n>(x, output_size, over)) {
    Tensor places, best = unlocked(x->numel(), [&] { return max_of_lines(x, over[0], over[1], {1, 1}, &places); });
    return ValuesAndIndices{std::move(best), std::move(places)};
  }
  const Tensor volumes = as_volumes(x, n);
  Spans spans[3];
  if (!volumes || !adaptive_spans(volumes, n, output_size, spans)) return kUnsuitedWindows;
  Tensor indices, out = unlocked(x->numel(), [&] { return box_max(volumes, spans, {1, 1, 1}, &indices); });
  return ValuesAndIndices{
      in_format_of(x, given_back(out, x, n, x->dtype())), in_format_of(x, given_back(indices, x, n, DType::i64))};
}
template Outcome<ValuesAndIndices> adaptive_max_pool<1>(const Tensor&, IntArrayRef);
template Outcome<ValuesAndIndices> adaptive_max_pool<2>(const Tensor&, IntArrayRef);
template Outcome<ValuesAndIndices> adaptive_max_pool<3>(const Tensor&, IntArrayRef);

template <int n> Outcome<Tensor> adaptive_avg_pool(const Tensor& x, IntArrayRef output_size) {
  if (!(n == 2 ? floats_of_planes(x) : floats_in_order(x)) || !x->numel()) return kChannelsLastOrNoFloats;
  if (Spans over[2]; spans_of_lines<n>(x, output_size, over))
    return unlocked(x->numel(), [&] { return mean_of_lines(x, over[0], over[1], 0); });
  const Tensor volumes = as_volumes(x, n);
  Spans spans[3];
  if (!volumes || !adaptive_spans(volumes, n, output_size, spans)) return kUnsuitedWindows;
  if (n == 2 && spans[1].size() == 1 && spans[2].size() == 1 && floats_in_order(x))
    return or_not_mine(reduce(Reduction::mean, x, Dims{-1, -2}, true, DType::undefined), "no mean of such a dtype");
  return in_format_of(
      x, given_back(unlocked(x->numel(), [&] { return box_mean(volumes, spans, 0); }), x, n, x->dtype()));
}
template Outcome<Tensor> adaptive_avg_pool<1>(const Tensor&, IntArrayRef);
template Outcome<Tensor> adaptive_avg_pool<2>(const Tensor&, IntArrayRef);
template Outcome<Tensor> adaptive_avg_pool<3>(const Tensor&, IntArrayRef);

Outcome<ValuesAndIndices> max_pool3d_with_indices(const Tensor& x, IntArrayRef kernel, IntArrayRef stride,
    IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  if (!floats_in_order(x) || !x->numel()) return kChannelsLastOrNoFloats;
  const Tensor volumes = as_volumes(x, 3);
  VolumeWindows w;
  Spans spans[3];
  if (!volumes || !windows_of(kernel, stride, padding, dilation, &w) ||
      !window_spans(volumes, w, ceil_mode, false, spans))
    return kUnsuitedWindows;
  Tensor indices, out = unlocked(x->numel(), [&] { return box_max(volumes, spans, w.dilation, &indices); });
  return ValuesAndIndices{given_back(out, x, 3, x->dtype()), given_back(indices, x, 3, DType::i64)};
}

Outcome<Tensor> mean_pool3d(const Tensor& x, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
    bool ceil_mode, bool include_pad, int64_t divisor) {
  if (!floats_in_order(x) || !x->numel()) return kChannelsLastOrNoFloats;
  if (x->itemsize() == 2) return NotMine{"float16 and bfloat16, which PyTorch refuses"};
  const Dims dilation{1};
  const Tensor volumes = as_volumes(x, 3);
  VolumeWindows w;
  Spans spans[3];
  if (!volumes || !windows_of(kernel, stride, padding, dilation, &w) ||
      !window_spans(volumes, w, ceil_mode, include_pad, spans))
    return kUnsuitedWindows;
  return given_back(unlocked(x->numel(), [&] { return box_mean(volumes, spans, divisor); }), x, 3, x->dtype());
}

}  // namespace shim
