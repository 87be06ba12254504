// Native fast paths of products of matrices and vectors. What does not fit is left to the record's rules and body.
#include <algorithm>

#include "core/sparse.h"
#include "ops/linear.h"
#include "python/dispatch.h"
#include "python/gemm_arguments.h"
#include "autograd/autograd.h"
#include "python/native_values.h"

namespace shim {

namespace {

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
    Scalar beta, alpha{Scalar::Int, 1};
    if (first && (!number_of(args[4], &beta) || !number_of(args[5], &alpha) || beta.type == Scalar::Complex ||
                     alpha.type == Scalar::Complex))
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
    Scalar beta, alpha;
    if (!number_of(args[3], &beta) || !number_of(args[4], &alpha) || beta.type == Scalar::Complex ||
        alpha.type == Scalar::Complex)
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
    Scalar beta, alpha{Scalar::Int, 1};
    if (kind & kAdds && (!number_of(args[numbers], &beta) || !number_of(args[numbers + 1], &alpha) ||
                            beta.type == Scalar::Complex || alpha.type == Scalar::Complex))
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
    Scalar beta, alpha;
    if (!number_of(args[3], &beta) || !number_of(args[4], &alpha) || beta.type == Scalar::Complex ||
        alpha.type == Scalar::Complex)
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

}  // namespace

void register_matmul() {
  auto kind_of = [](Product p) { return reinterpret_cast<void*>(p); };
  register_native("mm", native_product, kind_of(Product::mm));
  register_native("mv", native_product, kind_of(Product::mv));
  register_native("bmm", native_product, kind_of(Product::bmm));
  register_native("dot", native_product, kind_of(Product::dot));
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
}

}  // namespace shim
