#include "cuda/images.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/entries/images.h"
#include "cuda/entries/resize.h"
#include "cuda/entries/sample_grid.h"
#include "cuda/reasons.h"
#include "ops/kernels.h"

namespace shim::cuda {

namespace {

const Family planes{"images"};
constexpr int kImagesThreads = 256;

template <class E> Kernel<E> plane_kernel(DType t, const char* macro, int kind, int device, int vector = 1) {
  return find_kernel<E>(planes, key_of(int(t), kind, macro ? 1 : 0, vector), device, [&] {
    std::vector<std::string> macros{std::string("ELEMENT=") + element_type(t),
        std::string("C=") + compute_type(compute_dtype(t)), "V=" + std::to_string(vector)};
    if (macro) macros.push_back(std::string(macro) + "=" + std::to_string(kind));
    return macros;
  });
}

// Why kernels of planes do not take these; null where they do.
const char* unfit(std::initializer_list<const Tensor*> tensors) {
  if (!kernels_ready()) return kNoCompiler.reason;
  for (const Tensor* t : tensors) {
    if (!floating((*t)->dtype())) return kOtherDtype.reason;
    if ((*t)->numel() >= INT32_MAX) return kTooMany.reason;
  }
  return nullptr;
}
template <class E, class... A> void launch_each(Kernel<E> f, int64_t n, int device, const A&... arguments) {
  launch(f, {(n + kImagesThreads - 1) / kImagesThreads, 1, kImagesThreads}, device, arguments...);
}

struct Inner {
  uint32_t groups = 1;  // of channels that are last
  int vector = 1;       // channels of a group
};
Inner inner_of(const Tensor& x, const Tensor& out) {
  if (x->dim() < 5) return {};
  const int64_t channels = x->sizes()[4];
  const int vector = vector_for(channels, {&x, &out});
  return {uint32_t(channels / vector), vector};
}
Tensor planes_like(const Tensor& x, const Sides& s, bool inputs, DType t) {
  Dims sizes{x->sizes()[0]};
  for (const Side& side : s.of) sizes.push_back(inputs ? side.size : side.out);
  if (x->dim() > 4) sizes.push_back(x->sizes()[4]);
  return empty(sizes, t, x->device());
}

}  // namespace

Outcome<Tensor> box_max(const Tensor& x, const Sides& s, Tensor* indices) {
  const int device = x->device().index;
  Tensor out = planes_like(x, s, false, x->dtype());
  if (const char* why = unfit({&x, &out})) return NotMine{why};
  if (indices) *indices = planes_like(x, s, false, DType::i64);
  if (!out->numel()) return out;
  const auto [inner, vector] = inner_of(x, out);
  const auto f = plane_kernel<entries::images::box_max>(x->dtype(), nullptr, 0, device, vector);
  if (!f) return kNotCompiled;
  uint32_t n = uint32_t(out->numel() / vector);
  Sides sides = s;
  launch_each(f, n, device, x->data(), out->data(), indices ? (*indices)->data() : nullptr, n, inner, sides.of[0],
      sides.of[1], sides.of[2]);
  return out;
}

namespace {

// Why there are no means; null where there are.
const char* no_means(const Tensor& x, const Tensor& out, int64_t divisor) {
  if (const char* why = unfit({&x, &out})) return why;
  return divisor > INT32_MAX || divisor < -INT32_MAX ? "a divisor of more than 31 bits" : nullptr;
}

}  // namespace

Outcome<Tensor> box_mean(const Tensor& x, const Sides& s, bool include_pad, int64_t divisor) {
  const int device = x->device().index;
  Tensor out = planes_like(x, s, false, x->dtype());
  if (const char* why = no_means(x, out, divisor)) return NotMine{why};
  if (!out->numel()) return out;
  const auto [inner, vector] = inner_of(x, out);
  const auto f = plane_kernel<entries::images::box_mean>(x->dtype(), nullptr, 0, device, vector);
  if (!f) return kNotCompiled;
  launch_each(f, uint32_t(out->numel() / vector), device, x->data(), out->data(), uint32_t(out->numel() / vector),
      inner, include_pad, int(divisor), s.of[0], s.of[1], s.of[2]);
  return out;
}
Outcome<Tensor> box_mean_backward(const Tensor& g, const Sides& s, bool include_pad, int64_t divisor) {
  const int device = g->device().index;
  Tensor out = planes_like(g, s, true, g->dtype());
  if (const char* why = no_means(g, out, divisor)) return NotMine{why};
  if (!out->numel()) return out;
  const int vector = vector_for(s.of[2].size, {&out});
  const auto f = plane_kernel<entries::images::box_mean_backward>(g->dtype(), nullptr, 0, device, vector);
  if (!f) return kNotCompiled;
  uint32_t n = uint32_t(out->numel() / vector);
  launch_each(f, n, device, g->data(), out->data(), n, include_pad, int(divisor), s.of[0], s.of[1], s.of[2]);
  return out;
}

namespace {

template <class C> struct Stretched {
  int size, out, aligned;
  alignas(sizeof(C)) C scale;
};

template <class C, class F> void with_sides(const Stretch (&sides)[3], F&& f) {
  Stretched<C> s[3];
  for (int d = 0; d < 3; ++d) s[d] = {sides[d].size, sides[d].out, sides[d].aligned, C(sides[d].scale)};
  f(s[0], s[1], s[2]);
}
// f(sides as kernels of t take them).
template <class F> void with_sides_of(DType t, const Stretch (&sides)[3], F&& f) {
  t == DType::f64 ? with_sides<double>(sides, f) : with_sides<float>(sides, f);
}

}  // namespace

Outcome<Tensor> resize(Stretching how, const Tensor& x, const Stretch (&sides)[3]) {
  Dims sizes{x->sizes()[0], sides[0].out, sides[1].out, sides[2].out};
  if (x->dim() > 4) sizes.push_back(x->sizes()[4]);
  const Tensor out = empty(sizes, x->dtype(), x->device());
  if (const char* why = unfit({&x, &out})) return NotMine{why};
  if (!out->numel()) return out;
  const int device = x->device().index;
  if (x->dim() == 4 && how != Stretching::cubic) {
    const int vector = vector_for(sides[2].out, {&out});
    const auto f = plane_kernel<entries::resize::resize_rows>(x->dtype(), "KIND", int(how), device, vector);
    if (!f) return kNotCompiled;
    const int64_t planes = sizes[0], n = out->numel() / planes / vector, blocks = blocks_for(n);
    // What is computed once serves up to eight planes, while the multiprocessors have enough threads.
    const int64_t apart = std::clamp((132 * 8 + blocks - 1) / blocks, (planes + 7) / 8, planes);
    with_sides_of(x->dtype(), sides, [&](const auto& a, const auto& b, const auto& c) {
      launch(f, {blocks, std::min(apart, kMostRows), 256}, device, x->data(), out->data(), uint32_t(n),
          uint32_t(planes), a, b, c);
    });
    return out;
  }
  const Inner inner = inner_of(x, out);
  const auto f = plane_kernel<entries::resize::resize>(x->dtype(), "KIND", int(how), device, inner.vector);
  if (!f) return kNotCompiled;
  const uint32_t n = uint32_t(out->numel() / inner.vector);
  with_sides_of(x->dtype(), sides, [&](const auto& a, const auto& b, const auto& c) {
    launch_each(f, n, device, x->data(), out->data(), n, inner.groups, a, b, c);
  });
  return out;
}

Outcome<Tensor> nearest_backward(bool exact, const Tensor& g, const Stretch (&sides)[3]) {
  const Tensor out = empty(Dims{g->sizes()[0], sides[0].size, sides[1].size, sides[2].size}, g->dtype(), g->device());
  if (const char* why = unfit({&g, &out})) return NotMine{why};
  if (!out->numel()) return out;
  const int device = g->device().index, vector = vector_for(sides[2].size, {&out});
  const auto f = plane_kernel<entries::resize::nearest_backward>(g->dtype(), "KIND", exact, device, vector);
  if (!f) return kNotCompiled;
  const uint32_t n = uint32_t(out->numel() / vector);
  with_sides_of(g->dtype(), sides, [&](const auto& a, const auto& b, const auto& c) {
    launch_each(f, n, device, g->data(), out->data(), n, a, b, c);
  });
  return out;
}

Outcome<Tensor> resample_dim(const Tensor& self, int64_t dim, const Tensor& places, const Tensor& factors) {
  if (const char* why = not_floats({&self})) return NotMine{why};
  if (dim < 0 || dim >= self->dim()) return NotMine{"a dim out of range"};
  if (places->dtype() != DType::i64) return NotMine{"indices other than int64"};
  if (factors->dtype() != self->dtype()) return kMixedDtypes;
  if (places->dim() != 2 || !places->numel() || !std::ranges::equal(places->sizes(), factors->sizes()))
    return kOtherSizes;
  if (places->device() != self->device() || factors->device() != self->device()) return kMixedDevices;
  const Tensor x = contiguous(self), indices = contiguous(places), weights = contiguous(factors);
  const int device = x->device().index;
  Dims sizes(x->sizes().begin(), x->sizes().end());
  const Cut c = cut_at(x, dim);
  sizes[size_t(dim)] = indices->sizes()[0];
  if (const char* why = unfit({&x})) return NotMine{why};
  if (c.outer * c.inner * indices->sizes()[0] >= INT32_MAX) return kTooMany;
  const Tensor out = empty(sizes, x->dtype(), x->device());
  if (!out->numel()) return out;
  const auto f = plane_kernel<entries::images::weigh_lines>(x->dtype(), nullptr, 0, device);
  if (!f) return kNotCompiled;
  uint32_t n = uint32_t(out->numel()), inner = uint32_t(c.inner), outs = uint32_t(indices->sizes()[0]),
           size = uint32_t(c.n);
  int taps = int(indices->sizes()[1]);
  launch_each(f, n, device, x->data(), out->data(), indices->data(), weights->data(), n, inner, outs, size, taps);
  return out;
}

namespace {

// Why no kernel takes samples of images at the places of a grid; null where one does.
const char* no_samples(const Tensor& x, const Tensor& grid, int64_t mode, int64_t padding) {
  if (const char* why = not_floats({&x, &grid})) return why;
  if (mode < 0 || mode > 1 || padding < 0 || padding > 2) return "a mode other than bilinear and nearest";
  if (grid->dtype() != x->dtype()) return kMixedDtypes.reason;
  if (grid->device() != x->device()) return kMixedDevices.reason;
  const bool fit = x->dim() == 4 && grid->dim() == 4 && grid->sizes()[3] == 2 && grid->sizes()[0] == x->sizes()[0];
  return fit ? nullptr : kOtherSizes.reason;
}

}  // namespace

Outcome<Tensor> sample_grid(
    const Tensor& given, const Tensor& places, int64_t mode, int64_t padding, bool align_corners) {
  if (const char* why = no_samples(given, places, mode, padding)) return NotMine{why};
  const Tensor x = contiguous(given), grid = contiguous(places);
  const IntArrayRef of = x->sizes(), points = grid->sizes();
  const Tensor out = empty(Dims{of[0], of[1], points[1], points[2]}, x->dtype(), x->device());
  if (const char* why = unfit({&x, &grid, &out})) return NotMine{why};
  if (!out->numel()) return out;
  const int device = x->device().index;
  const auto f = plane_kernel<entries::sample_grid::sample_grid>(x->dtype(), "PADDING", int(padding), device);
  if (!f) return kNotCompiled;
  uint32_t n = uint32_t(grid->numel() / 2), spots = uint32_t(points[1] * points[2]);
  int channels = int(of[1]), height = int(of[2]), width = int(of[3]), nearest = mode == 1;
  launch_each(
      f, n, device, x->data(), grid->data(), out->data(), n, channels, height, width, spots, align_corners, nearest);
  return out;
}

Outcome<Tensor> sample_grid_backward(const Tensor& slope, const Tensor& given, const Tensor& places, int64_t mode,
    int64_t padding, bool align_corners, bool of_grid) {
  if (const char* why = not_floats({&slope})) return NotMine{why};
  if (const char* why = no_samples(given, places, mode, padding)) return NotMine{why};
  if (slope->dtype() != given->dtype()) return kMixedDtypes;
  if (slope->device() != given->device()) return kMixedDevices;
  if (!std::ranges::equal(
          slope->sizes(), Dims{given->sizes()[0], given->sizes()[1], places->sizes()[1], places->sizes()[2]}))
    return kOtherSizes;
  const Tensor g = contiguous(slope), x = contiguous(given), grid = contiguous(places);
  const bool near = mode == 1;
  const IntArrayRef of = x->sizes(), points = grid->sizes();
  if (const char* why = unfit({&x, &grid, &g})) return NotMine{why};
  const DType t = x->dtype(), compute = cuda::compute_dtype(t);
  const int device = x->device().index;
  Kernel<entries::sample_grid::slopes_of_grid> slopes_of;
  Kernel<entries::sample_grid::spread_samples> spread;
  of_grid ? void(slopes_of = plane_kernel<entries::sample_grid::slopes_of_grid>(t, "PADDING", int(padding), device))
          : void(spread = plane_kernel<entries::sample_grid::spread_samples>(t, "PADDING", int(padding), device));
  if (!slopes_of && !spread) return kNotCompiled;
  const Tensor out = empty(of_grid ? points : of, of_grid ? t : compute, x->device());
  if (!of_grid || near) fill_(out, Scalar{});
  const void *slopes = g->data(), *at = grid->data();
  void* to = out->data();
  uint32_t n = uint32_t(grid->numel() / 2), spots = uint32_t(points[1] * points[2]);
  int channels = int(of[1]), height = int(of[2]), width = int(of[3]), aligned = align_corners;
  if (of_grid) {
    if (n && !near)
      launch_each(slopes_of, n, device, slopes, x->data(), at, to, n, channels, height, width, spots, aligned);
    return out;
  }
  // Channels a thread takes: as many as leave enough threads.
  int per = int(std::max<int64_t>(channels / std::max<int64_t>(1, (int64_t(1) << 19) / std::max<uint32_t>(n, 1)), 1));
  per = std::max(per, int((channels + kMostRows - 1) / kMostRows));
  if (n && channels)
    launch(spread, {(n + kImagesThreads - 1) / kImagesThreads, (channels + per - 1) / per, kImagesThreads}, device,
        slopes, at, to, n, channels, height, width, spots, aligned, near, per);
  return compute == t ? out : to_dtype(out, t);
}

}  // namespace shim::cuda
