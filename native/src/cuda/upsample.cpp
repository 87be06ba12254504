#include "cuda/upsample.h"

#include <algorithm>

#include "cuda/planes.h"
#include "cuda/reasons.h"

namespace shim::cuda {
namespace {

// How each dim of `size` is read; false: a size that is none.
bool stretches_of(const Tensor& x, int n, const Dims& size, const double (&scales)[3], bool aligned, Stretch (&s)[3]) {
  for (int i = 0; i < n; ++i) {
    Stretch& to = s[3 - n + i];
    const int64_t from = x->sizes()[size_t(i + 2)], out = size[size_t(i)];
    if (out < 1 || out >= kMostSide) return false;
    to = {int(from), int(out), aligned, 1};
    if (aligned)
      to.scale = out > 1 ? double(from - 1) / double(out - 1) : 0;
    else
      to.scale = scales[i] > 0 ? 1 / scales[i] : double(from) / double(out);
  }
  return true;
}

Outcome<Tensor> upsample_by_list(const Upsampling& u, const Tensor& self, std::optional<IntArrayRef> size,
    bool align_corners, Factors scale_factors) {
  if (!scale_factors) return upsample(u, self, size, align_corners, {});
  const std::vector<Factor> factors(scale_factors->begin(), scale_factors->end());
  if (factors.size() != size_t(u.dims)) return NotMine{"other than one factor a dim"};
  return upsample(u, self, size, align_corners, factors);
}

// The sides of planes whose n last dims are `size` in `x` (or `backward` to it), with the places of the source for one of the result.
const char* nearest_sides(
    const Tensor& x, IntArrayRef size, std::span<const double> scales, bool backward, Stretch (&s)[3]) {
  const int n = int(size.size());
  if (const char* why = not_floats({&x})) return why;
  if (n < 1 || n > 3 || x->dim() != n + 2 || scales.size() != size.size()) return kOtherSizes.reason;
  if (x->numel() > INT32_MAX) return kTooMany.reason;
  for (int i = 0; i < n; ++i) {
    const int64_t own = x->sizes()[size_t(i + 2)], other = size[size_t(i)];
    if (other < 1 || other >= kMostSide || !(scales[size_t(i)] > 0)) return kOtherSizes.reason;
    s[3 - n + i] = {int(backward ? other : own), int(backward ? own : other), 0, scales[size_t(i)]};
  }
  return nullptr;
}
Outcome<Tensor> nearest_of(
    const Tensor& given, IntArrayRef size, std::span<const double> scales, bool exact, bool backward) {
  Stretch s[3];
  if (const char* why = nearest_sides(given, size, scales, backward, s)) return NotMine{why};
  const Tensor t = contiguous(given);
  const int64_t planes = t->sizes()[0] * t->sizes()[1];
  const Tensor x =
      view(*t, backward ? Dims{planes, s[0].out, s[1].out, s[2].out} : Dims{planes, s[0].size, s[1].size, s[2].size});
  const auto out =
      backward ? nearest_backward(exact, x, s) : resize(exact ? Stretching::nearest_exact : Stretching::nearest, x, s);
  if (!out) return out.why();
  Dims sizes{t->sizes()[0], t->sizes()[1]};
  sizes.insert(sizes.end(), size.begin(), size.end());
  return view(**out, sizes);
}

}  // namespace

Outcome<Tensor> nearest(const Tensor& x, IntArrayRef size, std::span<const double> scales, bool exact) {
  return nearest_of(x, size, scales, exact, false);
}
Outcome<Tensor> nearest_slope(const Tensor& g, IntArrayRef size, std::span<const double> scales, bool exact) {
  return nearest_of(g, size, scales, exact, true);
}

Outcome<Tensor> upsample(const Upsampling& u, const Tensor& x, std::optional<IntArrayRef> given, bool align_corners,
    std::span<const Factor> factors) {
  const int n = u.dims;
  if (const char* why = not_floats({&x})) return NotMine{why};
  if (x->dim() != n + 2) return kOtherSizes;
  if (x->numel() > INT32_MAX) return kTooMany;
  double scales[3] = {};  // 0: not given
  for (size_t i = 0; i < factors.size(); ++i) {
    if (!factors[i]) continue;
    if (!(*factors[i] > 0)) return NotMine{"a factor that is not positive"};
    scales[i] = *factors[i];
  }
  Dims size;
  if (given)
    size.assign(given->begin(), given->end());
  else
    for (int i = 0; i < n; ++i)
      size.push_back(scales[i] > 0 ? int64_t(double(x->sizes()[size_t(i + 2)]) * scales[i]) : 0);
  // A dim that keeps its size is copied by linear ones, and by the nearest one of images, whatever factor is given.
  const bool copies = u.how == Stretching::linear || (u.how == Stretching::nearest && n == 2);
  for (int i = 0; copies && i < n && size_t(i) < size.size(); ++i)
    if (size[size_t(i)] == x->sizes()[size_t(i + 2)]) scales[i] = 0;
  Stretch s[3];
  if (size.size() != size_t(n) || !stretches_of(x, n, size, scales, align_corners, s)) return kOtherSizes;
  const Dims planes{x->sizes()[0] * x->sizes()[1], s[0].size, s[1].size, s[2].size};
  Sides sides;
  Tensor in = as_planes_of_channels(x, n, &sides);
  if (!in) in = view(*contiguous(x), planes);
  return planes_back(resize(u.how, in, s), x, n);
}

Outcome<Tensor> upsample_vec(
    Registered<Upsampling> u, const Tensor& self, std::optional<IntArrayRef> size, Factors scale_factors) {
  return upsample_by_list(*u, self, size, false, scale_factors);
}

Outcome<Tensor> upsample_aligned_vec(Registered<Upsampling> u, const Tensor& self, std::optional<IntArrayRef> size,
    bool align_corners, Factors scale_factors) {
  return upsample_by_list(*u, self, size, align_corners, scale_factors);
}

}  // namespace shim::cuda
