#include "cuda/pooling.h"

#include "cuda/images.h"
#include "cuda/planes.h"
#include "cuda/reasons.h"

namespace shim::cuda {
namespace {

constexpr NotMine kWindows{"windows that the kernel does not take"};

struct Pooled {
  Tensor planes;
  Sides sides;
};

Outcome<Pooled> pooled(const Tensor& x, int n, bool channels_last = true) {
  if (const char* why = not_floats({&x})) return NotMine{why};
  Pooled p;
  if (channels_last) p.planes = as_planes_of_channels(x, n, &p.sides);
  if (!p.planes) p.planes = as_planes(x, n, &p.sides);
  if (!p.planes) return kOtherSizes;
  return p;
}

bool adaptive_sides(int n, IntArrayRef output_size, Sides* s) {
  Dims parts;
  if (output_size.size() != size_t(n) || !numbers_of(output_size, n, 1, &parts)) return false;
  for (int i = 0; i < n; ++i) {
    Side& side = s->of[3 - n + i];
    side.out = int(parts[size_t(i)]);
    side.adaptive = 1;
  }
  return true;
}

struct Window {
  IntArrayRef kernel, stride, padding;
  bool ceil_mode;
  const IntArrayRef* dilation = nullptr;  // null: 1
};

// Settings that nothing is wrong with.
bool window_sides(int n, const Window& w, Sides* s) {
  Dims k, step, pad, apart(size_t(n), 1);
  if (!numbers_of(w.kernel, n, 1, &k) || !numbers_of(w.padding, n, 0, &pad)) return false;
  if (w.stride.empty())
    step = k;
  else if (!numbers_of(w.stride, n, 1, &step))
    return false;
  if (w.dilation && !numbers_of(*w.dilation, n, 1, &apart)) return false;
  for (int i = 0; i < n; ++i) {
    Side& side = s->of[3 - n + i];
    const size_t d = size_t(i);
    const int64_t reach = apart[d] * (k[d] - 1) + 1, room = side.size + 2 * pad[d] - reach;
    if (pad[d] > reach / 2 || room < 0) return false;
    int64_t many = (w.ceil_mode ? (room + step[d] - 1) / step[d] : room / step[d]) + 1;
    if (w.ceil_mode && (many - 1) * step[d] >= side.size + pad[d]) --many;
    if (many < 1) return false;
    side = {side.size, int(many), int(k[d]), int(step[d]), int(pad[d]), int(apart[d]), 0};
  }
  return true;
}

Outcome<ValuesAndIndices> max_and_places(const Pooled& p, const Tensor& x, int n) {
  Tensor places;
  auto out = planes_back(box_max(p.planes, p.sides, &places), x, n);
  if (!out) return out.why();
  return ValuesAndIndices{*out, *planes_back(places, x, n)};
}

}  // namespace

Outcome<ValuesAndIndices> max_pool_with_indices(PooledDims n, const Tensor& self, IntArrayRef kernel,
    IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  auto p = pooled(self, *n);
  if (!p) return p.why();
  if (!window_sides(*n, {kernel, stride, padding, ceil_mode, &dilation}, &p->sides)) return kWindows;
  return max_and_places(*p, self, *n);
}

Outcome<Tensor> max_pool(PooledDims n, const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
    IntArrayRef dilation, bool ceil_mode) {
  auto p = pooled(self, *n);
  if (!p) return p.why();
  if (!window_sides(*n, {kernel, stride, padding, ceil_mode, &dilation}, &p->sides)) return kWindows;
  return planes_back(box_max(p->planes, p->sides, nullptr), self, *n);
}

Outcome<ValuesAndIndices> adaptive_max_pool(PooledDims n, const Tensor& self, IntArrayRef output_size) {
  auto p = pooled(self, *n);
  if (!p) return p.why();
  if (!adaptive_sides(*n, output_size, &p->sides)) return kWindows;
  return max_and_places(*p, self, *n);
}

Outcome<Tensor> adaptive_avg_pool(PooledDims n, const Tensor& self, IntArrayRef output_size) {
  auto p = pooled(self, *n);
  if (!p) return p.why();
  if (!adaptive_sides(*n, output_size, &p->sides)) return kWindows;
  const Side(&of)[3] = p->sides.of;
  if (of[0].out * of[1].out * of[2].out == 1) return NotMine{"one large part, whose mean a reduction finds faster"};
  return planes_back(box_mean(p->planes, p->sides, false, 0), self, *n);
}

Outcome<Tensor> avg_pool(PooledDims n, const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
    bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor) {
  if (divisor == 0) return NotMine{"a divisor of zero, which PyTorch refuses"};
  auto p = pooled(self, *n);
  if (!p) return p.why();
  if (!window_sides(*n, {kernel, stride, padding, ceil_mode}, &p->sides)) return kWindows;
  return planes_back(box_mean(p->planes, p->sides, count_include_pad, divisor.value_or(0)), self, *n);
}

Outcome<Tensor> mean_pool(const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
    bool ceil_mode, bool include_pad, int64_t divisor) {
  auto p = pooled(self, 2);
  if (!p) return p.why();
  if (!window_sides(2, {kernel, stride, padding, ceil_mode}, &p->sides)) return kWindows;
  return planes_back(box_mean(p->planes, p->sides, include_pad, divisor), self, 2);
}

Outcome<Tensor> mean_pool_backward(const Tensor& g, IntArrayRef size, IntArrayRef kernel, IntArrayRef stride,
    IntArrayRef padding, bool include_pad, int64_t divisor) {
  auto of_result = pooled(g, 2, false);
  if (!of_result) return of_result.why();
  Sides s;
  Dims sizes;
  if (!numbers_of(size, 2, 1, &sizes)) return kOtherSizes;
  for (int d = 0; d < 2; ++d) s.of[d + 1].size = int(sizes[size_t(d)]);
  if (!window_sides(2, {kernel, stride, padding, false}, &s)) return kWindows;
  for (int d = 0; d < 2; ++d) s.of[d + 1].out = of_result->sides.of[d + 1].out;  // in ceil mode there may be one more
  return planes_back(box_mean_backward(of_result->planes, s, include_pad, divisor), g, 2);
}

}  // namespace shim::cuda
