// Native fast paths of linear and the matrix products, and the module's functions about them. What does not fit (a wrong shape,
// mixed dtypes, complex or integer matrices) is left to the record's rules, which raise PyTorch's errors, and to its body.
#include <algorithm>

#include "core/sparse.h"
#include "cuda/cublaslt.h"
#include "cuda/nvrtc.h"
#include "gemm/kernels_source.h"
#include "ops/linear.h"
#include "gemm/plan.h"
#include "ops/gemm_settings.h"
#include "gemm/skinny_source.h"
#include "python/dispatch.h"
#include "python/linear_backward.h"
#include "python/native_values.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

constexpr double kWorthReleasing = 1 << 18;  // multiplications

// Runs f without the GIL where it takes long enough on this thread to be worth it.
template <class F> PyObject* compute(const TensorImpl& like, double work, F&& f) {
  Tensor r;
  if (like.device().is_cuda() || work < kWorthReleasing) {
    r = f();
  } else {
    GilRelease released;
    r = f();
  }
  return wrapped(r);
}

bool floats(const TensorImpl& t) {
  if (is_sparse(t)) return false;
  return t.dtype() == DType::f32 || t.dtype() == DType::f64 || t.dtype() == DType::f16 || t.dtype() == DType::bf16;
}
bool alike(const TensorImpl& a, const TensorImpl& b) {
  return a.dtype() == b.dtype() && a.device() == b.device() && !a.device().is_meta();
}
// Makes a gradient of the dtype of what was kept for it; false where they are not both floats on one device.
bool fit(Tensor& g, const Tensor& kept) {
  if (!floats(*g) || !floats(*kept) || g->device() != kept->device() || g->device().is_meta()) return false;
  if (g->dtype() != kept->dtype()) g = to_dtype(g, kept->dtype());
  return true;
}
int64_t last(const TensorImpl& t) { return t.sizes_data()[t.dim() - 1]; }

// Whether `t` broadcasts to `sizes`.
bool spreads(const TensorImpl& t, const int64_t* sizes, int dims) {
  if (t.dim() > dims) return false;
  for (int i = 1; i <= t.dim(); ++i)
    if (t.sizes_data()[t.dim() - i] != 1 && t.sizes_data()[t.dim() - i] != sizes[dims - i]) return false;
  return true;
}

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

// The dtype that a product of operands of dtype `has` is asked for in; false where none is computed in it.
bool result_dtype(PyObject* asked, DType has, DType* to) {
  *to = asked == Py_None ? has : is_dtype(asked) ? dtype_of(asked) : DType::undefined;
  return *to == has || (*to == DType::f32 && (has == DType::f16 || has == DType::bf16));
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

enum class Product : uintptr_t { mm, mv, bmm, dot };

bool product_fits(Product kind, const TensorImpl& a, const TensorImpl& b) {
  const int64_t *m = a.sizes_data(), *o = b.sizes_data();
  switch (kind) {
    case Product::mm: return a.dim() == 2 && b.dim() == 2 && m[1] == o[0];
    case Product::mv: return a.dim() == 2 && b.dim() == 1 && m[1] == o[0];
    case Product::bmm: return a.dim() == 3 && b.dim() == 3 && m[0] == o[0] && m[2] == o[1];
    case Product::dot: return a.dim() == 1 && b.dim() == 1 && m[0] == o[0];
  }
  return false;
}

PyObject* native_product(Operator& op, PyObject* const* args, size_t n) {
  if (n != 2 || !is_tensor(args[0]) || !is_tensor(args[1])) return nullptr;
  const auto kind = static_cast<Product>(reinterpret_cast<uintptr_t>(op.native_data));
  return guarded([&]() -> PyObject* {
    Tensor a(unwrap(args[0])), b(unwrap(args[1]));
    if (!floats(*a) || !alike(*a, *b) || !product_fits(kind, *a, *b)) return nullptr;
    return compute(*a, double(a->numel()) * double(last(*b)), [&] {
      switch (kind) {
        case Product::mm: return gemm::mm(a, b);
        case Product::mv: return gemm::mv(a, b);
        case Product::bmm: return gemm::bmm(a, b);
        default: return gemm::matmul(a, b);
      }
    });
  });
}

// matmul is a composite: natively only where no history is kept, so that its graph is that of mm and bmm.
PyObject* native_matmul(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !is_tensor(args[0]) || !is_tensor(args[1])) return nullptr;
  if (GradMode::enabled() && any_requires_grad(args, n)) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor a(unwrap(args[0])), b(unwrap(args[1]));
    if (!floats(*a) || !alike(*a, *b) || a->dim() == 0 || b->dim() == 0) return nullptr;
    if (last(*a) != b->sizes_data()[b->dim() == 1 ? 0 : b->dim() - 2]) return nullptr;
    for (int i = 3; i <= a->dim() && i <= b->dim(); ++i) {
      const int64_t x = a->sizes_data()[a->dim() - i], y = b->sizes_data()[b->dim() - i];
      if (x != y && x != 1 && y != 1) return nullptr;
    }
    return compute(*a, double(a->numel()) * double(last(*b)), [&] { return gemm::matmul(a, b); });
  });
}

bool vectors(PyObject* const* args, size_t n) {
  if (n != 2 || !is_tensor(args[0]) || !is_tensor(args[1])) return false;
  const TensorImpl &a = *unwrap(args[0]), &b = *unwrap(args[1]);
  return floats(a) && alike(a, b) && a.dim() == 1 && b.dim() == 1;
}

PyObject* native_outer_kernel(Operator&, PyObject* const* args, size_t n) {
  if (!vectors(args, n)) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor a(unwrap(args[0])), b(unwrap(args[1]));
    return compute(*a, double(a->numel()) * double(b->numel()), [&] { return gemm::outer(a, b); });
  });
}

// outer is a composite: where history is kept, that of the operator whose gradients are products.
PyObject* native_outer(Operator& op, PyObject* const* args, size_t n) {
  if (!vectors(args, n)) return nullptr;
  if (!GradMode::enabled() || !any_requires_grad(args, n)) return native_outer_kernel(op, args, n);
  Operator* kept = find_operator("shim::_outer", "");
  if (!kept) return nullptr;
  PyObject* bound[2] = {args[0], args[1]};
  return guarded([&]() -> PyObject* { return run_recorded(*kept, bound, 2); });
}

PyObject* native_outer_backward(Operator& op, PyObject* const* args, size_t n) {  // (grad_output, the other vector)
  if (n != 2 || !is_tensor(args[0]) || !is_tensor(args[1])) return nullptr;
  const bool input = reinterpret_cast<uintptr_t>(op.native_data) == 0;
  return guarded([&]() -> PyObject* {
    Tensor g(unwrap(args[0])), v(unwrap(args[1]));
    if (!floats(*g) || !alike(*g, *v) || g->dim() != 2 || v->dim() != 1 || g->sizes_data()[input ? 1 : 0] != v->numel())
      return nullptr;
    return compute(*g, double(g->numel()),
        [&] { return input ? gemm::outer_backward_input(g, v) : gemm::outer_backward_other(g, v); });
  });
}

// mm.dtype, bmm.dtype: (a, b, out_dtype); addmm.dtype, baddbmm.dtype: (self, a, b, out_dtype, beta, alpha).
PyObject* native_product_in(Operator&, PyObject* const* args, size_t n) {
  const size_t first = n == 6;
  if ((n != 3 && n != 6) || !is_tensor(args[0]) || !is_tensor(args[first]) || !is_tensor(args[first + 1]))
    return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self = first ? Tensor(unwrap(args[0])) : Tensor(), a(unwrap(args[first])), b(unwrap(args[first + 1]));
    DType to;
    Number beta, alpha{Number::Int, 1};
    if (first && (!number_of(args[4], &beta) || !number_of(args[5], &alpha) || beta.type == Number::Complex ||
                     alpha.type == Number::Complex))
      return nullptr;
    if (!floats(*a) || !alike(*a, *b) || !result_dtype(args[first + 2], a->dtype(), &to) ||
        !product_fits(a->dim() == 3 ? Product::bmm : Product::mm, *a, *b))
      return nullptr;
    if (a->dim() == 3 && a->device().is_cpu()) return nullptr;  // which PyTorch refuses, and the record too
    if (self) {
      Dims sizes(a->sizes().begin(), a->sizes().end());
      sizes.back() = last(*b);
      if (!floats(*self) || self->device() != a->device() || !spreads(*self, sizes.data(), int(sizes.size())))
        return nullptr;
    }
    return compute(*a, double(a->numel()) * double(last(*b)),
        [&] { return gemm::product_in(to, self, a, b, beta.to_double(), alpha.to_double()); });
  });
}

// addmm, addmv, baddbmm: (self, a, b, beta, alpha).
PyObject* native_addmm(Operator&, PyObject* const* args, size_t n) {
  if (n != 5 || !is_tensor(args[0]) || !is_tensor(args[1]) || !is_tensor(args[2])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0])), a(unwrap(args[1])), b(unwrap(args[2]));
    Number beta, alpha;
    if (!number_of(args[3], &beta) || !number_of(args[4], &alpha) || beta.type == Number::Complex ||
        alpha.type == Number::Complex)
      return nullptr;
    if (!floats(*a) || !alike(*a, *b) || !alike(*a, *self)) return nullptr;
    const Product kind = a->dim() == 3 ? Product::bmm : b->dim() == 1 ? Product::mv : Product::mm;
    if (!product_fits(kind, *a, *b)) return nullptr;
    Dims sizes(a->sizes().begin(), a->sizes().end());
    if (kind == Product::mv)
      sizes.pop_back();
    else
      sizes.back() = last(*b);
    if (!spreads(*self, sizes.data(), int(sizes.size()))) return nullptr;
    return compute(*a, double(a->numel()) * double(last(*b)),
        [&] { return gemm::addmm(self, a, b, beta.to_double(), alpha.to_double()); });
  });
}

// A product written where it is to be, with no result in between: out= of mm, bmm, addmm, baddbmm and their out_dtype, and what
// the last two write to self. (a, b) or (self, a, b), out_dtype where it is one of those, beta and alpha, out.
enum Into : uintptr_t { kAdds = 1, kTyped = 2, kInplace = 4 };

PyObject* native_product_into(Operator& op, PyObject* const* args, size_t n) {
  const auto kind = reinterpret_cast<uintptr_t>(op.native_data);
  const size_t first = kind & kAdds ? 1 : 0, numbers = first + 2 + (kind & kTyped ? 1 : 0),
               all = numbers + (kind & kAdds ? 2 : 0) + (kind & kInplace ? 0 : 1);
  if (n != all) return nullptr;
  PyObject* to = args[kind & kInplace ? 0 : n - 1];
  if (!is_tensor(to) || !is_tensor(args[0]) || !is_tensor(args[first]) || !is_tensor(args[first + 1])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor out(unwrap(to)), self = first ? Tensor(unwrap(args[0])) : Tensor(), a(unwrap(args[first])),
                            b(unwrap(args[first + 1]));
    for (const Tensor& t : {out, a, b, self ? self : out})
      if (!is_plain(t) || t->device() != a->device()) return nullptr;
    DType dtype = a->dtype();
    Number beta, alpha{Number::Int, 1};
    if (kind & kAdds && (!number_of(args[numbers], &beta) || !number_of(args[numbers + 1], &alpha) ||
                            beta.type == Number::Complex || alpha.type == Number::Complex))
      return nullptr;
    if (!floats(*a) || !alike(*a, *b) || (kind & kTyped && !result_dtype(args[first + 2], a->dtype(), &dtype)) ||
        out->dtype() != dtype)
      return nullptr;
    if (kind & kTyped && a->dim() == 3 && a->device().is_cpu()) return nullptr;
    if (!product_fits(a->dim() == 3 ? Product::bmm : Product::mm, *a, *b)) return nullptr;
    Dims sizes(a->sizes().begin(), a->sizes().end());
    sizes.back() = last(*b);
    if (!std::equal(sizes.begin(), sizes.end(), out->sizes().begin(), out->sizes().end())) return nullptr;
    if (self && (!floats(*self) || (!(kind & kTyped) && self->dtype() != dtype) ||
                    !spreads(*self, sizes.data(), int(sizes.size()))))
      return nullptr;
    const auto run = [&] { return gemm::product_into(out, self, a, b, beta.to_double(), alpha.to_double()); };
    bool done;
    if (out->device().is_cuda() || double(a->numel()) * double(last(*b)) < kWorthReleasing) {
      done = run();
    } else {
      GilRelease released;
      done = run();
    }
    return done ? Py_NewRef(to) : nullptr;
  });
}

PyObject* native_addmm_activation(
    Operator&, PyObject* const* args, size_t n) {  // (self, mat1, mat2, beta, alpha, use_gelu)
  if (n != 6 || !is_tensor(args[0]) || !is_tensor(args[1]) || !is_tensor(args[2])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0])), a(unwrap(args[1])), b(unwrap(args[2]));
    Number beta, alpha;
    if (!number_of(args[3], &beta) || !number_of(args[4], &alpha) || beta.type == Number::Complex ||
        alpha.type == Number::Complex)
      return nullptr;
    if (!floats(*a) || !alike(*a, *b) || !alike(*a, *self) || a->dim() != 2 || b->dim() != 2 ||
        !product_fits(Product::mm, *a, *b))
      return nullptr;
    const int64_t sizes[2] = {a->sizes_data()[0], last(*b)};
    if (!spreads(*self, sizes, 2)) return nullptr;
    // The tanh form on CUDA, as in PyTorch.
    const auto activation = args[5] != Py_True      ? gemm::Activation::relu
                            : a->device().is_cuda() ? gemm::Activation::gelu_tanh
                                                    : gemm::Activation::gelu;
    return compute(*a, double(a->numel()) * double(last(*b)),
        [&] { return gemm::addmm_activation(activation, self, a, b, beta.to_double(), alpha.to_double()); });
  });
}

// --- module functions -----------------------------------------------------------------------------------------------------

PyObject* set_legacy(PyObject*, PyObject* value) {  // 1, 0 or -1; the former value of this thread
  long v = PyLong_AsLong(value);
  if (v == -1 && PyErr_Occurred()) return nullptr;
  return PyLong_FromLong(gemm::set_legacy_linear(v < 0 ? -1 : v != 0));
}

PyObject* set_process_legacy(PyObject*, PyObject* value) {  // the same of the process
  long v = PyLong_AsLong(value);
  if (v == -1 && PyErr_Occurred()) return nullptr;
  return PyLong_FromLong(gemm::set_process_legacy_linear(v < 0 ? -1 : v != 0));
}

PyObject* is_legacy(PyObject*, PyObject*) { return PyBool_FromLong(gemm::legacy_linear()); }

struct NamedFlag {
  const char* name;
  std::atomic<bool>& (*get)();
};
#define FLAG(field) {#field, []() -> std::atomic<bool>& { return gemm::settings().field; }}
const NamedFlag flags[] = {FLAG(allow_tf32), FLAG(fp16_reduced), FLAG(fp16_split_k), FLAG(bf16_reduced),
    FLAG(bf16_split_k), FLAG(fp16_accumulation), FLAG(deterministic), FLAG(tuning), FLAG(always_fuse), FLAG(one_launch),
    FLAG(direct)};
#undef FLAG

PyObject* flag(PyObject*, PyObject* args) {  // (name) reads it, (name, value) sets it and gives the old one
  const char* name;
  PyObject* value = nullptr;
  if (!PyArg_ParseTuple(args, "s|O", &name, &value)) return nullptr;
  for (const NamedFlag& f : flags) {
    if (std::string(f.name) != name) continue;
    const bool old = f.get();
    if (value) {
      int truth = PyObject_IsTrue(value);
      if (truth < 0) return nullptr;
      f.get() = truth != 0;
    }
    return PyBool_FromLong(old);
  }
  return PyErr_Format(PyExc_KeyError, "%s", name);
}

PyObject* status(PyObject*, PyObject*) {
  const gemm::Counters& c = gemm::counters();
  auto n = [](const std::atomic<uint64_t>& v) { return static_cast<unsigned long long>(v.load()); };
  return Py_BuildValue("{s:s,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "cpu_library", gemm::cpu_library(), "cpu", n(c.cpu),
      "cublaslt", n(c.lt), "direct", n(c.direct), "own_kernels", n(c.own), "plans", n(c.plans), "tuned", n(c.tuned),
      "fallbacks", n(c.fallbacks));
}

PyObject* plans(PyObject*, PyObject*) {
  PyObject* list = PyList_New(0);
  for (const gemm::PlanReport& r : gemm::plan_reports()) {
    const gemm::GemmProblem& p = r.problem;
    const std::string text = std::string(p.trans_a ? "T" : "N") + (p.trans_b ? "T" : "N");
    PyObject* trials = PyList_New(0);
    for (const gemm::Trial& t : r.trials) {
      PyObject* pair = Py_BuildValue("(dd)", double(t.device), double(t.host));
      if (!pair || PyList_Append(trials, pair) < 0) PyErr_Clear();
      Py_XDECREF(pair);
    }
    PyObject* row = Py_BuildValue("{s:s,s:s,s:s,s:L,s:L,s:L,s:L,s:i,s:i,s:i,s:i,s:O,s:O,s:s,s:N}", "dtype",
        dtype_name(p.a_dtype), "result", dtype_name(p.d_dtype), "transposed", text.c_str(), "m", (long long)p.m, "n",
        (long long)p.n, "k", (long long)p.k, "batch", (long long)p.batch, "compute", int(p.compute), "epilogue",
        int(p.epilogue), "chosen", r.chosen, "fusion", r.fusion, "tuned", r.tuned ? Py_True : Py_False, "own_kernel",
        r.own_kernel ? Py_True : Py_False, "direct", r.direct.c_str(), "trials", trials);
    if (!row || PyList_Append(list, row) < 0) PyErr_Clear();
    Py_XDECREF(row);
  }
  return list;
}

// shim_torch._impl.extensions.cuda_libraries.candidates(name), where the Python environment is known.
std::vector<std::string> python_candidates(const char* name) {
  GilAcquire gil;
  std::vector<std::string> found;
  PyObject* module = PyImport_ImportModule("shim_torch._impl.extensions.cuda_libraries");
  PyObject* list = module ? PyObject_CallMethod(module, "candidates", "s", name) : nullptr;
  for (Py_ssize_t i = 0; list && PyList_Check(list) && i < PyList_GET_SIZE(list); ++i)
    if (const char* path = PyUnicode_AsUTF8(PyList_GET_ITEM(list, i))) found.push_back(path);
  Py_XDECREF(list);
  Py_XDECREF(module);
  PyErr_Clear();  // the bare names are tried all the same
  return found;
}

PyObject* check_library(PyObject*, PyObject* path) {  // (version, "") or (0, what is wrong); needs no GPU
  const char* text = PyUnicode_AsUTF8(path);
  if (!text) return nullptr;
  cublaslt::Library l;
  const bool ok = cublaslt::load_library(text, l);
  return Py_BuildValue(
      "(nsO)", Py_ssize_t(ok ? l.version_number : 0), l.why.c_str(), l.copyable_desc ? Py_True : Py_False);
}

PyObject* found_library(PyObject*, PyObject*) {  // (path, version, why not)
  const cublaslt::Library& l = cublaslt::library();
  return Py_BuildValue("(sns)", l.path.c_str(), Py_ssize_t(l.version_number), l.why.c_str());
}

PyObject* compile_kernels(
    PyObject*, PyObject* args) {  // (dtype number, architecture, NVRTC's path or None): (bytes of code, log)
  int type, architecture;
  const char* path = nullptr;
  if (!PyArg_ParseTuple(args, "ii|z", &type, &architecture, &path)) return nullptr;
  if (path)
    if (std::string wrong = nvrtc::use_library(path); !wrong.empty())
      return PyErr_Format(PyExc_RuntimeError, "%s", wrong.c_str());
  const std::string columns = std::string(gemm::kTypesSource) + gemm::kKernelsSource;
  const std::string skinny =
      std::string(gemm::kTypesSource) + gemm::kSkinnyNarrowSource + gemm::kSkinnyWideSource + gemm::kSkinnySource;
  size_t bytes = 0;
  for (const std::string& program : {columns, skinny}) {
    nvrtc::Compiled c = nvrtc::compile(program, architecture, {"-DTYPE=" + std::to_string(type)});
    if (c.cubin.empty()) return Py_BuildValue("(ns)", Py_ssize_t(0), c.log.c_str());
    bytes += c.cubin.size();
  }
  return Py_BuildValue("(ns)", Py_ssize_t(bytes), "");
}

PyMethodDef gemm_functions[] = {
    {"gemm_compile_kernels", compile_kernels, METH_VARARGS,
        "Compiles our CUDA kernels without loading them: (dtype number, architecture, NVRTC's path)."},
    {"cublaslt_check", check_library, METH_O,
        "Loads a library and compares its ABI with ours: (version, reason, copies are independent)."},
    {"cublaslt_library", found_library, METH_NOARGS,
        "The library that serves CUDA products: (path, version, why there is none)."},
    {"gemm_set_legacy_linear", set_legacy, METH_O,
        "Unfused linear for this thread: 1, 0, or -1 for the process' answer."},
    {"gemm_set_process_legacy_linear", set_process_legacy, METH_O,
        "Unfused linear for the process: 1, 0, or -1 for the environment's answer."},
    {"gemm_legacy_linear", is_legacy, METH_NOARGS, "Whether linear runs as product and sum."},
    {"gemm_flag", flag, METH_VARARGS, "Reads or sets a switch of matrix products."},
    {"gemm_plans", plans, METH_NOARGS,
        "Every cuBLASLt problem met so far: what was chosen for it, and whether its kernels are launched directly."},
    {"gemm_status", status, METH_NOARGS, "What served matrix products so far."}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

void register_gemm() {
  auto put = [](const char* name, Product p) { register_native(name, native_product, reinterpret_cast<void*>(p)); };
  put("mm", Product::mm);
  put("mv", Product::mv);
  put("bmm", Product::bmm);
  put("dot", Product::dot);
  for (const char* name : {"mm_dtype", "bmm_dtype", "addmm_dtype", "baddbmm_dtype"})
    register_native(name, native_product_in);
  auto into = [](const char* name, uintptr_t kind) {
    register_native(name, native_product_into, reinterpret_cast<void*>(kind));
  };
  for (const char* name : {"mm_out", "bmm_out"}) into(name, 0);
  for (const char* name : {"mm_dtype_out", "bmm_dtype_out"}) into(name, kTyped);
  for (const char* name : {"addmm_out", "baddbmm_out"}) into(name, kAdds);
  for (const char* name : {"addmm_dtype_out", "baddbmm_dtype_out"}) into(name, kAdds | kTyped);
  for (const char* name : {"addmm_", "baddbmm_"}) into(name, kAdds | kInplace);
  register_native("matmul", native_matmul);
  for (const char* name : {"addmm", "addmv", "baddbmm"}) register_native(name, native_addmm);
  register_native("_addmm_activation", native_addmm_activation);
  register_native("outer", native_outer);
  register_native("_outer", native_outer_kernel);
  register_native("outer_backward_input", native_outer_backward, reinterpret_cast<void*>(uintptr_t(0)));
  register_native("outer_backward_other", native_outer_backward, reinterpret_cast<void*>(uintptr_t(1)));
  register_native("linear", native_linear);
  register_native("fused_linear", native_fused_linear);
  register_native("activation_backward", native_activation_backward);
  register_native("activation_backward_bias", native_activation_backward_bias);
  register_native("_scaled_mm", native_scaled_mm);
  register_native("linear_backward_input", native_backward_input);
  register_native("linear_backward_weight", native_backward_weight);
  register_native("linear_backward_bias", native_backward_bias);
}

int bind_gemm(PyObject* module) {
  cublaslt::set_library_finder(python_candidates);
  return PyModule_AddFunctions(module, gemm_functions);
}

}  // namespace shim
