// Draws of a distribution on the CPU that the records' bodies ask for.
#include <string_view>

#include "cpu/parallel.h"
#include "cpu/random_kernels.h"
#include "python/mersenne.h"
#include "python/native_values.h"

namespace shim {

namespace {

// cpu_draw(tensor, kind, a, b, engine): fills a contiguous tensor of float32 or float64 ("integer" and "word": int64; "chance":
// bool) in place. uniform: from a to b; normal, single, log_normal, cauchy: of mean a and deviation b; integer: from a up to b, word: likewise, of
// 32 bits a number; exponential: of rate a; chance: of a.
PyObject* cpu_draw(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Mersenne* s = n == 5 && on_cpu(args[0]) && PyUnicode_Check(args[1]) ? mersenne_of(args[4]) : nullptr;
  const char* text = s ? PyUnicode_AsUTF8(args[1]) : nullptr;
  if (!text) return PyErr_Format(PyExc_TypeError, "cpu_draw(tensor, kind, a, b, engine)");
  const std::string_view kind = text;
  const Tensor self(unwrap(args[0]));
  const DType t = self->dtype();
  const bool whole = kind == "integer" || kind == "word", chance = kind == "chance";
  if (!self->is_contiguous() || self->has_math_bits() ||
      !(whole ? t == DType::i64 : (chance && t == DType::b8) || is_drawn(t)))
    return PyErr_Format(PyExc_TypeError, "cpu_draw: no tensor to fill with numbers of the kind %s", text);
  double a = 0, b = 0;
  uint64_t low = 0, high = 0;
  if (whole)
    low = PyLong_AsUnsignedLongLongMask(args[2]), high = PyLong_AsUnsignedLongLongMask(args[3]);
  else
    a = PyFloat_AsDouble(args[2]), b = PyFloat_AsDouble(args[3]);
  if (PyErr_Occurred()) return nullptr;
  return guarded([&]() -> PyObject* {
    unlocked(self->numel(), [&] {
      if (whole)
        fill_integer(self, int64_t(low), high - low, *s, kind == "word");
      else if (kind == "normal")
        fill_normal(self, a, b, *s);
      else if (kind == "single")
        fill_normal_singly(self, a, b, *s);
      else if (kind == "exponential")
        fill_exponential(self, a, *s);
      else if (kind == "log_normal")
        fill_log_normal(self, a, b, *s);
      else if (kind == "cauchy")
        fill_cauchy(self, a, b, *s);
      else if (chance)
        fill_chance(self, a, *s);
      else
        fill_uniform(self, a, b, *s);
      return 0;
    });
    self->bump_version();
    Py_RETURN_NONE;
  });
}

// cpu_draw_with(out, kind, engine, parameters...): fills out with a number for each element of the parameters: poisson(rate),
// gamma(shape) or binomial(count, prob), all contiguous, of one size, float32 or float64.
PyObject* cpu_draw_with(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Mersenne* s = n >= 4 && on_cpu(args[0]) && PyUnicode_Check(args[1]) ? mersenne_of(args[2]) : nullptr;
  const char* text = s ? PyUnicode_AsUTF8(args[1]) : nullptr;
  if (!text) return PyErr_Format(PyExc_TypeError, "cpu_draw_with(out, kind, engine, *parameters)");
  const std::string_view kind = text;
  const Tensor out(unwrap(args[0]));
  const bool binomial = kind == "binomial";
  bool fits = (binomial || kind == "poisson" || kind == "gamma") && n == (binomial ? 5 : 4) && out->is_contiguous() &&
              is_drawn(out->dtype());
  for (Py_ssize_t i = 3; fits && i < n; ++i) {
    fits = on_cpu(args[i]);
    if (!fits) break;
    const TensorImpl& t = *unwrap(args[i]);
    fits = t.is_contiguous() && !t.has_math_bits() && t.dtype() == out->dtype() && t.numel() == out->numel();
  }
  if (!fits) return PyErr_Format(PyExc_TypeError, "cpu_draw_with: no tensors for numbers of the kind %s", text);
  return guarded([&]() -> PyObject* {
    const Tensor first(unwrap(args[3])), second(binomial ? Tensor(unwrap(args[4])) : Tensor{});
    unlocked(out->numel(), [&] {
      if (binomial)
        fill_binomial(out, first, second, *s);
      else if (kind == "gamma")
        fill_gamma(out, first, *s);
      else
        fill_poisson(out, first, *s);
      return 0;
    });
    out->bump_version();
    Py_RETURN_NONE;
  });
}

PyMethodDef cpu_random_functions[] = {
    {"cpu_draw_with", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(cpu_draw_with)), METH_FASTCALL,
        "Fills a CPU tensor with random numbers of given parameters in place."},
    {"cpu_draw", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(cpu_draw)), METH_FASTCALL,
        "Fills a CPU tensor with random numbers in place."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_cpu_random(PyObject* module) {
  return bind_mersenne(module) < 0 ? -1 : PyModule_AddFunctions(module, cpu_random_functions);
}

}  // namespace shim
