// Convolutions and columns of windows on the CPU. What is out of the ordinary is left to the records' bodies.
#include <algorithm>

#include "autograd/autograd.h"
#include "cpu/kernel_table.h"
#include "cpu/pooling.h"
#include "ops/gemm_problem.h"
#include "python/cpu_images.h"
#include "python/native_cpu.h"

namespace shim {

namespace {

// convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
PyObject* native_convolution(Operator&, PyObject* const* args, size_t count) {
  if (count != 9 || !plain_floats(args[0]) || !plain_floats(args[1]) || !plain_floats_or_none(args[2]) ||
      !PyLong_Check(args[8]) || !gemm::can_launch_cpu())
    return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0])), w(unwrap(args[1])), bias = tensor_or_none(args[2]);
    const int n = w->dim() - 2;
    const int64_t groups = PyLong_AsLongLong(args[8]);
    Steps s;
    int64_t extra[3];
    if (n < 1 || n > 3 || x->dim() != n + 2 || w->dtype() != x->dtype() || (bias && bias->dtype() != x->dtype()) ||
        !x->numel() || !w->numel())
      return nullptr;
    if (!steps_of(n, args[3], args[4], args[5], &s) || !triple_of(args[7], n, 0, 0, extra) || groups < 1 ||
        w->sizes()[0] % groups)
      return nullptr;
    const bool across = args[6] == Py_True;
    const DType compute = compute_dtype(x->dtype());
    const Tensor image = as(as_volumes(x), compute), weight = as(as_volumes(w), compute), b = as(bias, compute);
    const int64_t inputs = across ? weight->sizes()[0] : weight->sizes()[1] * groups,
                  outputs = across ? weight->sizes()[1] * groups : weight->sizes()[0];
    int64_t sizes[3];
    for (int i = 0; i < 3; ++i) {
      s.kernel[i] = weight->sizes()[size_t(2 + i)];
      const int64_t size = image->sizes()[size_t(2 + i)], reach = s.dilation[i] * (s.kernel[i] - 1) + 1;
      if (across && extra[i] >= std::max(s.stride[i], s.dilation[i])) return nullptr;
      if (across)
        sizes[i] = (size - 1) * s.stride[i] - 2 * s.padding[i] + reach + extra[i];
      else
        sizes[i] = size + 2 * s.padding[i] < reach ? 0 : (size + 2 * s.padding[i] - reach) / s.stride[i] + 1;
      if (sizes[i] < 1) return nullptr;
    }
    if (image->sizes()[1] != inputs || (bias && (bias->dim() != 1 || bias->sizes()[0] != outputs))) return nullptr;
    Tensor out;
    {
      GilRelease released;
      out = across ? convolve_transposed(image, weight, b, box_of(s), groups, sizes)
                   : convolve(image, weight, b, box_of(s), groups, sizes);
      out = narrowed(from_volumes(out, n), x->dtype());
    }
    return wrap(out);
  });
}

// _convolution_weight(input, grad_output, kernel, stride, padding, dilation, groups)
PyObject* native_convolution_weight(Operator&, PyObject* const* args, size_t count) {
  if (count != 7 || !plain_floats(args[0]) || !plain_floats(args[1]) || !PyLong_Check(args[6]) ||
      !gemm::can_launch_cpu())
    return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0])), g(unwrap(args[1]));
    const int n = x->dim() - 2;
    const int64_t groups = PyLong_AsLongLong(args[6]);
    Steps s;
    if (n < 1 || n > 3 || g->dim() != x->dim() || g->dtype() != x->dtype() || !x->numel() || !g->numel() ||
        g->sizes()[0] != x->sizes()[0])
      return nullptr;
    if (!steps_of(n, args[3], args[4], args[5], &s) || !triple_of(args[2], n, 1, 1, s.kernel) || groups < 1 ||
        x->sizes()[1] % groups || g->sizes()[1] % groups)
      return nullptr;
    const DType compute = compute_dtype(x->dtype());
    const Tensor image = as(as_volumes(x), compute), slope = as(as_volumes(g), compute);
    for (size_t i = 0; i < 3; ++i)  // windows that hang over are left out by the body
      if ((slope->sizes()[2 + i] - 1) * s.stride[i] + s.dilation[i] * (s.kernel[i] - 1) + 1 >
          image->sizes()[2 + i] + 2 * s.padding[i])
        return nullptr;
    Tensor out;
    {
      GilRelease released;
      out = narrowed(from_volumes(convolution_weight(image, slope, box_of(s), groups), n), x->dtype());
    }
    return wrap(out);
  });
}

// im2col(self, kernel_size, dilation, padding, stride)
PyObject* native_im2col(Operator&, PyObject* const* args, size_t count) {
  if (count != 5 || !plain_floats(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0]));
    Window w;
    int64_t many[2];
    if (!wide_float(x) || (x->dim() != 3 && x->dim() != 4) || !x->numel()) return nullptr;
    if (!pair_of(args[1], 2, 1, 1, w.kernel) || !window_of(2, args[4], args[3], args[2], &w)) return nullptr;
    const int64_t *sizes = x->sizes_data() + x->dim() - 3, batch = x->dim() == 4 ? x->sizes()[0] : 1;
    if (!windows_in(w, sizes[1], sizes[2], many)) return nullptr;
    const Tensor image = view(*contiguous(x), Dims{batch, sizes[0], sizes[1], sizes[2]});
    const Tensor out =
        unlocked(x->numel() * w.kernel[0] * w.kernel[1], [&] { return to_window_columns(image, w, many[0], many[1]); });
    return wrap(x->dim() == 4 ? out : view(*out, Dims{out->sizes()[1], out->sizes()[2]}));
  });
}

// col2im(self, output_size, kernel_size, dilation, padding, stride)
PyObject* native_col2im(Operator&, PyObject* const* args, size_t count) {
  if (count != 6 || !plain_floats(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0]));
    Window w;
    int64_t many[2], size[2] = {};
    if (!wide_float(x) || (x->dim() != 2 && x->dim() != 3) || !x->numel()) return nullptr;
    if (!pair_of(args[1], 2, 1, 1, size) || !pair_of(args[2], 2, 1, 1, w.kernel) ||
        !window_of(2, args[5], args[4], args[3], &w))
      return nullptr;
    const int64_t *sizes = x->sizes_data() + x->dim() - 2, batch = x->dim() == 3 ? x->sizes()[0] : 1,
                  area = w.kernel[0] * w.kernel[1];
    if (!windows_in(w, size[0], size[1], many) || sizes[0] % area || many[0] * many[1] != sizes[1]) return nullptr;
    const Tensor columns = view(*contiguous(x), Dims{batch, sizes[0], sizes[1]});
    const Tensor out = unlocked(x->numel(),
        [&] { return from_window_columns(columns, w, sizes[0] / area, size[0], size[1], many[0], many[1]); });
    return wrap(x->dim() == 3 ? out : view(*out, Dims{out->sizes()[1], size[0], size[1]}));
  });
}

}  // namespace

void register_cpu_convolution() {
  register_native_cpu("im2col", native_im2col);
  register_native_cpu("col2im", native_col2im);
  register_native_cpu("convolution", native_convolution);
  register_native_cpu("_convolution_weight", native_convolution_weight);
}

}  // namespace shim
