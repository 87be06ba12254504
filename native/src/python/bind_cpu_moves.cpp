// CPU kernels that move elements by their places: flip, repeat, pad, roll.
#include "autograd/autograd.h"
#include "cpu/flip_tril.h"
#include "cpu/padding.h"
#include "cpu/row_gradients.h"
#include "ops/repeat.h"
#include "python/native_cpu.h"

namespace shim {

bool turned_dims(PyObject* given, const TensorImpl& self, bool* turned) {
  Dims dims;
  if (!dims_of(given, &dims) || self.dim() == 0) return false;
  for (int64_t d : dims) {
    if (d < -self.dim() || d >= self.dim() || turned[d < 0 ? d + self.dim() : d]) return false;
    turned[d < 0 ? d + self.dim() : d] = true;
  }
  return true;
}

namespace {

// The dims from the slowest to the fastest in memory of a tensor in channels last, with the channels at the end; else none.
Dims channels_last_order(const TensorImpl& t) {
  Dims order;
  if (t.dim() < 4 || suggest_memory_format(t) == MemoryFormat::contiguous) return order;
  for (int64_t d = 0; d < t.dim(); ++d)
    if (d != 1) order.push_back(d);
  order.push_back(1);
  return order;
}

Dims inverse_of(const Dims& order) {
  Dims inverse(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) inverse[size_t(order[i])] = int64_t(i);
  return inverse;
}

// flip(self, dims)
PyObject* native_flip(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !on_cpu(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    const TensorImpl& self = *unwrap(args[0]);
    bool turned[kMaxDims] = {};
    if (!turned_dims(args[1], self, turned)) return nullptr;
    if (const Dims order = channels_last_order(self); !order.empty()) {
      bool moved[kMaxDims] = {};
      for (size_t i = 0; i < order.size(); ++i) moved[i] = turned[order[i]];
      const Tensor last = permute(self, order);
      const Tensor found = unlocked(self.numel(), [&] { return flip(*last, moved); });
      return found ? wrap(permute(*found, inverse_of(order))) : nullptr;
    }
    return wrapped(unlocked(self.numel(), [&] { return flip(self, turned); }));
  });
}

// repeat(self, repeats)
PyObject* native_repeat(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !on_cpu(args[0]) || unwrap(args[0])->has_math_bits()) return nullptr;
  return guarded([&]() -> PyObject* {
    Dims repeats;
    Repeated r;
    if (!dims_of(args[1], &repeats) || !repeated(*unwrap(args[0]), repeats, &r)) return nullptr;
    unlocked(r.out->numel(), [&] { copy_(r.to, r.from); });
    return wrap(r.out);
  });
}

// A pad of a contiguous tensor, which has no other order of its dims to keep.
PyObject* padded(PyObject* self, PyObject* pad, Padding mode) {
  return guarded([&]() -> PyObject* {
    const Tensor t(unwrap(self));
    Dims places;
    if (!t->is_contiguous() || t->has_math_bits() || t->dtype() == DType::b8 || !PyTuple_Check(pad) ||
        !dims_of(pad, &places))
      return nullptr;
    return wrapped(unlocked(t->numel(), [&] { return pad_from_itself(t, places, mode); }));
  });
}
// constant_pad_nd(self, pad, value)
PyObject* native_constant_pad(Operator&, PyObject* const* args, size_t n) {
  Scalar value;
  if (n != 3 || !on_cpu(args[0]) || !PyTuple_Check(args[1])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor t(unwrap(args[0]));
    Dims places;
    if (!t->is_contiguous() || t->has_math_bits() || !dims_of(args[1], &places) || !number_of(args[2], &value))
      return nullptr;
    if (value.type == Scalar::Complex || (value.type == Scalar::Float && !is_floating(t->dtype()))) return nullptr;
    check_fits(value, t->dtype());
    return wrapped(unlocked(t->numel(), [&] { return pad_with(t, places, value); }));
  });
}
// reflection_pad, replication_pad(self, padding), where no history is kept
template <Padding mode> PyObject* native_pad_from_itself(Operator&, PyObject* const* args, size_t n) {
  return n == 2 && on_cpu(args[0]) && !history(args, n) ? padded(args[0], args[1], mode) : nullptr;
}
// pad(self, pad, mode, value), where no history is kept
PyObject* native_pad(Operator& op, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cpu(args[0]) || !PyUnicode_Check(args[2]) || history(args, n)) return nullptr;
  auto is = [&](const char* name) { return PyUnicode_CompareWithASCIIString(args[2], name) == 0; };
  if (is("constant")) {
    static PyObject* zero = PyLong_FromLong(0);
    PyObject* const constant[3] = {args[0], args[1], args[3] == Py_None ? zero : args[3]};
    return native_constant_pad(op, constant, 3);
  }
  if (args[3] != Py_None) return nullptr;
  return is("reflect")     ? padded(args[0], args[1], Padding::reflect)
         : is("replicate") ? padded(args[0], args[1], Padding::replicate)
         : is("circular")  ? padded(args[0], args[1], Padding::circular)
                           : nullptr;
}

}  // namespace

// roll(self, shifts, dims): two parts of each dimension change places.
PyObject* native_roll(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !is_tensor(args[0]) || !(unwrap(args[0])->device().is_cpu() || unwrap(args[0])->device().is_cuda()))
    return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    Dims shifts, dims;
    if (!dims_of(args[1], &shifts) || !dims_of(args[2], &dims) || shifts.empty() || !self->numel() ||
        self->has_math_bits())
      return nullptr;
    const bool flat = dims.empty();
    if (flat ? shifts.size() != 1 : shifts.size() != dims.size()) return nullptr;
    const Dims order = flat ? Dims{} : channels_last_order(*self), places = inverse_of(order);
    Tensor now = flat ? view(*contiguous(self), Dims{self->numel()}) : order.empty() ? self : permute(*self, order);
    for (size_t i = 0; i < shifts.size(); ++i) {
      int64_t d = flat ? 0 : dims[i];
      if (d < -now->dim() || d >= now->dim()) return nullptr;
      if (d < 0) d += now->dim();
      if (!order.empty()) d = places[size_t(d)];
      const int64_t size = now->sizes()[size_t(d)], start = ((size - shifts[i] % size) % size + size) % size;
      if (start == 0) continue;
      Tensor next = empty(now->sizes(), now->dtype(), now->device());
      copy_(slice(*next, d, 0, size - start, 1), slice(*now, d, start, size, 1));
      copy_(slice(*next, d, size - start, size, 1), slice(*now, d, 0, start, 1));
      now = next;
    }
    if (flat) now = view(*contiguous(now), self->sizes());
    if (now->data() == self->data()) now = clone(now, MemoryFormat::contiguous);
    if (!order.empty()) now = permute(*now, places);
    return wrap(now);
  });
}

void register_cpu_moves() {
  register_native_cpu("constant_pad", native_constant_pad);
  register_native_cpu("reflection_pad", native_pad_from_itself<Padding::reflect>);
  register_native_cpu("replication_pad", native_pad_from_itself<Padding::replicate>);
  register_native_cpu("pad", native_pad);
  register_native_cpu("flip", native_flip);
  register_native_cpu("repeat", native_repeat);
  register_native_cpu("roll", native_roll);
}

}  // namespace shim
