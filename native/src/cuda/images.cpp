#include "cuda/images.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "ops/kernels.h"

namespace shim::cuda {

namespace {

const Family planes{"images"};
constexpr int kImagesThreads = 256;

CUfunction plane_kernel(const char* entry, DType t, const char* macro, int kind, int device) {
  return find_kernel(planes, entry, key_of(int(t), kind, macro ? 1 : 0), device, [&] {
    std::vector<std::string> macros{
        std::string("ELEMENT=") + element_type(t), std::string("C=") + compute_type(compute_dtype(t)), "V=1"};
    if (macro) macros.push_back(std::string(macro) + "=" + std::to_string(kind));
    return macros;
  });
}

bool fits(const Tensor& t) { return kernels_ready() && floating(t->dtype()) && t->numel() < INT32_MAX; }
void launch_each(CUfunction f, int64_t n, void** arguments, int device) {
  launch(f, (n + kImagesThreads - 1) / kImagesThreads, 1, kImagesThreads, 1, arguments, device);
}

Tensor planes_like(const Tensor& x, const Sides& s, bool inputs, DType t) {
  Dims sizes{x->sizes()[0]};
  for (const Side& side : s.of) sizes.push_back(inputs ? side.size : side.out);
  return empty(sizes, t, x->device());
}

}  // namespace

Tensor box_max(const Tensor& x, const Sides& s, Tensor* indices) {
  const int device = x->device().index;
  Tensor out = planes_like(x, s, false, x->dtype());
  if (!fits(x) || !fits(out)) return {};
  if (indices) *indices = planes_like(x, s, false, DType::i64);
  if (!out->numel()) return out;
  const CUfunction f = plane_kernel("box_max", x->dtype(), nullptr, 0, device);
  if (!f) return {};
  const void* from = x->data();
  void *to = out->data(), *at = indices ? (*indices)->data() : nullptr;
  uint32_t n = uint32_t(out->numel());
  Sides sides = s;
  void* arguments[] = {&from, &to, &at, &n, &sides.of[0], &sides.of[1], &sides.of[2]};
  launch_each(f, n, arguments, device);
  return out;
}

namespace {

Tensor means(const char* entry, const Tensor& x, const Sides& s, bool back, bool include_pad, int64_t divisor) {
  const int device = x->device().index;
  Tensor out = planes_like(x, s, back, x->dtype());
  if (!fits(x) || !fits(out) || divisor > INT32_MAX || divisor < -INT32_MAX) return {};
  if (!out->numel()) return out;
  const CUfunction f = plane_kernel(entry, x->dtype(), nullptr, 0, device);
  if (!f) return {};
  const void* from = x->data();
  void* to = out->data();
  uint32_t n = uint32_t(out->numel());
  int include = include_pad, by = int(divisor);
  Sides sides = s;
  void* arguments[] = {&from, &to, &n, &include, &by, &sides.of[0], &sides.of[1], &sides.of[2]};
  launch_each(f, n, arguments, device);
  return out;
}

}  // namespace

Tensor box_mean(const Tensor& x, const Sides& s, bool include_pad, int64_t divisor) {
  return means("box_mean", x, s, false, include_pad, divisor);
}
Tensor box_mean_backward(const Tensor& g, const Sides& s, bool include_pad, int64_t divisor) {
  return means("box_mean_backward", g, s, true, include_pad, divisor);
}

namespace {

template <class C> struct Stretched {
  int size, out, aligned;
  alignas(sizeof(C)) C scale;
};

template <class C> void stretch(CUfunction f, const Tensor& x, const Tensor& out, const Stretch (&sides)[3]) {
  Stretched<C> s[3];
  for (int d = 0; d < 3; ++d) s[d] = {sides[d].size, sides[d].out, sides[d].aligned, C(sides[d].scale)};
  const void* from = x->data();
  void* to = out->data();
  uint32_t n = uint32_t(out->numel());
  void* arguments[] = {&from, &to, &n, &s[0], &s[1], &s[2]};
  launch_each(f, n, arguments, x->device().index);
}

}  // namespace

Tensor resize(Stretching how, const Tensor& x, const Stretch (&sides)[3]) {
  const Tensor out = empty(Dims{x->sizes()[0], sides[0].out, sides[1].out, sides[2].out}, x->dtype(), x->device());
  if (!fits(x) || !fits(out)) return {};
  if (!out->numel()) return out;
  const CUfunction f = plane_kernel("resize", x->dtype(), "KIND", int(how), x->device().index);
  if (!f) return {};
  x->dtype() == DType::f64 ? stretch<double>(f, x, out, sides) : stretch<float>(f, x, out, sides);
  return out;
}

Tensor weigh_lines(const Tensor& x, int64_t dim, const Tensor& indices, const Tensor& weights) {
  const int device = x->device().index;
  Dims sizes(x->sizes().begin(), x->sizes().end());
  const Cut c = cut_at(x, dim);
  sizes[size_t(dim)] = indices->sizes()[0];
  if (!fits(x) || c.outer * c.inner * indices->sizes()[0] >= INT32_MAX) return {};
  const Tensor out = empty(sizes, x->dtype(), x->device());
  if (!out->numel()) return out;
  const CUfunction f = plane_kernel("weigh_lines", x->dtype(), nullptr, 0, device);
  if (!f) return {};
  const void *from = x->data(), *at = indices->data(), *by = weights->data();
  void* to = out->data();
  uint32_t n = uint32_t(out->numel()), inner = uint32_t(c.inner), outs = uint32_t(indices->sizes()[0]),
           size = uint32_t(c.n);
  int taps = int(indices->sizes()[1]);
  void* arguments[] = {&from, &to, &at, &by, &n, &inner, &outs, &size, &taps};
  launch_each(f, n, arguments, device);
  return out;
}

Tensor sample_grid(const Tensor& x, const Tensor& grid, bool near, int padding, bool align_corners) {
  const IntArrayRef of = x->sizes(), points = grid->sizes();
  const Tensor out = empty(Dims{of[0], of[1], points[1], points[2]}, x->dtype(), x->device());
  if (!fits(x) || !fits(grid) || !fits(out)) return {};
  if (!out->numel()) return out;
  const int device = x->device().index;
  const CUfunction f = plane_kernel("sample_grid", x->dtype(), "PADDING", padding, device);
  if (!f) return {};
  const void *from = x->data(), *at = grid->data();
  void* to = out->data();
  uint32_t n = uint32_t(grid->numel() / 2), spots = uint32_t(points[1] * points[2]);
  int channels = int(of[1]), height = int(of[2]), width = int(of[3]), aligned = align_corners, nearest = near;
  void* arguments[] = {&from, &at, &to, &n, &channels, &height, &width, &spots, &aligned, &nearest};
  launch_each(f, n, arguments, device);
  return out;
}

Tensor sample_grid_backward(
    const Tensor& g, const Tensor& x, const Tensor& grid, bool near, int padding, bool align_corners, bool of_grid) {
  const IntArrayRef of = x->sizes(), points = grid->sizes();
  if (!fits(x) || !fits(grid) || !fits(g)) return {};
  const DType t = x->dtype(), compute = cuda::compute_dtype(t);
  const int device = x->device().index;
  const CUfunction f = plane_kernel(of_grid ? "slopes_of_grid" : "spread_samples", t, "PADDING", padding, device);
  if (!f) return {};
  const Tensor out = empty(of_grid ? points : of, of_grid ? t : compute, x->device());
  if (!of_grid || near) fill_(out, Scalar{});
  const void *slopes = g->data(), *from = x->data(), *at = grid->data();
  void* to = out->data();
  uint32_t n = uint32_t(grid->numel() / 2), spots = uint32_t(points[1] * points[2]);
  int channels = int(of[1]), height = int(of[2]), width = int(of[3]), aligned = align_corners, nearest = near;
  if (of_grid) {
    void* arguments[] = {&slopes, &from, &at, &to, &n, &channels, &height, &width, &spots, &aligned};
    if (n && !near) launch_each(f, n, arguments, device);
    return out;
  }
  // Channels a thread takes: as many as leave enough threads.
  int per = int(std::max<int64_t>(channels / std::max<int64_t>(1, (int64_t(1) << 19) / std::max<uint32_t>(n, 1)), 1));
  per = std::max(per, int((channels + kMostRows - 1) / kMostRows));
  void* arguments[] = {&slopes, &at, &to, &n, &channels, &height, &width, &spots, &aligned, &nearest, &per};
  if (n && channels)
    launch(
        f, (n + kImagesThreads - 1) / kImagesThreads, (channels + per - 1) / per, kImagesThreads, 1, arguments, device);
  return compute == t ? out : to_dtype(out, t);
}

}  // namespace shim::cuda
