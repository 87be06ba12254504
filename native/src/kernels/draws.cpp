#include "kernels/draws.h"

#include "cpu/parallel.h"
#include "cpu/random_kernels.h"

namespace shim::cpu_draws {
namespace {

bool fillable(const Tensor& t) { return t->device().is_cpu() && t->is_contiguous() && !t->has_math_bits(); }

}  // namespace

void draw(const Tensor& self, std::string_view kind, const Bounds& of, Mersenne& s) {
  const auto [low, high, a, b] = of;
  const DType t = self->dtype();
  const bool whole = is_whole(kind), chance = kind == "chance";
  CHECK(Kind::Type, fillable(self) && (whole ? t == DType::i64 : (chance && t == DType::b8) || is_drawn(t)),
      "cpu_draw: no tensor to fill with numbers of the kind ", std::string(kind));
  unlocked(self->numel(), [&] {
    if (whole)
      fill_integer(self, int64_t(low), high - low, s, kind == "word");
    else if (kind == "normal")
      fill_normal(self, a, b, s);
    else if (kind == "single")
      fill_normal_singly(self, a, b, s);
    else if (kind == "exponential")
      fill_exponential(self, a, s);
    else if (kind == "log_normal")
      fill_log_normal(self, a, b, s);
    else if (kind == "cauchy")
      fill_cauchy(self, a, b, s);
    else if (chance)
      fill_chance(self, a, s);
    else
      fill_uniform(self, a, b, s);
    return 0;
  });
  self->bump_version();
}

void draw_with(
    const Tensor& out, std::string_view kind, Mersenne& s, const Tensor& first, const std::optional<Tensor>& second) {
  const auto fits = [&](const Tensor& t) {
    return fillable(t) && t->dtype() == out->dtype() && t->numel() == out->numel();
  };
  const bool binomial = kind == "binomial", known = binomial || kind == "poisson" || kind == "gamma";
  CHECK(Kind::Type,
      known && bool(second) == binomial && is_drawn(out->dtype()) && fits(out) && fits(first) &&
          (!second || fits(*second)),
      "cpu_draw_with: no tensors for numbers of the kind ", std::string(kind));
  unlocked(out->numel(), [&] {
    if (binomial)
      fill_binomial(out, first, *second, s);
    else if (kind == "gamma")
      fill_gamma(out, first, s);
    else
      fill_poisson(out, first, s);
    return 0;
  });
  out->bump_version();
}

}  // namespace shim::cpu_draws
