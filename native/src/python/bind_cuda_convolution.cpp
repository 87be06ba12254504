// Convolutions on CUDA, by cuDNN or by a kernel of our own. What is out of the ordinary is left to the records' bodies.
#include <algorithm>

#include "autograd/autograd.h"
#include "cuda/attention.h"
#include "cuda/channel_norm.h"
#include "cuda/cudnn.h"
#include "cuda/depthwise.h"
#include "cuda/images.h"
#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "python/cuda_images.h"
#include "python/native_cuda.h"

namespace shim {

namespace {

struct Images {
  Tensor x, weight;
  MemoryFormat format;
  bool line;
};

Tensor as_image(const Tensor& t) {  // a line is an image of one row
  Dims sizes(t->sizes().begin(), t->sizes().end());
  sizes.insert(sizes.end() - 1, 1);
  return view(*contiguous(t), sizes);
}
Tensor as_line(const Tensor& t) {
  Dims sizes(t->sizes().begin(), t->sizes().end());
  sizes.erase(sizes.end() - 2);
  return view(*t, sizes);
}
Tensor in_format(const Tensor& t, MemoryFormat format) { return t->is_contiguous(format) ? t : clone(t, format); }

// Both as cuDNN takes them: of one order of memory, lines as images.
bool images_of(const Tensor& x, const Tensor& weight, Images* to) {
  const int n = x->dim() - 2;
  if (n < 1 || n > 3 || weight->dim() != x->dim() || weight->dtype() != x->dtype() || weight->device() != x->device())
    return false;
  to->line = n == 1;
  to->format = MemoryFormat::contiguous;
  for (const Tensor* t : {&x, &weight})
    if (const MemoryFormat f = suggest_memory_format(**t); f != MemoryFormat::contiguous) to->format = f;
  if (n == 3 && to->format != MemoryFormat::contiguous) return false;
  to->x = to->line ? as_image(x) : in_format(x, to->format);
  to->weight = to->line ? as_image(weight) : in_format(weight, to->format);
  return true;
}

bool geometry_of(int n, PyObject* stride, PyObject* padding, PyObject* dilation, PyObject* groups, cudnn::Geometry* g) {
  if (!PyLong_Check(groups) || !numbers_of(stride, n, 1, &g->stride) || !numbers_of(padding, n, 0, &g->padding) ||
      !numbers_of(dilation, n, 1, &g->dilation))
    return false;
  g->groups = PyLong_AsLongLong(groups);
  if (n == 1) {  // the row of a line
    g->stride.insert(g->stride.begin(), 1);
    g->padding.insert(g->padding.begin(), 0);
    g->dilation.insert(g->dilation.begin(), 1);
  }
  return g->groups >= 1;
}

// The sizes that come out; empty where something is wrong with what was given.
Dims result_sizes(const Images& in, const cudnn::Geometry& g, bool across, const Dims& extra) {
  const IntArrayRef x = in.x->sizes(), w = in.weight->sizes();
  const int64_t inputs = across ? w[0] : w[1] * g.groups, outputs = across ? w[1] * g.groups : w[0];
  if (x[1] != inputs || w[0] % g.groups) return {};
  Dims sizes{x[0], outputs};
  for (size_t i = 0; i + 2 < x.size(); ++i) {
    const int64_t reach = g.dilation[i] * (w[i + 2] - 1) + 1, room = x[i + 2] + 2 * g.padding[i] - reach;
    if (across ? extra[i] >= std::max(g.stride[i], g.dilation[i]) && extra[i] : room < 0) return {};
    const int64_t size =
        across ? (x[i + 2] - 1) * g.stride[i] - 2 * g.padding[i] + reach + extra[i] : room / g.stride[i] + 1;
    if (size < 1) return {};
    sizes.push_back(size);
  }
  return sizes;
}

bool add_bias(const Tensor& out, const Tensor& bias) {
  Dims sizes(size_t(out->dim()), 1);
  sizes[1] = bias->numel();
  const Tensor along = view(*contiguous(bias), sizes);
  const DType compute = out->dtype() == DType::f64 ? DType::f64 : DType::f32;
  const cuda::Elementwise e{"add", compute, compute, 3, {Operand::of(*out), Operand::of(*out), Operand::of(*along)}};
  return cuda::run_elementwise(e, out->sizes(), out->device().index);
}

// Whether a convolution of lines has a kernel of each channel's own, and a stride of 1.
bool of_each_channel(const Tensor& x, const Tensor& weight, const cudnn::Geometry& g) {
  return x->dim() == 3 && weight->dim() == 3 && weight->dtype() == x->dtype() && weight->device() == x->device() &&
         g.groups == x->sizes()[1] && g.groups > 1 && weight->sizes()[0] == g.groups && weight->sizes()[1] == 1 &&
         g.stride.back() == 1;
}
// The same convolution or, `across`, the transposed one, by our own kernels; null where they do not serve.
Tensor convolve_each(
    const Tensor& x, const Tensor& weight, const Tensor& bias, const cudnn::Geometry& g, bool across, int64_t extra) {
  const int64_t dilation = g.dilation.back(), padding = g.padding.back(), reach = dilation * (weight->sizes()[2] - 1),
                size = x->sizes()[2];
  if (extra && (!across || extra >= dilation)) return {};
  return cuda::depthwise(x, weight, bias, across ? padding - reach : -padding, dilation, across,
      across ? size - 2 * padding + reach + extra : size + 2 * padding - reach);
}

// convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
PyObject* native_convolution(Operator&, PyObject* const* args, size_t count) {
  if (count != 9 || !cuda_floats(args[0]) || !cuda_floats(args[1]) || !cuda_floats_or_none(args[2])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0])), weight(unwrap(args[1])), bias = tensor_or_none(args[2]);
    const int n = x->dim() - 2;
    const bool across = args[6] == Py_True;
    cudnn::Geometry g;
    Images in;
    Dims extra;
    if (bias && (bias->dtype() != x->dtype() || bias->dim() != 1)) return nullptr;
    if (n < 1 || n > 3 || !geometry_of(n, args[3], args[4], args[5], args[8], &g) || !numbers_of(args[7], n, 0, &extra))
      return nullptr;
    if (of_each_channel(x, weight, g))
      if (const Tensor out = convolve_each(x, weight, bias, g, across, extra[0])) return wrap(out);
    if (!cudnn::available() || !images_of(x, weight, &in)) return nullptr;
    if (n == 1) extra.insert(extra.begin(), 0);
    const Dims sizes = result_sizes(in, g, across, extra);
    if (sizes.empty() || (bias && bias->numel() != sizes[1])) return nullptr;
    const Tensor out = empty(sizes, x->dtype(), x->device(), false, in.format);
    if (!(across ? cudnn::convolve_input(in.x, in.weight, g, out) : cudnn::convolve(in.x, in.weight, g, out)))
      return nullptr;
    if (bias && !add_bias(out, bias)) return nullptr;
    return wrap(in.line ? as_line(out) : out);
  });
}

// _convolution_weight(input, grad_output, kernel, stride, padding, dilation, groups)
PyObject* native_convolution_weight(Operator&, PyObject* const* args, size_t count) {
  if (count != 7 || !cuda_floats(args[0]) || !cuda_floats(args[1])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0])), grad(unwrap(args[1]));
    const int n = x->dim() - 2;
    cudnn::Geometry g;
    Images in;
    Dims kernel;
    if (n < 1 || n > 3 || !geometry_of(n, args[3], args[4], args[5], args[6], &g) ||
        !numbers_of(args[2], n, 1, &kernel))
      return nullptr;
    if (n == 1 && grad->dim() == 3 && g.groups > 1 && x->sizes()[1] == g.groups && grad->sizes()[1] == g.groups &&
        g.stride.back() == 1 && grad->device() == x->device() &&
        grad->sizes()[2] == x->sizes()[2] + 2 * g.padding.back() - g.dilation.back() * (kernel[0] - 1))
      if (const Tensor out = cuda::depthwise_weight(x, grad, kernel[0], -g.padding.back(), g.dilation.back()))
        return wrap(out);
    if (!cudnn::available() || !images_of(x, grad, &in)) return nullptr;
    if (n == 1) kernel.insert(kernel.begin(), 1);
    const IntArrayRef from = in.x->sizes(), to = in.weight->sizes();
    if (from[0] != to[0] || from[1] % g.groups || to[1] % g.groups) return nullptr;
    Dims sizes{to[1], from[1] / g.groups};
    for (size_t i = 0; i < kernel.size(); ++i) {
      const int64_t room = from[i + 2] + 2 * g.padding[i] - g.dilation[i] * (kernel[i] - 1) - 1;
      if (room < 0 || room / g.stride[i] + 1 != to[i + 2]) return nullptr;  // windows that hang over are the body's
      sizes.push_back(kernel[i]);
    }
    const Tensor out = empty(sizes, x->dtype(), x->device(), false, in.format);
    if (!cudnn::convolve_weight(in.x, in.weight, g, out)) return nullptr;
    return wrap(in.line ? as_line(out) : out);
  });
}

// cudnn_setting(name[, value]): one of torch.backends.cudnn; "version" is 0 without the library.
PyObject* py_cudnn_setting(PyObject*, PyObject* args) {
  const char* name = nullptr;
  PyObject* value = nullptr;
  if (!PyArg_ParseTuple(args, "s|O", &name, &value)) return nullptr;
  const std::string_view which(name);
  if (which == "version") return PyLong_FromLongLong(cudnn::version());
  cudnn::Settings& s = cudnn::settings();
  bool* one = which == "enabled"         ? &s.enabled
              : which == "allow_tf32"    ? &s.allow_tf32
              : which == "deterministic" ? &s.deterministic
                                         : nullptr;
  if (!one) return PyErr_Format(PyExc_ValueError, "no setting %s", name);
  const int truth = value ? PyObject_IsTrue(value) : *one;
  if (truth < 0) return nullptr;
  *one = truth != 0;
  return PyBool_FromLong(*one);
}

PyMethodDef cuda_convolution_functions[] = {
    {"cudnn_setting", py_cudnn_setting, METH_VARARGS, "Reads or sets a switch of convolutions on CUDA."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_cuda_convolution(PyObject* module) { return PyModule_AddFunctions(module, cuda_convolution_functions); }

void register_cuda_convolution() {
  register_native("convolution", native_convolution);
  register_native("_convolution_weight", native_convolution_weight);
}

}  // namespace shim
