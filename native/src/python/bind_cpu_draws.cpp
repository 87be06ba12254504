// Draws of a distribution on the CPU that the records' bodies ask for.
#include <string_view>

#include "cpu/parallel.h"
#include "cpu/random_kernels.h"
#include "python/mersenne.h"
#include "python/module_function.h"
#include "python/native_ops.h"

namespace shim {

namespace {

Mersenne& numbers_of(PyObject* engine) {
  Mersenne* numbers = mersenne_of(engine);
  CHECK(Kind::Type, numbers, "a draw on the CPU takes the engine of a CPU generator, not ", Py_TYPE(engine)->tp_name);
  return *numbers;
}

bool fillable(const Tensor& t) { return t->device().is_cpu() && t->is_contiguous() && !t->has_math_bits(); }

// (tensor, kind, a, b, engine): fills a contiguous tensor of float32 or float64 ("integer" and "word": int64; "chance": bool) in place.
// uniform: from a to b; normal, single, log_normal, cauchy: of mean a and deviation b; integer: from a up to b, word: likewise, of
// 32 bits a number; exponential: of rate a; chance: of a.
void draw(const Tensor& self, std::string_view kind, PyObject* from, PyObject* to, PyObject* engine) {
  Mersenne& s = numbers_of(engine);
  const DType t = self->dtype();
  const bool whole = kind == "integer" || kind == "word", chance = kind == "chance";
  CHECK(Kind::Type, fillable(self) && (whole ? t == DType::i64 : (chance && t == DType::b8) || is_drawn(t)),
      "cpu_draw: no tensor to fill with numbers of the kind ", std::string(kind));
  const uint64_t low = whole ? PyLong_AsUnsignedLongLongMask(from) : 0;
  const uint64_t high = whole ? PyLong_AsUnsignedLongLongMask(to) : 0;
  const double a = whole ? 0 : PyFloat_AsDouble(from), b = whole ? 0 : PyFloat_AsDouble(to);
  if (PyErr_Occurred()) throw PythonError();
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

// (out, kind, engine, parameters...): fills out with a number for each element of the parameters: poisson(rate), gamma(shape) or
// binomial(count, prob), all contiguous, of one size, float32 or float64.
void draw_with(const Tensor& out, std::string_view kind, PyObject* engine, const Tensor& first,
    const std::optional<Tensor>& second) {
  Mersenne& s = numbers_of(engine);
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

PyMethodDef cpu_random_functions[] = {
    function<&draw_with>("cpu_draw_with", "Fills a CPU tensor with random numbers of given parameters in place."),
    function<&draw>("cpu_draw", "Fills a CPU tensor with random numbers in place."), {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_cpu_random(PyObject* module) {
  return bind_mersenne(module) < 0 ? -1 : PyModule_AddFunctions(module, cpu_random_functions);
}

}  // namespace shim
