#include "cuda/image_rearrange.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/entries/image_rearrange.h"
#include "cuda/planes.h"
#include "cuda/reasons.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

const Family image_rearrange_family{"image_rearrange"};
constexpr int64_t kMostPlaces = int64_t(1) << 31;

// Moves elements of `size` bytes; `macro` holds what is more than that.
template <class E> Kernel<E> windows_mover(int64_t size, int r, bool nearest, int device) {
  return find_kernel<E>(image_rearrange_family, key_of(size, r, int(nearest)), device, [&] {
    std::vector<std::string> macros{
        std::string("ELEMENT=") + word_type(size), "C=int", "ADDS=0", nearest ? "FRAME=1" : "FRAME=0"};
    if (r) macros.push_back("R=" + std::to_string(r));
    return macros;
  });
}
template <class E> Kernel<E> windows_adder(DType t, bool nearest, int device) {
  return find_kernel<E>(image_rearrange_family, key_of(int(t), int(nearest)), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t),
        std::string("C=") + compute_type(cuda::compute_dtype(t)), "ADDS=1", nearest ? "FRAME=1" : "FRAME=0"};
  });
}

struct Columns {
  int64_t kernel[2], stride[2], padding[2], dilation[2], size[2], many[2];
};  // height and width; many: how many windows
struct ColumnPlan {
  int kernel[2], stride[2], padding[2], dilation[2], size[2], many[2];
};
ColumnPlan column_plan(const Columns& c) {
  ColumnPlan w;
  for (int i = 0; i < 2; ++i) {
    w.kernel[i] = int(c.kernel[i]), w.stride[i] = int(c.stride[i]), w.padding[i] = int(c.padding[i]);
    w.dilation[i] = int(c.dilation[i]), w.size[i] = int(c.size[i]), w.many[i] = int(c.many[i]);
  }
  return w;
}
bool columns_fit(const Columns& c) {
  return c.size[0] * c.size[1] < kMostPlaces && c.many[0] * c.many[1] < kMostPlaces / 2 &&
         c.kernel[0] * c.kernel[1] < kMostPlaces / 2;
}

struct Surround {
  int size[3] = {1, 1, 1}, before[3] = {}, whole[3] = {1, 1, 1};
};
// False: too large, or nothing left.
bool surround_of(IntArrayRef sizes, IntArrayRef pairs, Surround* f, Dims* shape) {
  const size_t n = pairs.size() / 2;
  if (n < 1 || n > 3 || pairs.size() % 2 || sizes.size() < n) return false;
  shape->assign(sizes.begin(), sizes.end());
  int64_t all = 1;
  for (size_t i = 0; i < n; ++i) {
    int64_t& size = (*shape)[sizes.size() - 1 - i];
    f->size[i] = int(size);
    f->before[i] = int(pairs[2 * i]);
    size += pairs[2 * i] + pairs[2 * i + 1];
    if (size < 1 || size >= kMostPlaces || std::abs(pairs[2 * i]) >= kMostPlaces / 2) return false;
    f->whole[i] = int(size);
  }
  for (int64_t s : *shape) all *= s;
  for (int64_t s : sizes)
    if (s < 1) return false;
  return all && all < kMostPlaces;
}

// Why no kernel here takes a tensor; null where one does.
const char* not_movable(const Tensor& t) {
  if (!kernels_ready()) return kNoCompiler.reason;
  if (!t->numel()) return kNoElements.reason;
  return t->has_math_bits() ? "negative or conjugate bits" : nullptr;
}

bool pair_from(IntArrayRef given, int64_t least, int64_t* to) {
  Dims found;
  if (!numbers_of(given, 2, least, &found)) return false;
  to[0] = found[0], to[1] = found[1];
  return true;
}

constexpr NotMine kNoWindows{"windows that PyTorch refuses, or too large ones"};

// Reads the windows over images of c->size; false where something is wrong with them.
bool windows_from(IntArrayRef kernel, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride, Columns* c) {
  if (!pair_from(kernel, 1, c->kernel) || !pair_from(dilation, 1, c->dilation) || !pair_from(padding, 0, c->padding) ||
      !pair_from(stride, 1, c->stride))
    return false;
  for (int i = 0; i < 2; ++i) {
    const int64_t room = c->size[i] + 2 * c->padding[i] - c->dilation[i] * (c->kernel[i] - 1) - 1;
    if (room < 0 || c->size[i] + 2 * c->padding[i] >= kMostSide) return false;
    c->many[i] = room / c->stride[i] + 1;
  }
  return columns_fit(*c);
}

// (n, c, height, width) to (n, c * kernel, windows).
Outcome<Tensor> columns_of(const Tensor& x, const Columns& c) {
  const int device = x->device().index;
  const auto f = windows_mover<entries::image_rearrange::to_columns>(int64_t(x->itemsize()), 0, false, device);
  if (!f) return kNotCompiled;
  const int64_t taps = c.kernel[0] * c.kernel[1], area = c.many[0] * c.many[1];
  const Tensor out = empty(Dims{x->sizes()[0], x->sizes()[1] * taps, area}, x->dtype(), x->device());
  int64_t rows = x->sizes()[0] * x->sizes()[1] * taps;
  ColumnPlan w = column_plan(c);
  launch(f, {(area + 1023) / 1024, std::min(rows, kMostRows)}, device, x->data(), out->data(), w, rows);
  return out;
}

// Sums: the adjoint.
Outcome<Tensor> added_columns(const Tensor& x, const Columns& c) {
  if (!floating(x->dtype())) return kOtherDtype;
  const int device = x->device().index;
  const auto f = windows_adder<entries::image_rearrange::from_columns>(x->dtype(), false, device);
  if (!f) return kNotCompiled;
  const Tensor out = empty(
      Dims{x->sizes()[0], x->sizes()[1] / (c.kernel[0] * c.kernel[1]), c.size[0], c.size[1]}, x->dtype(), x->device());
  int64_t n = out->numel();
  if ((n + 255) / 256 > kMostBlocks) return kTooMany;
  ColumnPlan w = column_plan(c);
  launch(f, {(n + 255) / 256}, device, x->data(), out->data(), w, n);
  return out;
}

}  // namespace

Outcome<Tensor> im2col(
    const Tensor& self, IntArrayRef kernel, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride) {
  if (const char* why = not_movable(self)) return NotMine{why};
  if (self->dim() != 3 && self->dim() != 4) return kOtherSizes;
  const bool batch = self->dim() == 4;
  const int64_t* sizes = self->sizes_data() + self->dim() - 3;
  Columns c{};
  c.size[0] = sizes[1], c.size[1] = sizes[2];
  if (std::max(sizes[1], sizes[2]) >= kMostSide || !windows_from(kernel, dilation, padding, stride, &c))
    return kNoWindows;
  auto out = columns_of(view(*contiguous(self), Dims{batch ? self->sizes()[0] : 1, sizes[0], sizes[1], sizes[2]}), c);
  if (!out || batch) return out;
  return view(**out, Dims{(*out)->sizes()[1], (*out)->sizes()[2]});
}

Outcome<Tensor> col2im(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel, IntArrayRef dilation,
    IntArrayRef padding, IntArrayRef stride) {
  if (const char* why = not_movable(self)) return NotMine{why};
  if (self->dim() != 2 && self->dim() != 3) return kOtherSizes;
  const bool batch = self->dim() == 3;
  Columns c{};
  if (!pair_from(output_size, 1, c.size) || !windows_from(kernel, dilation, padding, stride, &c)) return kNoWindows;
  const int64_t *sizes = self->sizes_data() + self->dim() - 2, taps = c.kernel[0] * c.kernel[1];
  if (sizes[0] % taps || c.many[0] * c.many[1] != sizes[1]) return kOtherSizes;
  auto out = added_columns(view(*contiguous(self), Dims{batch ? self->sizes()[0] : 1, sizes[0], sizes[1]}), c);
  if (!out || batch) return out;
  return view(**out, Dims{(*out)->sizes()[1], c.size[0], c.size[1]});
}

Outcome<Tensor> shuffle_pixels(const Tensor& given, int64_t r, bool up) {
  if (const char* why = not_movable(given)) return NotMine{why};
  const int64_t size = int64_t(given->itemsize());
  if ((r != 2 && r != 4) || size * r > 16) return NotMine{"a factor that no load has"};
  if (given->dim() < 3) return kOtherSizes;
  if (given->numel() >= kMostPlaces) return kTooMany;
  Dims shape(given->sizes().begin(), given->sizes().end());
  int64_t &c = shape[shape.size() - 3], &h = shape[shape.size() - 2], &w = shape.back();
  if (up ? c % (r * r) != 0 : h % r || w % r) return kOtherSizes;
  uint32_t rows = uint32_t(up ? h : h / r), cols = uint32_t(up ? w : w / r);
  c = up ? c / (r * r) : c * r * r, h = up ? h * r : h / r, w = up ? w * r : w / r;
  const int device = given->device().index;
  using Gather = entries::image_rearrange::gather_pixels;
  using Spread = entries::image_rearrange::spread_pixels;
  const auto f = up ? windows_mover<Gather>(size, int(r), false, device)
                    : windows_mover<Spread>(size, int(r), false, device).as<Gather>();
  if (!f) return kNotCompiled;
  Tensor x = contiguous(given);
  if (!up && reinterpret_cast<uintptr_t>(x->data()) % uintptr_t(size * r)) x = clone(x);
  const Tensor out = empty(shape, x->dtype(), x->device());
  uint32_t n = uint32_t(x->numel() / r);
  launch(f, {(int64_t(n) + 255) / 256}, device, x->data(), out->data(), n, rows, cols);
  return out;
}

Outcome<Tensor> reflect_replicate_pad(const Tensor& given, IntArrayRef pairs, bool reflect) {
  if (const char* why = not_movable(given)) return NotMine{why};
  Surround frame;
  Dims shape;
  const int64_t size = int64_t(given->itemsize());
  if (size > 8) return kOtherDtype;
  if (!surround_of(given->sizes(), pairs, &frame, &shape)) return kOtherSizes;
  const int device = given->device().index;
  const auto f = windows_mover<entries::image_rearrange::reflect_replicate_pad>(size, 0, !reflect, device);
  if (!f) return kNotCompiled;
  const Tensor x = contiguous(given), out = empty(shape, x->dtype(), x->device());
  uint32_t n = uint32_t(out->numel());
  launch(f, {(int64_t(n) + 1023) / 1024}, device, x->data(), out->data(), n, frame);
  return out;
}

Outcome<Tensor> reflect_replicate_pad_backward(const Tensor& g0, IntArrayRef sizes, IntArrayRef pairs, bool reflect) {
  if (const char* why = not_movable(g0)) return NotMine{why};
  Surround frame;
  Dims shape;
  if (!floating(g0->dtype())) return kOtherDtype;
  if (!surround_of(sizes, pairs, &frame, &shape) || !std::ranges::equal(shape, g0->sizes())) return kOtherSizes;
  const int device = g0->device().index;
  const auto f = windows_adder<entries::image_rearrange::reflect_replicate_pad_backward>(g0->dtype(), !reflect, device);
  if (!f) return kNotCompiled;
  const Tensor g = contiguous(g0), out = empty(sizes, g->dtype(), g->device());
  if (out->numel() >= kMostPlaces) return kTooMany;
  uint32_t n = uint32_t(out->numel());
  launch(f, {(int64_t(n) + 255) / 256}, device, g->data(), out->data(), n, frame);
  return out;
}

namespace {

struct Maps {
  int size[3] = {1, 1, 1}, dims = 0, aligned = 0;
};
// The places of grids for images of these sizes: how many a batch has; null where it is none of the kernels'.
const char* places_of(IntArrayRef sizes, bool align_corners, Maps* grid, int64_t* each) {
  if (!kernels_ready()) return kNoCompiler.reason;
  if (sizes.size() < 4 || sizes.size() > 5) return kOtherSizes.reason;
  if (sizes[0] < 1 || sizes[0] > kMostRows) return kTooMany.reason;
  const size_t dims = sizes.size() - 2;
  *each = 1;
  for (size_t d = 0; d < dims; ++d) {
    *each *= sizes[2 + d];
    if (sizes[2 + d] < 1 || *each >= kMostPlaces) return kTooMany.reason;
    grid->size[dims - 1 - d] = int(sizes[2 + d]);
  }
  grid->dims = int(dims), grid->aligned = align_corners;
  return nullptr;
}

}  // namespace

Outcome<Tensor> affine_grid(const Tensor& given, IntArrayRef sizes, bool align_corners) {
  Maps grid;
  int64_t each = 0;
  if (const char* why = not_floats({&given})) return NotMine{why};
  if (const char* why = places_of(sizes, align_corners, &grid, &each)) return NotMine{why};
  if (!std::ranges::equal(given->sizes(), Dims{sizes[0], grid.dims, grid.dims + 1})) return kOtherSizes;
  Dims shape(sizes.begin(), sizes.end());
  shape.erase(shape.begin() + 1);
  shape.push_back(grid.dims);
  const int device = given->device().index;
  const auto f = windows_adder<entries::image_rearrange::affine_grid>(given->dtype(), false, device);
  if (!f) return kNotCompiled;
  const Tensor theta = contiguous(given), out = empty(shape, theta->dtype(), theta->device());
  uint32_t count = uint32_t(each);
  launch(f, {(each + 255) / 256, sizes[0]}, device, theta->data(), out->data(), grid, count);
  return out;
}

Outcome<Tensor> affine_grid_backward(const Tensor& given, IntArrayRef sizes, bool align_corners) {
  Maps grid;
  int64_t each = 0;
  if (const char* why = not_floats({&given})) return NotMine{why};
  if (const char* why = places_of(sizes, align_corners, &grid, &each)) return NotMine{why};
  if (given->numel() != sizes[0] * each * grid.dims) return kOtherSizes;
  const int device = given->device().index;
  const auto f = windows_adder<entries::image_rearrange::affine_grid_backward>(given->dtype(), false, device);
  if (!f) return kNotCompiled;
  const Tensor g = contiguous(given), out = empty(Dims{sizes[0], grid.dims, grid.dims + 1}, g->dtype(), g->device());
  launch(f, {sizes[0], 1, std::min(threads_for(each), 512)}, device, g->data(), out->data(), grid, uint32_t(each));
  return out;
}

}  // namespace shim::cuda
