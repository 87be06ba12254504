// Kernels of operators that are one pointwise formula.
#include <string>

#include "cpu/formula_kernels.h"
#include "cpu/special_functions.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {
namespace {

using Operand = const TensorOrScalar&;  // a tensor after the first, for which a number may stand

struct Arity {
  int tensors, numbers;
  void (*add)(const PointwiseFormula&);  // registers the formula for operators of so many arguments
};

template <class... More> void add_formula(const PointwiseFormula& f) {
  register_kernel<&formula_kernel<false, More...>, kCpu>(f.name, &f);
  register_kernel<&formula_kernel<true, More...>, kCpu>((std::string(f.name) + "_").c_str(), &f);
}
template <class... More> void add_wide_formula(const PointwiseFormula& f) {
  register_kernel<&wide_formula_kernel<false, More...>, kCpu>(f.name, &f);
  register_kernel<&wide_formula_kernel<true, More...>, kCpu>((std::string(f.name) + "_").c_str(), &f);
}

constexpr Arity kArities[] = {
    {1, 0, add_formula<>},
    {2, 0, add_formula<Operand>},
    {3, 0, add_formula<Operand, Operand>},
    {1, 1, add_formula<Scalar>},
    {2, 1, add_formula<Operand, Scalar>},
    {3, 1, add_formula<Operand, Operand, Scalar>},
    {1, 2, add_formula<Scalar, Scalar>},
    {2, 2, add_formula<Operand, Scalar, Scalar>},
    {1, 3, add_formula<Scalar, Scalar, Scalar>},
};
constexpr Arity kWideArities[] = {{1, 0, add_wide_formula<>}, {2, 0, add_wide_formula<Operand>}};

void add_all(std::span<const PointwiseFormula> formulas, std::span<const Arity> arities) {
  for (const PointwiseFormula& f : formulas)
    for (const Arity& a : arities)
      if (a.tensors == f.tensors && a.numbers == f.numbers) a.add(f);
}

}  // namespace

void register_formula_kernels() {
  add_all(plain_formulas(), kArities);
  add_all(curved_formulas(), kArities);
  add_all(special_formulas(), kWideArities);
  register_kernel<&polygamma, kCpu>("polygamma");
  register_kernel<&formula_gradient, kCpu>("pointwise_backward");
  register_kernel<&power<false>, kCpu>("pow");
  register_kernel<&power<true>, kCpu>("pow_");
  register_kernel<&logit<false>, kCpu>("logit");
  register_kernel<&logit<true>, kCpu>("logit_");
  register_kernel<&round_decimals<false>, kCpu>("round_decimals");
  register_kernel<&round_decimals<true>, kCpu>("round_decimals_");
  register_kernel<&polar, kCpu>("polar");
}

}  // namespace shim
