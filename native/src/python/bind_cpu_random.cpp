// Random numbers on the CPU: contiguous tensors and usual options. The rest is the records' bodies'.
#include <cmath>
#include <limits>

#include "autograd/autograd.h"
#include "cpu/random.h"
#include "python/cpu_generator.h"
#include "python/native_cpu.h"

namespace shim {

namespace {

// --- what is filled ---------------------------------------------------------------------------------------------------------

bool fillable(PyObject* o, bool floats) {
  if (!on_cpu(o)) return false;
  const TensorImpl& t = *unwrap(o);
  if (!t.is_contiguous() || t.has_math_bits() || (t.requires_grad() && GradMode::enabled()) ||
      !is_plain(Tensor(unwrap(o))))
    return false;
  return !floats || is_drawn(t.dtype());
}

template <class F> PyObject* fill(PyObject* self, PyObject* generator, F&& f) {
  return guarded([&]() -> PyObject* {
    const Tensor t(unwrap(self));
    const Source s(generator);
    if (!s) return nullptr;
    if (t->numel())
      unlocked(t->numel(), [&] {
        f(t, *s);
        return 0;
      });
    t->bump_version();
    return Py_NewRef(self);
  });
}

// (..., dtype, layout, device, pin_memory) of a factory on the CPU.
bool cpu_options(PyObject* const* options, DType* dtype) {
  if (options[1] != Py_None || (options[2] != Py_None && !(is_device(options[2]) && device_of(options[2]).is_cpu())) ||
      options[3] == Py_True)
    return false;
  if (options[0] != Py_None) *dtype = dtype_of(options[0]);
  return true;
}

// A new tensor, filled.
template <class F> PyObject* made(IntArrayRef sizes, DType dtype, PyObject* generator, F&& f) {
  const Source s(generator);
  if (!s) return nullptr;
  const Tensor t = empty(sizes, dtype, Device{});
  if (t->numel())
    unlocked(t->numel(), [&] {
      f(t, *s);
      return 0;
    });
  return wrap(t);
}

bool sizes_of(PyObject* o, Dims* sizes) {
  if (!PyTuple_Check(o) || !dims_of(o, sizes)) return PyErr_Clear(), false;
  for (int64_t n : *sizes)
    if (n < 0) return false;
  return true;
}

bool real(PyObject* o, double* value) {
  *value = PyFloat_Check(o) ? PyFloat_AS_DOUBLE(o) : PyLong_Check(o) ? PyLong_AsDouble(o) : std::nan("");
  return std::isfinite(*value);
}

// Whole numbers that the dtype holds one by one.
bool holds_range(DType t, int64_t low, int64_t high) {
  int64_t least = 0, most = 0;  // the most is one more than the last
  switch (t) {
    case DType::i64: return low < high;
    case DType::u8: most = 256; break;
    case DType::i8: least = -128, most = 128; break;
    case DType::i16: least = -32768, most = 32768; break;
    case DType::i32: least = -(int64_t(1) << 31), most = int64_t(1) << 31; break;
    case DType::f32: least = -(int64_t(1) << 24), most = int64_t(1) << 24; break;
    case DType::f64: least = -(int64_t(1) << 53), most = int64_t(1) << 53; break;
    default: return false;
  }
  return low < high && low >= least && high <= most;
}

void fill_range(const Tensor& t, int64_t low, uint64_t span, Mersenne& s, bool short_words = false) {
  if (t->dtype() == DType::i64) return fill_integer(t, low, span, s);
  const Tensor whole = empty(t->sizes(), DType::i64, Device{});
  fill_integer(whole, low, span, s, short_words);
  copy_(t, whole);
}

// --- operators in place -----------------------------------------------------------------------------------------------------

// uniform_(self, from, to, generator), normal_(self, mean, std, generator)
template <bool Normal> PyObject* native_fill(Operator&, PyObject* const* args, size_t n) {
  double a, b;
  if (n != 4 || !fillable(args[0], true) || !real(args[1], &a) || !real(args[2], &b) || (Normal ? b < 0 : a > b))
    return nullptr;
  constexpr double kMost = std::numeric_limits<float>::max() / 2;
  if (!Normal && (std::fabs(a) > kMost || std::fabs(b) > kMost)) return nullptr;
  return fill(args[0], args[3], [&](const Tensor& t, Mersenne& s) { fill_real<Normal>(t, a, b, s); });
}

// exponential_(self, lambd, generator), bernoulli_(self, p, generator)
template <bool Chance> PyObject* native_fill_by_one(Operator&, PyObject* const* args, size_t n) {
  double p;
  const bool truths = Chance && n == 3 && on_cpu(args[0]) && unwrap(args[0])->dtype() == DType::b8;
  if (n != 3 || !fillable(args[0], !truths) || !real(args[1], &p) || !(Chance ? p >= 0 && p <= 1 : p > 0))
    return nullptr;
  return fill(args[0], args[2],
      [&](const Tensor& t, Mersenne& s) { Chance ? fill_chance(t, p, s) : fill_exponential(t, p, s); });
}

// The whole numbers from 0 on that the dtype holds one by one.
PyObject* random_of_all(PyObject* self, PyObject* generator) {
  uint64_t span;
  const DType t = unwrap(self)->dtype();
  switch (t) {
    case DType::i64: span = uint64_t(1) << 63; break;
    case DType::i32: span = uint64_t(1) << 31; break;
    case DType::f32: span = (uint64_t(1) << 24) + 1; break;
    case DType::f64: span = (uint64_t(1) << 53) + 1; break;
    default: return nullptr;
  }
  return fill(self, generator, [&](const Tensor& x, Mersenne& s) { fill_range(x, 0, span, s, t == DType::i32); });
}

// random_(self, generator), random_(self, to, generator), random_(self, from, to, generator)
PyObject* native_random(Operator&, PyObject* const* args, size_t n) {
  int64_t low = 0, high = 0;
  if (n < 2 || n > 4 || !fillable(args[0], false)) return nullptr;
  if (n == 2) return random_of_all(args[0], args[1]);
  if (!integer_of(args[n - 2], &high) || (n == 4 && !integer_of(args[1], &low)) ||
      !holds_range(unwrap(args[0])->dtype(), low, high))
    return nullptr;
  return fill(args[0], args[n - 1],
      [&](const Tensor& x, Mersenne& s) { fill_range(x, low, uint64_t(high) - uint64_t(low), s); });
}

// --- new tensors ------------------------------------------------------------------------------------------------------------

// rand or randn(size, generator, dtype, layout, device, pin_memory)
template <bool Normal> PyObject* native_new(Operator&, PyObject* const* args, size_t n) {
  Dims sizes;
  DType dtype = default_dtype();
  if (n != 6 || !cpu_options(args + 2, &dtype) || !is_drawn(dtype) || !sizes_of(args[0], &sizes)) return nullptr;
  return guarded([&] {
    return made(sizes, dtype, args[1], [&](const Tensor& t, Mersenne& s) { fill_real<Normal>(t, 0, 1, s); });
  });
}

// normal(mean, std, size, generator, dtype, layout, device, pin_memory)
PyObject* native_new_normal(Operator&, PyObject* const* args, size_t n) {
  Dims sizes;
  DType dtype = default_dtype();
  double mean, deviation;
  if (n != 8 || !real(args[0], &mean) || !real(args[1], &deviation) || deviation < 0) return nullptr;
  if (!cpu_options(args + 4, &dtype) || !is_drawn(dtype) || !sizes_of(args[2], &sizes)) return nullptr;
  return guarded([&] {
    return made(sizes, dtype, args[3], [&](const Tensor& t, Mersenne& s) { fill_normal(t, mean, deviation, s); });
  });
}

// randint(high, size, generator, dtype, ...), randint(low, high, size, generator, dtype, ...)
PyObject* native_randint(Operator&, PyObject* const* args, size_t n) {
  Dims sizes;
  DType dtype = DType::i64;
  int64_t low = 0, high;
  if ((n != 7 && n != 8) || !cpu_options(args + n - 4, &dtype) || !integer_of(args[n - 7], &high) ||
      (n == 8 && !integer_of(args[0], &low)))
    return nullptr;
  if (!holds_range(dtype, low, high) || !sizes_of(args[n - 6], &sizes)) return nullptr;
  return guarded([&] {
    return made(sizes, dtype, args[n - 5],
        [&](const Tensor& t, Mersenne& s) { fill_range(t, low, uint64_t(high) - uint64_t(low), s); });
  });
}

// randperm(n, generator, dtype, layout, device, pin_memory)
PyObject* native_randperm(Operator&, PyObject* const* args, size_t n) {
  DType dtype = DType::i64;
  int64_t count;
  if (n != 6 || !cpu_options(args + 2, &dtype) || dtype != DType::i64 || !integer_of(args[0], &count) || count < 0)
    return nullptr;
  return guarded([&]() -> PyObject* {
    const Source s(args[1]);
    if (!s) return nullptr;
    return wrap(unlocked(count, [&] { return permutation(count, *s); }));
  });
}

// rand_like or randn_like(self, dtype, layout, device, pin_memory, memory_format)
template <bool Normal> PyObject* native_like(Operator&, PyObject* const* args, size_t n) {
  if (n != 6 || !on_cpu(args[0]) || !unwrap(args[0])->is_contiguous() || args[5] != Py_None) return nullptr;
  DType dtype = unwrap(args[0])->dtype();
  if (!cpu_options(args + 1, &dtype) || !is_drawn(dtype)) return nullptr;
  return guarded([&] {
    return made(
        unwrap(args[0])->sizes(), dtype, Py_None, [&](const Tensor& t, Mersenne& s) { fill_real<Normal>(t, 0, 1, s); });
  });
}

// randint_like(self, high, dtype, ...), randint_like(self, low, high, dtype, ...)
PyObject* native_randint_like(Operator&, PyObject* const* args, size_t n) {
  int64_t low = 0, high;
  if ((n != 7 && n != 8) || !on_cpu(args[0]) || !unwrap(args[0])->is_contiguous() || args[n - 1] != Py_None)
    return nullptr;
  DType dtype = unwrap(args[0])->dtype();
  if (!integer_of(args[n - 6], &high) || (n == 8 && !integer_of(args[1], &low)) || !cpu_options(args + n - 5, &dtype) ||
      !holds_range(dtype, low, high))
    return nullptr;
  return guarded([&] {
    return made(unwrap(args[0])->sizes(), dtype, Py_None,
        [&](const Tensor& t, Mersenne& s) { fill_range(t, low, uint64_t(high) - uint64_t(low), s); });
  });
}

// bernoulli(self, generator)
PyObject* native_bernoulli(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !on_cpu(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor p(unwrap(args[0]));
    if (!is_drawn(p->dtype()) || !p->is_contiguous() || p->has_math_bits() || !is_plain(p)) return nullptr;
    auto chance = [&]<class T>(const T* x) {
      int bad = 0;
      for (int64_t i = 0; i < p->numel(); ++i) bad |= !(x[i] >= T(0) && x[i] <= T(1));
      return !bad;
    };
    if (!(p->dtype() == DType::f32 ? chance(p->data_as<float>()) : chance(p->data_as<double>()))) return nullptr;
    const Source s(args[1]);
    if (!s) return nullptr;
    return wrap(unlocked(p->numel(), [&] { return chances(p, *s); }));
  });
}

}  // namespace

void register_cpu_random() {
  register_native_cpu("draw_uniform", native_fill<false>);
  register_native_cpu("draw_normal", native_fill<true>);
  register_native_cpu("draw_exponential", native_fill_by_one<false>);
  register_native_cpu("draw_chance", native_fill_by_one<true>);
  register_native_cpu("draw_integer", native_random);
  register_native_cpu("rand", native_new<false>);
  register_native_cpu("randn", native_new<true>);
  register_native_cpu("new_normal", native_new_normal);
  register_native_cpu("randint", native_randint);
  register_native_cpu("randperm", native_randperm);
  register_native_cpu("rand_like", native_like<false>);
  register_native_cpu("randn_like", native_like<true>);
  register_native_cpu("randint_like", native_randint_like);
  register_native_cpu("bernoulli", native_bernoulli);
}

}  // namespace shim
