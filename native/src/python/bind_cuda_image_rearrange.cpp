// im2col, col2im, pixel_shuffle, reflection and replication padding, and affine_grid on CUDA. Null where no kernel fits: the record's body runs.
#include <algorithm>

#include "cuda/image_rearrange.h"
#include "python/native_cuda.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

constexpr int64_t kMostSize = int64_t(1) << 30;

bool movable(PyObject* o) {
  if (!is_tensor(o)) return false;
  const TensorImpl& t = *unwrap(o);
  return t.device().is_cuda() && t.numel() && !t.has_math_bits();
}
bool pair_from(PyObject* o, int64_t least, int64_t* to) {
  Dims found;
  if (!dims_of(o, &found)) {
    PyErr_Clear();
    return false;
  }
  if (found.size() == 1) found.push_back(found[0]);
  if (found.size() != 2 || std::ranges::any_of(found, [&](int64_t v) { return v < least || v >= kMostSize; }))
    return false;
  to[0] = found[0], to[1] = found[1];
  return true;
}
bool windows_from(PyObject* const* kernel_and_rest, cuda::Columns* c) {  // kernel, dilation, padding, stride
  if (!pair_from(kernel_and_rest[0], 1, c->kernel) || !pair_from(kernel_and_rest[1], 1, c->dilation) ||
      !pair_from(kernel_and_rest[2], 0, c->padding) || !pair_from(kernel_and_rest[3], 1, c->stride))
    return false;
  for (int i = 0; i < 2; ++i) {
    const int64_t room = c->size[i] + 2 * c->padding[i] - c->dilation[i] * (c->kernel[i] - 1) - 1;
    if (room < 0 || c->size[i] + 2 * c->padding[i] >= kMostSize) return false;
    c->many[i] = room / c->stride[i] + 1;
  }
  return true;
}

// im2col(self, kernel_size, dilation, padding, stride)
PyObject* native_cuda_im2col(Operator&, PyObject* const* args, size_t count) {
  if (count != 5 || !movable(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0]));
    if (x->dim() != 3 && x->dim() != 4) return nullptr;
    const int64_t* sizes = x->sizes_data() + x->dim() - 3;
    cuda::Columns c{};
    c.size[0] = sizes[1], c.size[1] = sizes[2];
    if (std::max(sizes[1], sizes[2]) >= kMostSize || !windows_from(args + 1, &c)) return nullptr;
    const Tensor out =
        cuda::im2col(view(*contiguous(x), Dims{x->dim() == 4 ? x->sizes()[0] : 1, sizes[0], sizes[1], sizes[2]}), c);
    return !out ? nullptr : wrap(x->dim() == 4 ? out : view(*out, Dims{out->sizes()[1], out->sizes()[2]}));
  });
}

// col2im(self, output_size, kernel_size, dilation, padding, stride)
PyObject* native_cuda_col2im(Operator&, PyObject* const* args, size_t count) {
  if (count != 6 || !movable(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0]));
    cuda::Columns c{};
    if ((x->dim() != 2 && x->dim() != 3) || !pair_from(args[1], 1, c.size) || !windows_from(args + 2, &c))
      return nullptr;
    const int64_t *sizes = x->sizes_data() + x->dim() - 2, taps = c.kernel[0] * c.kernel[1];
    if (sizes[0] % taps || c.many[0] * c.many[1] != sizes[1]) return nullptr;
    const Tensor out =
        cuda::col2im(view(*contiguous(x), Dims{x->dim() == 3 ? x->sizes()[0] : 1, sizes[0], sizes[1]}), c);
    return !out ? nullptr : wrap(x->dim() == 3 ? out : view(*out, Dims{out->sizes()[1], c.size[0], c.size[1]}));
  });
}

// shuffle_pixels(self, factor, up)
PyObject* native_shuffle_pixels(Operator&, PyObject* const* args, size_t count) {
  if (count != 3 || !movable(args[0]) || !PyLong_Check(args[1])) return nullptr;
  return guarded([&]() -> PyObject* {
    return wrapped(cuda::shuffle_pixels(Tensor(unwrap(args[0])), PyLong_AsLongLong(args[1]), args[2] == Py_True));
  });
}

// reflect_replicate_pad(self, pad, reflect)
PyObject* native_reflect_replicate_pad(Operator&, PyObject* const* args, size_t count) {
  if (count != 3 || !movable(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    Dims pairs;
    return dims_of(args[1], &pairs)
               ? wrapped(cuda::reflect_replicate_pad(Tensor(unwrap(args[0])), pairs, args[2] == Py_True))
               : nullptr;
  });
}

// reflect_replicate_pad_backward(grad_output, sizes, pad, reflect)
PyObject* native_reflect_replicate_pad_backward(Operator&, PyObject* const* args, size_t count) {
  if (count != 4 || !movable(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    Dims sizes, pairs;
    return dims_of(args[1], &sizes) && dims_of(args[2], &pairs)
               ? wrapped(
                     cuda::reflect_replicate_pad_backward(Tensor(unwrap(args[0])), sizes, pairs, args[3] == Py_True))
               : nullptr;
  });
}

// affine_grid_generator(theta, size, align_corners)
PyObject* native_affine_grid(Operator&, PyObject* const* args, size_t count) {
  if (count != 3 || !movable(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    Dims sizes;
    if (!dims_of(args[1], &sizes) || sizes.size() < 4 || sizes.size() > 5) return nullptr;
    return wrapped(cuda::affine_grid(Tensor(unwrap(args[0])), sizes, args[2] == Py_True));
  });
}

}  // namespace

void register_cuda_image_rearrange() {
  register_native("im2col", native_cuda_im2col);
  register_native("col2im", native_cuda_col2im);
  register_native("shuffle_pixels", native_shuffle_pixels);
  register_native("reflect_replicate_pad", native_reflect_replicate_pad);
  register_native("reflect_replicate_pad_backward", native_reflect_replicate_pad_backward);
  register_native("affine_grid", native_affine_grid);
}

}  // namespace shim
