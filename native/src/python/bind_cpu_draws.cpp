// Draws of a distribution on the CPU that the records' bodies ask for.
#include <string_view>

#include "kernels/draws.h"
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

// Of bounds that are integers modulo 2**64.
void draw(const Tensor& self, std::string_view kind, PyObject* from, PyObject* to, PyObject* engine) {
  cpu_draws::Bounds bounds;
  if (cpu_draws::is_whole(kind))
    bounds.low = PyLong_AsUnsignedLongLongMask(from), bounds.high = PyLong_AsUnsignedLongLongMask(to);
  else
    bounds.a = PyFloat_AsDouble(from), bounds.b = PyFloat_AsDouble(to);
  if (PyErr_Occurred()) throw PythonError();
  cpu_draws::draw(self, kind, bounds, numbers_of(engine));
}

void draw_with(const Tensor& out, std::string_view kind, PyObject* engine, const Tensor& first,
    const std::optional<Tensor>& second) {
  cpu_draws::draw_with(out, kind, numbers_of(engine), first, second);
}

PyMethodDef cpu_random_functions[] = {
    function<&draw_with>("cpu_draw_with", "Fills a CPU tensor with random numbers of given parameters in place."),
    function<&draw>("cpu_draw", "Fills a CPU tensor with random numbers in place."), {}};

}  // namespace

int bind_cpu_random(PyObject* module) {
  return bind_mersenne(module) < 0 ? -1 : PyModule_AddFunctions(module, cpu_random_functions);
}

}  // namespace shim
