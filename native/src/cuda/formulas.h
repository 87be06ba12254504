#pragma once
// Pointwise operators that have a kernel on CUDA and, elsewhere, one of the CPU's alone or a body in array operations.
#include <span>
#include <string_view>

#include "cpu/pointwise.h"
#include "cuda/elementwise.h"
#include "ops/kernel.h"

namespace shim::cuda {

// Of tensors on one device, or numbers; `extra` are the numbers of the operators whose functors take some. The tensors are of one
// floating dtype, or where the functor takes whole numbers of any real ones, promoted. The result is new, or `out`, which must
// have its shape and dtype.
Outcome<Tensor> formula(const char* op, std::span<const TensorOrScalar> inputs, const double (&extra)[3],
    Tensor out = {}, Whole whole = Whole::declined);
Outcome<Tensor> formula_of(
    const Functor&, std::span<const TensorOrScalar> inputs, std::span<const double> extra, Tensor out);

// An operator that is one functor: its operands, then its numbers, of which one that is not given counts as -1 (logit's
// bound).
template <bool in_place, class... More>
Outcome<Tensor> functor_kernel(Registered<Functor> f, const Tensor& self, More... more) {
  TensorOrScalar inputs[3] = {{self.get(), {}}};
  double extra[3] = {};
  size_t operands = 1, numbers = 0;
  [[maybe_unused]] const auto put = [&](auto&& given) {
    if constexpr (std::is_same_v<std::decay_t<decltype(given)>, TensorOrScalar>)
      inputs[operands++] = given;
    else
      extra[numbers++] = given.value_or(-1);
  };
  (put(more), ...);
  return formula_of(*f, {inputs, operands}, {extra, numbers}, in_place ? self : Tensor{});
}

Outcome<Tensor> clamp_tensors(const Tensor& self, std::optional<TensorOrScalar> min, std::optional<TensorOrScalar> max);
template <bool in_place> Outcome<Tensor> round_decimals(const Tensor& self, int64_t decimals);
template <bool in_place> Outcome<Tensor> heaviside(const Tensor& self, const Tensor& values);
// gcd and lcm, of integers alone.
template <bool in_place> Outcome<Tensor> divisor(Registered<Functor>, const Tensor& self, const Tensor& other);
Outcome<Tensor> angle(const Tensor& self);
Outcome<Tensor> complex(const Tensor& real, const Tensor& imag);
Outcome<Tensor> polygamma(int64_t order, const Tensor& self);
Outcome<Tensor> glu(const Tensor& self, int64_t dim);
Outcome<Tensor> glu_backward(const Tensor& g, const Tensor& self, int64_t dim);
Outcome<Tensor> masked_scale(const Tensor& self, const Tensor& mask, double scale);
Outcome<Tensor> pointwise_backward(
    const Tensor& g, const Tensor& saved, std::string_view name, double p, double q, double r);
// The number must be of self's kind.
Outcome<Tensor> masked_fill(const Tensor& self, const Tensor& mask, Scalar value);
Outcome<Tensor> masked_fill_(const Tensor& self, const Tensor& mask, Scalar value);
Outcome<Tensor> is_close(const Tensor& self, const Tensor& other, double relative, double absolute, bool equal_nan);

}  // namespace shim::cuda
