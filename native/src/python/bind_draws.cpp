// Draws of a distribution that the records' bodies ask for.
#include <string_view>

#include "cuda/random.h"
#include "kernels/draws.h"
#include "python/held_type.h"

namespace shim {

template <> struct module_call::Argument<Mersenne&> : HeldArgument<Mersenne> {};

namespace {

Bytes get_state(Mersenne& numbers) {
  std::string state(Mersenne::kStateBytes, 0);
  numbers.save(reinterpret_cast<unsigned char*>(state.data()));
  return {std::move(state)};
}

void set_state(Mersenne& numbers, std::span<const char> state) {
  CHECK(Kind::Type, state.size() == Mersenne::kStateBytes, "set_state() takes the bytes of a state");
  CHECK(Kind::Runtime, numbers.restore(reinterpret_cast<const unsigned char*>(state.data())), "Invalid mt19937 state");
}

const HeldType<Mersenne> mersenne_type{"MersenneEngine",
    {object_method<[](Mersenne& m, uint64_t seed) { m.restart(seed); }>("restart", "Begins the stream of a seed."),
        object_method<&get_state>("get_state", "The state: 5056 bytes, laid out as PyTorch's."),
        object_method<&set_state>("set_state", "Takes what get_state gave. RuntimeError for bytes that are no state.")},
    {object_attribute<[](Mersenne& m) { return PyLong_FromUnsignedLongLong(m.seed()); }>(
        "seed", "The seed that the stream began with.")}};

DrawBounds bounds_of(std::string_view kind, PyObject* from, PyObject* to) {
  DrawBounds bounds;
  if (cpu_draws::is_whole(kind))
    bounds.low = PyLong_AsUnsignedLongLongMask(from), bounds.high = PyLong_AsUnsignedLongLongMask(to);
  else
    bounds.a = PyFloat_AsDouble(from), bounds.b = PyFloat_AsDouble(to);
  if (PyErr_Occurred()) throw PythonError();
  return bounds;
}

void draw(const Tensor& self, std::string_view kind, PyObject* from, PyObject* to, Mersenne& engine) {
  cpu_draws::draw(self, kind, bounds_of(kind, from, to), engine);
}
bool draw_on_cuda(
    const Tensor& self, std::string_view kind, PyObject* from, PyObject* to, uint64_t seed, uint64_t start) {
  return cuda::draw(self, kind, bounds_of(kind, from, to), seed, start);
}
void draw_with(const Tensor& out, std::string_view kind, Mersenne& engine, const Tensor& first,
    const std::optional<Tensor>& second) {
  cpu_draws::draw_with(out, kind, engine, first, second);
}

const ModulePart cpu_random_functions{
    {function<[](uint64_t seed) { return std::make_shared<Mersenne>(seed); }>(
         "Mersenne", "(seed): MT19937 with the state that torch.Generator.get_state() tells."),
        function<&draw_with>("cpu_draw_with", "Fills a CPU tensor with random numbers of given parameters in place."),
        function<&draw>("cpu_draw", "Fills a CPU tensor with random numbers in place."),
        function<&draw_on_cuda>("cuda_draw",
            "(tensor, kind, from, to, seed, start): fills a CUDA tensor; False where there is no kernel.")}};

}  // namespace

}  // namespace shim
