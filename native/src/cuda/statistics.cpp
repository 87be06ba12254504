#include "cuda/statistics.h"

#include <cmath>

#include "cpu/pointwise.h"
#include "cpu/reduce.h"
#include "cuda/launch.h"
#include "cuda/reasons.h"
#include "cuda/reduce.h"
#include "cuda/rows.h"
#include "cuda/scan.h"

namespace shim::cuda {
namespace {

// What the kernels of rows.h and scan.h give no result for, each for all of its reasons.
constexpr NotMine kNoVariance{"no floats, no degrees of freedom, dims apart, or a kernel that could not be compiled"},
    kNoExtreme{"no elements, complex numbers, a dim out of range, or a kernel that could not be compiled"},
    kNoRunning{"complex numbers, a dim out of range, or a kernel that could not be compiled"},
    kBoolResult{"a bool result, which PyTorch refuses"};

Outcome<DeviationAndMean> moments(
    const Tensor& self, OptionalDims dims, std::optional<double> correction, bool keepdim, bool root, bool means) {
  Tensor mean;
  const Tensor out =
      variance(self, dims.value_or(IntArrayRef{}), keepdim, correction.value_or(1), root, means ? &mean : nullptr);
  if (!out) return kNoVariance;
  return DeviationAndMean{out, mean};
}

Outcome<Tensor> deviation(
    const Tensor& self, OptionalDims dims, std::optional<double> correction, bool keepdim, bool root) {
  const auto both = moments(self, dims, correction, keepdim, root, false);
  if (!both) return both.why();
  return std::get<0>(*both);
}

Outcome<Tensor> place_of_extreme(bool largest, const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  if (self->dtype() == DType::b8) return NotMine{"bool tensors, which PyTorch refuses"};
  const Tensor index = arg_extreme(largest, self, dim.value_or(0), !dim, keepdim, nullptr);
  if (!index) return kNoExtreme;
  return index;
}

Outcome<ValuesAndIndices> extreme_along(bool largest, const Tensor& self, int64_t dim, bool keepdim) {
  Tensor values;
  const Tensor index = arg_extreme(largest, self, dim, false, keepdim, &values);
  if (!index) return kNoExtreme;
  return ValuesAndIndices{values, index};
}

Outcome<Tensor> running_of(Running how, const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  const DType own = self->dtype(), result = dtype ? *dtype : is_integral(own, true) ? DType::i64 : own;
  if (result == DType::b8) return kBoolResult;
  const Tensor out = running(how, self, dim, result);
  if (!out) return kNoRunning;
  return out;
}

Outcome<ValuesAndIndices> running_extreme_of(bool largest, const Tensor& self, int64_t dim) {
  Tensor values;
  const Tensor index = running_extreme(largest, self, dim, &values);
  if (!index) return kNoRunning;
  return ValuesAndIndices{values, index};
}

// Of any order, by a pass for each step; of order 0 how many are not 0.
Tensor norm_by_powers(const Tensor& self, double order, IntArrayRef dims, bool keepdim) {
  if (!floating(self->dtype()) || !self->numel()) return {};
  static const PointwiseOp &power = *binary_op("pow"), &differ = *binary_op("ne");
  const DType wide = cuda::compute_dtype(self->dtype());
  const auto raised = [](const Tensor& t, double to) {
    return t ? run_binary(power, {t.get(), {}}, {nullptr, Scalar{.type = Scalar::Float, .f = to}}) : t;
  };
  const Tensor x = of_dtype(self, wide),
               each =
                   order == 0 ? run_binary(differ, {x.get(), {}}, {nullptr, Scalar{}}) : raised(unary("abs", x), order),
               sum = each ? reduce(Reduction::sum, each, dims, keepdim, wide) : each,
               norm = order == 0 ? sum : raised(sum, 1 / order);
  return norm ? of_dtype(norm, self->dtype()) : norm;
}

}  // namespace

Outcome<Tensor> var(const Tensor& self, OptionalDims dims, std::optional<double> correction, bool keepdim) {
  return deviation(self, dims, correction, keepdim, false);
}
Outcome<Tensor> std_dev(const Tensor& self, OptionalDims dims, std::optional<double> correction, bool keepdim) {
  return deviation(self, dims, correction, keepdim, true);
}
Outcome<DeviationAndMean> var_mean(const Tensor& self, OptionalDims dims, std::optional<double> correction, bool keep) {
  return moments(self, dims, correction, keep, false, true);
}
Outcome<DeviationAndMean> std_mean(const Tensor& self, OptionalDims dims, std::optional<double> correction, bool keep) {
  return moments(self, dims, correction, keep, true, true);
}

Outcome<Tensor> count_nonzero(const Tensor& self, IntArrayRef dims) {
  static const PointwiseOp& differ = *binary_op("ne");
  const Tensor counted =
      self->dtype() == DType::b8 ? self : run_binary(differ, {self.get(), {}}, {nullptr, Scalar{Scalar::Int, 0}});
  if (!counted) return kOtherDtype;
  return reduced_over(Reduction::sum, counted, dims, false, DType::i64);
}

Outcome<Tensor> argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return place_of_extreme(true, self, dim, keepdim);
}
Outcome<Tensor> argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return place_of_extreme(false, self, dim, keepdim);
}
Outcome<ValuesAndIndices> max_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return extreme_along(true, self, dim, keepdim);
}
Outcome<ValuesAndIndices> min_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return extreme_along(false, self, dim, keepdim);
}

Outcome<Tensor> logsumexp(const Tensor& self, IntArrayRef dims, bool keepdim) {
  return or_not_mine(log_sum_exp(self, dims, keepdim),
      "no floats, no elements, a dim named twice, or a kernel that could not be compiled");
}

Outcome<Tensor> vector_norm(
    const Tensor& self, double order, OptionalDims dims, bool keepdim, std::optional<DType> dtype) {
  if (dtype) return NotMine{"a dtype given"};
  const Tensor x = is_complex(self->dtype()) ? unary("abs", self) : self;
  if (!x) return kOtherDtype;
  const IntArrayRef over = dims.value_or(IntArrayRef{});
  const bool one_pass = order == 1 || order == 2 || std::isinf(order);
  return or_not_mine(one_pass ? vector_norm(*x, order, over, keepdim) : norm_by_powers(x, order, over, keepdim),
      "no floats, no elements, or a kernel that could not be compiled");
}

Outcome<Tensor> cumsum(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  const int64_t n = self->dim();
  if (is_complex(self->dtype()) && dtype.value_or(self->dtype()) == self->dtype() && dim >= -n && dim < n) {
    const Tensor parts = view_as_real(*self),
                 sums = running(Running::sum, parts, dim < 0 ? dim + n : dim, parts->dtype());
    return or_not_mine(sums ? view_as_complex(*sums) : sums, kNoRunning.reason);
  }
  return running_of(Running::sum, self, dim, dtype);
}
Outcome<Tensor> cumprod(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return running_of(Running::product, self, dim, dtype);
}
Outcome<Tensor> logcumsumexp(const Tensor& self, int64_t dim) {
  if (is_integral(self->dtype(), true)) return NotMine{"integers, which PyTorch refuses"};
  return running_of(Running::log_sum_exp, self, dim, std::nullopt);
}
Outcome<ValuesAndIndices> cummax(const Tensor& self, int64_t dim) { return running_extreme_of(true, self, dim); }
Outcome<ValuesAndIndices> cummin(const Tensor& self, int64_t dim) { return running_extreme_of(false, self, dim); }

}  // namespace shim::cuda
