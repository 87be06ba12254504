#include "cpu/interpolation_kernels.h"

#include <algorithm>

#include "autograd/autograd.h"
#include "cpu/interpolation.h"
#include "cpu/parallel.h"
#include "cpu/resample.h"
#include "cpu/window_settings.h"

namespace shim {
namespace {

constexpr NotMine kNotInterpolated{
    "dtypes other than float32 and float64, or tensors that are empty or without values"},
    kNoTaps{"a dim, places or weights that do not fit the input"},
    kNoGrid{"a mode or a grid that does not suit the input"};

// Of float32 or float64, with dims and values of its own.
bool interpolates(const Tensor& t) {
  return (t->dtype() == DType::f32 || t->dtype() == DType::f64) && t->numel() && t->dim() && is_plain(t);
}

// Places (count, taps) and their weights, of x's dtype.
bool taps_suit(const Tensor& x, int64_t dim, const Tensor& indices, const Tensor& weights) {
  return dim >= 0 && dim < x->dim() && indices->dtype() == DType::i64 && weights->dtype() == x->dtype() &&
         indices->dim() == 2 && indices->numel() && std::ranges::equal(indices->sizes(), weights->sizes()) &&
         indices->is_contiguous() && weights->is_contiguous();
}

bool settings_of(int64_t mode, int64_t padding, bool align_corners, GridSettings* s) {
  if (mode < 0 || mode > 1 || padding < 0 || padding > 2) return false;
  *s = {mode == 1, int(padding), align_corners};
  return true;
}

bool grid_suits(const Tensor& x, const Tensor& grid) {
  if (x->dtype() != grid->dtype() || (x->dim() != 4 && x->dim() != 5) || grid->dim() != x->dim()) return false;
  return grid->sizes().back() == x->dim() - 2 && grid->sizes()[0] == x->sizes()[0] &&
         x->numel() / (x->sizes()[0] * x->sizes()[1]) < INT32_MAX;
}

// Along a dim of images in channels last, in the order that their elements lie in: channels are then lines of each place.
template <class F> Tensor along_lines(const Tensor& x, int64_t dim, F&& f) {
  if (!lies_in_lines(*x)) return f(contiguous(x), int(dim));
  const int place[] = {0, 3, 1, 2};
  return permute(*f(permute(*x, Dims{0, 2, 3, 1}), place[dim]), Dims{0, 3, 1, 2});
}

}  // namespace

Outcome<Tensor> resample_dim(const Tensor& x, int64_t dim, const Tensor& indices, const Tensor& weights) {
  if (!interpolates(x)) return kNotInterpolated;
  if (!taps_suit(x, dim, indices, weights)) return kNoTaps;
  return unlocked(x->numel(), [&] {
    return along_lines(x, dim, [&](const Tensor& lines, int d) { return weighted(lines, d, indices, weights); });
  });
}

Outcome<Tensor> resample_dim_backward(
    const Tensor& g, int64_t dim, int64_t size, const Tensor& indices, const Tensor& weights) {
  if (!interpolates(g)) return kNotInterpolated;
  if (!taps_suit(g, dim, indices, weights) || g->sizes()[size_t(dim)] != indices->sizes()[0] || size < 1)
    return kNoTaps;
  return unlocked(g->numel(), [&] {
    return along_lines(g, dim, [&](const Tensor& lines, int d) { return spread(lines, d, size, indices, weights); });
  });
}

Outcome<Tensor> sample_grid(
    const Tensor& input, const Tensor& places, int64_t mode, int64_t padding, bool align_corners) {
  GridSettings s;
  if (!interpolates(input) || !interpolates(places)) return kNotInterpolated;
  if (!settings_of(mode, padding, align_corners, &s) || !grid_suits(input, places)) return kNoGrid;
  const Tensor x = contiguous(input), grid = contiguous(places);
  return unlocked(grid->numel() * x->sizes()[1], [&] {
    return x->dim() == 4 ? sample_images(x, grid, s.nearest, s.padding, s.align_corners) : sample_at(x, grid, s);
  });
}

Outcome<Tensor> sample_grid_backward(const Tensor& grad_output, const Tensor& input, const Tensor& places, int64_t mode,
    int64_t padding, bool align_corners, bool of_grid) {
  GridSettings s;
  if (!interpolates(grad_output) || !interpolates(input) || !interpolates(places)) return kNotInterpolated;
  if (!settings_of(mode, padding, align_corners, &s) || !grid_suits(input, places) ||
      grad_output->dtype() != input->dtype())
    return kNoGrid;
  const Tensor g = contiguous(grad_output), x = contiguous(input), grid = contiguous(places);
  if (g->numel() != grid->numel() / (x->dim() - 2) * x->sizes()[1]) return kNoGrid;
  return unlocked(g->numel(), [&] {
    const GridGradients found = sample_at_backward(g, x, grid, s, !of_grid, of_grid);
    return of_grid ? found.grid : found.input;
  });
}

Outcome<Tensor> grid_sampler(const Tensor& x, const Tensor& grid, int64_t mode, int64_t padding, bool align_corners) {
  if (x->dim() == 4 && !x->is_contiguous()) return NotMine{"images that are not contiguous"};
  return sample_grid(x, grid, mode, padding, align_corners);
}

}  // namespace shim
