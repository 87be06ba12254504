// Products of matrices and vectors as the operators are called.
#include <algorithm>

#include "gemm/arguments.h"
#include "gemm/operators.h"
#include "ops/kernels.h"
#include "ops/linear.h"

namespace shim::gemm {
namespace {

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

double work_of_product(const Tensor& a, const Tensor& b) { return double(a->numel()) * double(last(*b)); }

bool is_complex_factor(Scalar n) { return n.type == Scalar::Complex; }

Dims sizes_of_product(const Tensor& a, const Tensor& b) {
  Dims sizes(a->sizes().begin(), a->sizes().end());
  sizes.back() = last(*b);
  return sizes;
}

bool broadcasts(const Tensor& t, const Dims& sizes) { return spreads(*t, sizes.data(), int(sizes.size())); }

// Why a product in another dtype is not one of ours; null: it is. `self` may be null.
const char* unfit_in_dtype(Product kind, const Tensor& self, const Tensor& a, const Tensor& b, DType to) {
  if (!floats(*a)) return kNotFloats.reason;
  if (!alike(*a, *b)) return kNotAlike.reason;
  if (result_dtype(to, a->dtype()) == DType::undefined) return kNoSuchResult.reason;
  if (!product_fits(kind, *a, *b)) return kNotFitting.reason;
  if (a->dim() == 3 && a->device().is_cpu()) return "batches on the CPU, which PyTorch refuses";
  if (!self) return nullptr;
  if (!floats(*self) || self->device() != a->device()) return kNotAlike.reason;
  return broadcasts(self, sizes_of_product(a, b)) ? nullptr : kNotFitting.reason;
}

Outcome<Tensor> in_dtype(
    Product kind, const Tensor& self, const Tensor& a, const Tensor& b, DType to, Scalar beta, Scalar alpha) {
  if (is_complex_factor(beta) || is_complex_factor(alpha)) return kComplexFactor;
  if (const char* why = unfit_in_dtype(kind, self, a, b, to)) return NotMine{why};
  return or_not_mine(computed(*a, work_of_product(a, b),
                         [&] { return product_in(to, self, a, b, beta.to_double(), alpha.to_double()); }),
      kNoProduct.reason);
}

// What a product into `out` is made of; `self` may be null. `typed`: out_dtype was asked for.
struct Into {
  Product kind;
  const Tensor &out, &self, &a, &b;
  Scalar beta{}, alpha{Scalar::Int, 1};
  bool typed = false;
  DType dtype = DType::undefined;
};

const char* unfit_into(const Into& p) {
  for (const Tensor* t : {&p.out, &p.a, &p.b, p.self ? &p.self : &p.out}) {
    if ((*t)->has_math_bits() || is_sparse(**t)) return "a sparse tensor, or one whose memory does not hold its values";
    if ((*t)->device() != p.a->device()) return kNotAlike.reason;
  }
  if (is_complex_factor(p.beta) || is_complex_factor(p.alpha)) return kComplexFactor.reason;
  if (!floats(*p.a)) return kNotFloats.reason;
  if (!alike(*p.a, *p.b)) return kNotAlike.reason;
  const DType dtype = p.typed ? result_dtype(p.dtype, p.a->dtype()) : p.a->dtype();
  if (dtype == DType::undefined || p.out->dtype() != dtype) return kNoSuchResult.reason;
  if (p.typed && p.a->dim() == 3 && p.a->device().is_cpu()) return "batches on the CPU, which PyTorch refuses";
  if (!product_fits(p.kind, *p.a, *p.b)) return kNotFitting.reason;
  const Dims sizes = sizes_of_product(p.a, p.b);
  if (!std::ranges::equal(sizes, p.out->sizes())) return "a result of other sizes";
  if (!p.self) return nullptr;
  if (!floats(*p.self) || (!p.typed && p.self->dtype() != dtype)) return kNotAlike.reason;
  return broadcasts(p.self, sizes) ? nullptr : kNotFitting.reason;
}

Outcome<const Tensor&> into(const Into& p) {
  if (const char* why = unfit_into(p)) return NotMine{why};
  const bool done = computed(*p.out, work_of_product(p.a, p.b),
      [&] { return product_into(p.out, p.self, p.a, p.b, p.beta.to_double(), p.alpha.to_double()); });
  if (!done) return NotMine{"a result that is not contiguous, is empty or shares memory"};
  return p.out;
}

const Tensor kNothing;

}  // namespace

Outcome<Tensor> product(Registered<Product> kind, const Tensor& self, const Tensor& other) {
  if (!multiplied(*self)) return kNotFloats;
  if (!alike(*self, *other)) return kNotAlike;
  if (!product_fits(*kind, *self, *other)) return kNotFitting;
  return or_not_mine(computed(*self, work_of_product(self, other),
                         [&] {
                           switch (*kind) {
                             case Product::mm: return mm(self, other);
                             case Product::mv: return mv(self, other);
                             case Product::bmm: return bmm(self, other);
                             default: return matmul(self, other);
                           }
                         }),
      kNoProduct.reason);
}

Outcome<Tensor> matmul_operator(const Tensor& self, const Tensor& other) {
  const TensorImpl &a = *self, &b = *other;
  if (!multiplied(a)) return kNotFloats;
  if (!alike(a, b)) return kNotAlike;
  if (a.dim() == 0 || b.dim() == 0 || last(a) != b.sizes_data()[b.dim() == 1 ? 0 : b.dim() - 2]) return kNotFitting;
  for (int i = 3; i <= a.dim() && i <= b.dim(); ++i) {
    const int64_t x = a.sizes_data()[a.dim() - i], y = b.sizes_data()[b.dim() - i];
    if (x != y && x != 1 && y != 1) return kNotFitting;
  }
  return or_not_mine(computed(a, work_of_product(self, other), [&] { return matmul(self, other); }), kNoProduct.reason);
}

const char* no_outer_product(const Tensor& self, const Tensor& other) {
  if (!floats(*self)) return kNotFloats.reason;
  if (!alike(*self, *other)) return kNotAlike.reason;
  return self->dim() == 1 && other->dim() == 1 ? nullptr : kNotFitting.reason;
}

Outcome<Tensor> outer_product(const Tensor& self, const Tensor& other) {
  if (const char* why = no_outer_product(self, other)) return NotMine{why};
  return or_not_mine(
      computed(*self, double(self->numel()) * double(other->numel()), [&] { return outer(self, other); }),
      kNoProduct.reason);
}

Outcome<Tensor> outer_gradient(const Tensor& grad_output, const Tensor& other) {
  const TensorImpl &g = *grad_output, &v = *other;
  if (!floats(g)) return kNotFloats;
  if (!alike(g, v)) return kNotAlike;
  if (g.dim() != 2 || v.dim() != 1 || g.sizes_data()[1] != v.numel()) return kNotFitting;
  return or_not_mine(
      computed(g, double(g.numel()), [&] { return outer_backward_input(grad_output, other); }), kNoProduct.reason);
}

Outcome<Tensor> outer_gradient_other(const Tensor& grad_output, const Tensor& self) {
  const TensorImpl &g = *grad_output, &v = *self;
  if (!floats(g)) return kNotFloats;
  if (!alike(g, v)) return kNotAlike;
  if (g.dim() != 2 || v.dim() != 1 || g.sizes_data()[0] != v.numel()) return kNotFitting;
  return or_not_mine(
      computed(g, double(g.numel()), [&] { return outer_backward_other(grad_output, self); }), kNoProduct.reason);
}

Outcome<Tensor> added_product(
    Registered<Product> kind, const Tensor& self, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  if (is_complex_factor(beta) || is_complex_factor(alpha)) return kComplexFactor;
  if (!multiplied(*a)) return kNotFloats;
  if (!alike(*a, *b) || !alike(*a, *self)) return kNotAlike;
  if (!product_fits(*kind, *a, *b)) return kNotFitting;
  Dims sizes = sizes_of_product(a, b);
  if (*kind == Product::mv) sizes.pop_back();
  if (!broadcasts(self, sizes)) return kNotFitting;
  return or_not_mine(
      computed(*a, work_of_product(a, b), [&] { return addmm(self, a, b, beta.to_double(), alpha.to_double()); }),
      kNoProduct.reason);
}

Outcome<Tensor> activated_product(
    const Tensor& self, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha, bool use_gelu) {
  if (is_complex_factor(beta) || is_complex_factor(alpha)) return kComplexFactor;
  if (!floats(*a)) return kNotFloats;
  if (!alike(*a, *b) || !alike(*a, *self)) return kNotAlike;
  if (!product_fits(Product::mm, *a, *b) || !broadcasts(self, sizes_of_product(a, b))) return kNotFitting;
  // The tanh form on CUDA, as in PyTorch.
  const Activation activation = !use_gelu               ? Activation::relu
                                : a->device().is_cuda() ? Activation::gelu_tanh
                                                        : Activation::gelu;
  return or_not_mine(computed(*a, work_of_product(a, b),
                         [&] { return addmm_activation(activation, self, a, b, beta.to_double(), alpha.to_double()); }),
      kNoProduct.reason);
}

Outcome<Tensor> product_in_dtype(Registered<Product> kind, const Tensor& a, const Tensor& b, DType out_dtype) {
  return in_dtype(*kind, kNothing, a, b, out_dtype, Scalar{}, Scalar{Scalar::Int, 1});
}

Outcome<Tensor> added_product_in_dtype(Registered<Product> kind, const Tensor& self, const Tensor& a, const Tensor& b,
    DType out_dtype, Scalar beta, Scalar alpha) {
  return in_dtype(*kind, self, a, b, out_dtype, beta, alpha);
}

Outcome<const Tensor&> product_out(Registered<Product> kind, PlainTensor a, PlainTensor b, PlainTensor out) {
  return into({*kind, *out, kNothing, *a, *b});
}

Outcome<const Tensor&> product_in_dtype_out(
    Registered<Product> kind, PlainTensor a, PlainTensor b, DType out_dtype, PlainTensor out) {
  return into({.kind = *kind, .out = *out, .self = kNothing, .a = *a, .b = *b, .typed = true, .dtype = out_dtype});
}

Outcome<const Tensor&> added_product_out(Registered<Product> kind, PlainTensor self, PlainTensor a, PlainTensor b,
    Scalar beta, Scalar alpha, PlainTensor out) {
  return into({*kind, *out, *self, *a, *b, beta, alpha});
}

Outcome<const Tensor&> added_product_in_dtype_out(Registered<Product> kind, PlainTensor self, PlainTensor a,
    PlainTensor b, DType out_dtype, Scalar beta, Scalar alpha, PlainTensor out) {
  return into({*kind, *out, *self, *a, *b, beta, alpha, true, out_dtype});
}

Outcome<const Tensor&> added_product_(
    Registered<Product> kind, PlainTensor self, PlainTensor a, PlainTensor b, Scalar beta, Scalar alpha) {
  return into({*kind, *self, *self, *a, *b, beta, alpha});
}

}  // namespace shim::gemm
