// Unary, binary and ternary pointwise operators over the kernels' tables.
#include "cpu/pointwise.h"

#include "cpu/parallel.h"
#include "cpu/pointwise_arguments.h"
#include "ops/cuda_kernels.h"

namespace shim {

DType compute_dtype(DType t) {
  if (t == DType::f16 || t == DType::bf16) return DType::f32;
  return t == DType::c32 ? DType::c64 : t;
}

Scalar rounded(Scalar n, DType to) {
  if (n.type != Scalar::Float || compute_dtype(to) == to) return n;
  char element[16];
  store_number(element, to, n);
  n.f = load_as_double(element, to);
  return n;
}

bool PointwiseOp::keeps_number(size_t operand, Device where) const {
  const std::string_view op = name;
  if (rule == Rule::logical) return true;
  if (where.is_cpu()) return operand == 1 && (op == "mul" || op == "div" || op == "floor_divide" || op == "div_trunc");
  return rule == Rule::to_float || op == "add" || op == "sub" || op == "mul";
}

bool PointwiseOp::rounds(size_t operand, Device where, DType of, bool no_dims, DType promoted) const {
  if (!where.is_cpu() || rule == Rule::logical || compute_dtype(promoted) == promoted) return false;
  return of != promoted && itemsize(of) > 1 && !(no_dims && keeps_number(operand, where));
}

namespace {

struct Dtypes {
  DType in, result, out;
};  // computed in, given by the kernel, of the tensor

Dtypes choose(const PointwiseOp& op, DType common) {
  if (op.rule == Rule::to_float && is_integral(common, true)) common = default_dtype();
  if (op.rule == Rule::logical) return {DType::b8, DType::b8, DType::b8};
  const DType in = compute_dtype(common);
  if (op.rule == Rule::compare) return {in, DType::b8, DType::b8};
  if (op.real && is_complex(in)) return {in, to_real(in), to_real(common)};
  return {in, in, common};
}

}  // namespace

bool clashes(const TensorImpl& out, const TensorImpl& in) {
  const char *a = static_cast<const char*>(out.data()), *b = static_cast<const char*>(in.data());
  if (a >= b + storage_bytes(in.sizes(), in.strides(), in.itemsize()) ||
      b >= a + storage_bytes(out.sizes(), out.strides(), out.itemsize()))
    return false;
  return !(a == b && out.itemsize() == in.itemsize() && same_shape(out.sizes(), in.sizes()) &&
           same_shape(out.strides(), in.strides()));
}

namespace {

// The element count of operands that need no nest: all contiguous, of the kernels' own dtypes, of one shape. -1: they do.
int64_t flat(const TensorImpl& out, DType result, const TensorImpl& a, const TensorImpl* b, DType in) {
  if (out.dtype() != result || a.dtype() != in || !out.is_contiguous() || !a.is_contiguous()) return -1;
  if (b && (b->dtype() != in || !b->is_contiguous() || !same_shape(a.sizes(), b->sizes()))) return -1;
  return a.numel();
}

void run_flat(BlockKernel kernel, const TensorImpl& out, DType result, const TensorImpl& a, const TensorImpl* b,
    DType in, int64_t n) {
  char* to = static_cast<char*>(out.data());
  const char* x = static_cast<const char*>(a.data());
  const char* y = b ? static_cast<const char*>(b->data()) : nullptr;
  if (n < 2 * kGrain) {
    const char* inputs[2] = {x, y};
    return kernel(to, inputs, n);
  }
  const int64_t out_size = int64_t(itemsize(result)), in_size = int64_t(itemsize(in));
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    const char* inputs[2] = {x + begin * in_size, y ? y + begin * in_size : nullptr};
    kernel(to + begin * out_size, inputs, end - begin);
  });
}

void run_flat_with(BlockKernel kernel, const TensorImpl& out, const TensorImpl& a, const char* number, size_t size) {
  char* to = static_cast<char*>(out.data());
  const char* x = static_cast<const char*>(a.data());
  parallel_for(a.numel(), kGrain, [&](int64_t begin, int64_t end) {
    const char* in[2] = {x + begin * int64_t(size), number};
    kernel(to + begin * int64_t(size), in, end - begin);
  });
}

// One more operand, computed with in `in`.
void put(Args& args, const PointwiseOp& op, size_t place, const TensorOrScalar& from, const Tensor& out, DType common,
    DType in) {
  const Device where = out->device();
  if (!from.tensor) return args.number(op.keeps_number(place, where) ? from.number : rounded(from.number, common), in);
  const TensorImpl& t = *from.tensor;
  if (!op.rounds(place, where, t.dtype(), t.dim() == 0, common)) return args.tensor(t, out, in);
  args.copies[args.count] = to_dtype(Tensor(const_cast<TensorImpl*>(&t)), common);
  args.operands[args.count] = Operand::of(*args.copies[args.count]);
  ++args.count;
}

}  // namespace

Tensor run_unary(const PointwiseOp& op, const Tensor& self, Tensor out) {
  if (!takes(*self)) return {};
  const Dtypes d = choose(op, self->dtype());
  const BlockKernel kernel = op.at(d.in);
  if (!kernel && !(is_complex(d.in) && self->device().is_cuda())) return {};  // CUDA's are functors
  const bool fresh = !out;
  if (!out) {
    const TensorImpl* like = self.get();
    out = allocate_like(self->sizes(), &like, 1, d.out, self->device());
  }
  if (self->numel() == 0) return out;
  const int64_t n = self->device().is_cpu() ? flat(*out, d.result, *self, nullptr, d.in) : -1;
  if (n >= 0 && (fresh || !clashes(*out, *self))) {
    run_flat(kernel, *out, d.result, *self, nullptr, d.in, n);
    return out;
  }
  const BlockKernel narrow =
      d.out == self->dtype() && d.in != d.out && self->device().is_cpu() ? op.at(d.out) : nullptr;
  if (narrow && (fresh || !clashes(*out, *self)) && flat(*out, d.out, *self, nullptr, d.out) >= 0) {
    run_flat(narrow, *out, d.out, *self, nullptr, d.out, self->numel());
    return out;
  }
  Args args;
  args.operands[0] = Operand::of(*out);
  args.tensor(*self, out, d.in);
  return run(op.name, out->sizes(), out, args, d.in, d.result, kernel) ? out : Tensor{};
}

Tensor run_binary(const PointwiseOp& op, const TensorOrScalar& a, const TensorOrScalar& b, Tensor out) {
  if (!a.tensor && !b.tensor) return {};
  if ((a.tensor && !takes(*a.tensor)) || (b.tensor && !takes(*b.tensor))) return {};
  const DType common = common_dtype(a, b);
  const Dtypes d = choose(op, common);
  const BlockKernel kernel = op.at(d.in);
  if (!kernel) return {};
  Device where;
  if (!device_of_all({a.tensor, b.tensor}, &where) || (out && !(out->device() == where))) return {};
  const bool fresh = !out;
  const bool alike = a.tensor && b.tensor && same_shape(a.tensor->sizes(), b.tensor->sizes());
  if (alike && !out && a.tensor->is_contiguous() && b.tensor->is_contiguous())
    out = empty(a.tensor->sizes(), d.out, where);
  if (!out) {
    const TensorImpl* like[2] = {a.tensor, b.tensor};
    out = allocate_like(broadcast_of(a, b), like, 2, d.out, where);
  } else if (!alike && !same_shape(broadcast_of(a, b), out->sizes())) {
    return {};
  }
  if (out->numel() == 0) return out;
  if (alike && where.is_cpu()) {
    const int64_t n = flat(*out, d.result, *a.tensor, b.tensor, d.in);
    if (n >= 0 && (fresh || (!clashes(*out, *a.tensor) && !clashes(*out, *b.tensor)))) {
      run_flat(kernel, *out, d.result, *a.tensor, b.tensor, d.in, n);
      return out;
    }
    const BlockKernel narrow = d.out == common && d.in != common ? op.at(common) : nullptr;
    if (narrow && (fresh || (!clashes(*out, *a.tensor) && !clashes(*out, *b.tensor))) &&
        flat(*out, common, *a.tensor, b.tensor, common) >= 0) {
      run_flat(narrow, *out, common, *a.tensor, b.tensor, common, out->numel());
      return out;
    }
  }
  if (!b.tensor && where.is_cpu() && d.out == common && common != d.in && d.in == DType::f32 &&
      (fresh || !clashes(*out, *a.tensor)) && flat(*out, common, *a.tensor, nullptr, common) >= 0)
    if (const BlockKernel narrow = half_number_kernel(op.name, common)) {
      alignas(16) char number[16];
      store_number(number, DType::f32, op.keeps_number(1, where) ? b.number : rounded(b.number, common));
      run_flat_with(narrow, *out, *a.tensor, number, itemsize(common));
      return out;
    }
  Args args;
  args.operands[0] = Operand::of(*out);
  put(args, op, 0, a, out, common, d.in);
  put(args, op, 1, b, out, common, d.in);
  return run(op.name, out->sizes(), out, args, d.in, d.result, kernel) ? out : Tensor{};
}

Tensor run_add(const TensorOrScalar& a, const TensorOrScalar& b, Scalar alpha, bool subtract, Tensor out) {
  const bool plain = alpha.type != Scalar::Complex && alpha.to_double() == 1;
  if (plain) {
    static const PointwiseOp &plus = *binary_op("add"), &minus = *binary_op("sub");
    return run_binary(subtract ? minus : plus, a, b, out);
  }
  if ((!a.tensor && !b.tensor) || (a.tensor && !takes(*a.tensor)) || (b.tensor && !takes(*b.tensor))) return {};
  const DType common = common_dtype(a, b), in = compute_dtype(common);
  if (is_integral(common, true) && (common == DType::b8 || (alpha.type != Scalar::Int && alpha.type != Scalar::Bool)))
    return {};
  if (alpha.type == Scalar::Complex && !is_complex(common)) return {};
  const BlockKernel kernel = add_scaled().at(in);
  if (!kernel) return {};
  Device where;
  if (!device_of_all({a.tensor, b.tensor}, &where) || (out && !(out->device() == where))) return {};
  const Dims shape = broadcast_of(a, b);
  if (!out) {
    const TensorImpl* like[2] = {a.tensor, b.tensor};
    out = allocate_like(shape, like, 2, common, where);
  } else if (!same_shape(shape, out->sizes())) {
    return {};
  }
  if (subtract) alpha.i = -alpha.i, alpha.f = -alpha.f, alpha.imag = -alpha.imag;
  if (alpha.type == Scalar::Bool) alpha.type = Scalar::Int;
  Args args;
  args.operands[0] = Operand::of(*out);
  put(args, add_scaled(), 0, a, out, common, in);
  put(args, add_scaled(), 1, b, out, common, in);
  args.number(where.is_cpu() ? rounded(alpha, common) : alpha, in);
  return run("add_scaled", shape, out, args, in, in, kernel) ? out : Tensor{};
}

Tensor unary(const std::string& name, const Tensor& self, Tensor out) {
  const PointwiseOp* op = unary_op(name);
  return op ? run_unary(*op, self, out) : Tensor{};
}

Tensor binary(const std::string& name, const Tensor& a, const Tensor& b, Tensor out) {
  const PointwiseOp* op = binary_op(name);
  return op ? run_binary(*op, {a.get(), {}}, {b.get(), {}}, out) : Tensor{};
}

Tensor add(const Tensor& a, const Tensor& b, Scalar alpha, Tensor out) {
  return run_add({a.get(), {}}, {b.get(), {}}, alpha, false, out);
}

}  // namespace shim
