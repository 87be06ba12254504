// Native fast paths of linear layers, their activations and gradients. What does not fit (a wrong shape, mixed dtypes,
// complex or integer matrices) is left to the record's rules, which raise PyTorch's errors, and to its body.
#include <algorithm>

#include "core/sparse.h"
#include "ops/gemm_settings.h"
#include "ops/linear.h"
#include "python/dispatch.h"
#include "python/gemm_arguments.h"
#include "autograd/autograd.h"
#include "python/native_values.h"

namespace shim {

namespace {

// (input, weight, bias): each fits as linear_forward wants it.
bool linear_fits(PyObject* const* args) {
  if (!is_tensor(args[0]) || !is_tensor(args[1])) return false;
  const TensorImpl &x = *unwrap(args[0]), &w = *unwrap(args[1]);
  if (!floats(x) || !alike(x, w) || w.dim() != 2 || x.dim() == 0 || last(x) != last(w)) return false;
  if (args[2] == Py_None) return true;
  if (!is_tensor(args[2])) return false;
  const TensorImpl& b = *unwrap(args[2]);
  if (!alike(x, b)) return false;
  if (b.dim() == 1) return b.numel() == w.sizes_data()[0] || b.numel() == 1;
  // Of other biases PyTorch folds those that are vectors beside dimensions of 1: (1, N) is the one that needs no second look.
  const auto many = std::count_if(b.sizes().begin(), b.sizes().end(), [](int64_t n) { return n != 1; });
  if (x.dim() != 2 && b.dim() > 1 && many == 1 && (b.dim() > 2 || x.dim() == 1 || b.sizes_data()[0] != 1)) return false;
  Dims sizes(x.sizes().begin(), x.sizes().end());
  sizes.back() = w.sizes_data()[0];
  return spreads(b, sizes.data(), int(sizes.size()));
}

// A product, and a sum of its own.
PyObject* unfused_linear(const Tensor& x, const Tensor& w, PyObject* bias) {
  PyObject* y =
      compute(*x, double(x->numel()) * double(w->sizes_data()[0]), [&] { return gemm::linear_forward(x, w, {}); });
  if (!y || bias == Py_None) return y;
  PyObject* sum = PyNumber_Add(y, bias);
  Py_DECREF(y);
  return sum;
}

PyObject* native_linear(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !linear_fits(args)) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor x(unwrap(args[0])), w(unwrap(args[1])), b = tensor_or_none(args[2]);
    if (b && gemm::legacy_linear()) return unfused_linear(x, w, args[2]);
    return compute(*x, double(x->numel()) * double(w->sizes_data()[0]), [&] { return gemm::linear_forward(x, w, b); });
  });
}

bool activation_of(PyObject* o, gemm::Activation* a) {
  const char* text = PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : nullptr;
  *a = gemm::activation_named(text ? text : "");
  return *a != gemm::Activation::none;
}

// The product, the sum and the activation as operators of their own: (result, what its gradient needs).
PyObject* unfused_activation(const Tensor& x, const Tensor& w, PyObject* bias, gemm::Activation activation, bool keep) {
  PyObject* z = unfused_linear(x, w, bias);
  if (!z) return nullptr;
  const bool relu = activation == gemm::Activation::relu;
  Operator* op = find_operator(relu ? "aten::relu" : "aten::gelu", "");
  PyObject* how = PyUnicode_FromString(activation == gemm::Activation::gelu_tanh ? "tanh" : "none");
  PyObject* given[2] = {z, how};
  PyObject* y = op && how ? run_functional(*op, given, relu ? 1 : 2) : nullptr;
  const int64_t none[1] = {0};
  PyObject* kept = !y      ? nullptr
                   : !keep ? wrap(empty(none, x->dtype(), x->device()))
                   : relu  ? wrap(alias(*unwrap(y)))
                           : Py_NewRef(z);
  Py_DECREF(z);
  Py_XDECREF(how);
  return kept ? Py_BuildValue("(NN)", y, kept) : nullptr;
}

PyObject* native_fused_linear(Operator&, PyObject* const* args, size_t n) {  // (input, weight, bias, activation, keep)
  gemm::Activation activation;
  if (n != 5 || !linear_fits(args) || !activation_of(args[3], &activation)) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor x(unwrap(args[0])), w(unwrap(args[1])), b = tensor_or_none(args[2]);
    gemm::Activated r;
    const bool keep = args[4] == Py_True;
    if (gemm::legacy_linear()) return unfused_activation(x, w, args[2], activation, keep);
    if (x->device().is_cuda()) {
      r = gemm::linear_activation(x, w, b, activation, keep);
    } else {
      GilRelease released;
      r = gemm::linear_activation(x, w, b, activation, keep);
    }
    return r.y ? Py_BuildValue("(NN)", wrap(r.y), wrap(r.kept)) : nullptr;
  });
}

PyObject* native_activation_backward(Operator&, PyObject* const* args, size_t n) {  // (grad_output, saved, activation)
  gemm::Activation activation;
  if (n != 3 || !is_tensor(args[0]) || !is_tensor(args[1]) || !activation_of(args[2], &activation)) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor g(unwrap(args[0])), kept(unwrap(args[1]));
    if (!floats(*g) || !std::equal(g->sizes().begin(), g->sizes().end(), kept->sizes().begin(), kept->sizes().end()) ||
        !fit(g, kept))
      return nullptr;
    return compute(*g, 32.0 * double(g->numel()), [&] { return gemm::activation_backward(activation, g, kept); });
  });
}

PyObject* native_activation_backward_bias(
    Operator&, PyObject* const* args, size_t n) {  // CUDA: both results in one launch
  gemm::Activation activation;
  if (n != 3 || !is_tensor(args[0]) || !is_tensor(args[1]) || !activation_of(args[2], &activation)) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor g(unwrap(args[0])), kept(unwrap(args[1]));
    if (!g->device().is_cuda() || !floats(*g) || !alike(*g, *kept) || g->dim() < 2 ||
        !std::equal(g->sizes().begin(), g->sizes().end(), kept->sizes().begin(), kept->sizes().end()))
      return nullptr;
    gemm::SlopeAndSum r = gemm::activation_backward_bias(activation, g, kept, true);
    return r.dz ? Py_BuildValue("(NN)", wrap(r.dz), wrap(r.db)) : nullptr;
  });
}

bool scaled_fits(const TensorImpl& a, const TensorImpl& b, const TensorImpl& scale_a, const TensorImpl& scale_b) {
  const auto float8 = [](DType t) { return t == DType::f8e4m3fn || t == DType::f8e5m2; };
  if (!float8(a.dtype()) || !float8(b.dtype()) || (a.dtype() == DType::f8e5m2 && b.dtype() == DType::f8e5m2))
    return false;
  if (a.dim() != 2 || b.dim() != 2 || last(a) != b.sizes_data()[0] || last(a) % 16 || last(b) % 16 || !a.numel() ||
      !b.numel())
    return false;
  if (b.device() != a.device() || scale_a.device() != a.device() || scale_b.device() != a.device()) return false;
  if (scale_a.dtype() != DType::f32 || scale_b.dtype() != DType::f32 || !scale_a.is_contiguous() ||
      !scale_b.is_contiguous())
    return false;
  if (scale_a.numel() == 1 && scale_b.numel() == 1) return true;
  return scale_a.dim() == 2 && scale_b.dim() == 2 && scale_a.sizes_data()[0] == a.sizes_data()[0] &&
         last(scale_a) == 1 && scale_b.sizes_data()[0] == 1 && last(scale_b) == last(b);
}

// (self, mat2, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum)
PyObject* native_scaled_mm(Operator&, PyObject* const* args, size_t n) {
  if (n != 8 || !is_tensor(args[0]) || !is_tensor(args[1]) || !is_tensor(args[2]) || !is_tensor(args[3]) ||
      !is_dtype(args[6]))
    return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor a(unwrap(args[0])), b(unwrap(args[1])), scale_a(unwrap(args[2])), scale_b(unwrap(args[3]));
    Tensor bias = is_tensor(args[4]) ? Tensor(unwrap(args[4])) : Tensor();
    if (!a->device().is_cuda() || args[5] != Py_None || !scaled_fits(*a, *b, *scale_a, *scale_b)) return nullptr;
    return wrapped(gemm::scaled_mm(a, b, scale_a, scale_b, bias, dtype_of(args[6]), args[7] == Py_True));
  });
}

PyObject* native_backward_input(Operator&, PyObject* const* args, size_t n) {  // (grad_output, weight, out_dtype)
  if (n != 3 || !is_tensor(args[0]) || !is_tensor(args[1])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor g(unwrap(args[0])), w(unwrap(args[1]));
    DType to;
    if (w->dim() != 2 || g->dim() == 0 || last(*g) != w->sizes_data()[0] || !result_dtype(args[2], w->dtype(), &to) ||
        !fit(g, w))
      return nullptr;
    return compute(*g, double(g->numel()) * double(last(*w)), [&] { return gemm::linear_backward_input(g, w, to); });
  });
}

PyObject* native_backward_weight(
    Operator&, PyObject* const* args, size_t n) {  // (grad_output, input, transposed, out_dtype)
  if (n != 4 || !is_tensor(args[0]) || !is_tensor(args[1])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor g(unwrap(args[0])), x(unwrap(args[1]));
    DType to;
    if (g->dim() == 0 || g->dim() != x->dim() ||
        !std::equal(g->sizes().begin(), g->sizes().end() - 1, x->sizes().begin()) ||
        !result_dtype(args[3], x->dtype(), &to) || !fit(g, x))
      return nullptr;
    const bool transposed = args[2] == Py_True;
    return compute(
        *g, double(g->numel()) * double(last(*x)), [&] { return gemm::linear_backward_weight(g, x, transposed, to); });
  });
}

PyObject* native_backward_bias(Operator&, PyObject* const* args, size_t n) {
  if (n != 1 || !is_tensor(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor g(unwrap(args[0]));
    if (!floats(*g) || g->device().is_meta() || g->dim() == 0) return nullptr;
    return compute(*g, double(g->numel()), [&] { return gemm::linear_backward_bias(g); });
  });
}

}  // namespace

void register_linear() {
  register_native("linear", native_linear);
  register_native("fused_linear", native_fused_linear);
  register_native("activation_backward", native_activation_backward);
  register_native("activation_backward_bias", native_activation_backward_bias);
  register_native("_scaled_mm", native_scaled_mm);
  register_native("linear_backward_input", native_backward_input);
  register_native("linear_backward_weight", native_backward_weight);
  register_native("linear_backward_bias", native_backward_bias);
}

}  // namespace shim
