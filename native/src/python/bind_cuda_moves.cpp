// Operators that only move elements of CUDA tensors: flip, roll, and what an index names along a dimension.
#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/gather.h"
#include "python/native_ops.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

bool on_cuda(PyObject* o) { return is_tensor(o) && unwrap(o)->device().is_cuda(); }

DType word_of(size_t bytes) {
  constexpr DType words[] = {DType::u8, DType::u16, DType::u32, DType::u64, DType::c128};
  return words[__builtin_ctz(unsigned(bytes))];
}

// flip(self, dims): a copy whose source is read backwards.
PyObject* native_flip(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !on_cuda(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    const TensorImpl& self = *unwrap(args[0]);
    Dims dims;
    bool turned[kMaxDims] = {};
    if (!dims_of(args[1], &dims) || self.dim() == 0) return nullptr;
    for (int64_t d : dims) {
      if (d < -self.dim() || d >= self.dim() || turned[d < 0 ? d + self.dim() : d]) return nullptr;      // the record says what is wrong
      turned[d < 0 ? d + self.dim() : d] = true;
    }
    Tensor out = empty(self.sizes(), self.dtype(), self.device());
    if (!self.numel()) return wrap(out);
    const DType word = word_of(self.itemsize());
    Dims strides(self.strides().begin(), self.strides().end());
    char* data = static_cast<char*>(const_cast<void*>(static_cast<const void*>(self.data())));
    for (int d = 0; d < self.dim(); ++d) {
      if (!turned[d]) continue;
      data += (self.sizes()[size_t(d)] - 1) * strides[size_t(d)] * int64_t(self.itemsize());
      strides[size_t(d)] = -strides[size_t(d)];
    }
    cuda::Elementwise e{"copy", word, word, 2, {Operand::of(*out), Operand{data, word, self.sizes(), strides}}};
    e.operands[0].dtype = word;
    return cuda::run_elementwise(e, out->sizes(), self.device().index) ? wrap(out) : nullptr;
  });
}

// roll(self, shifts, dims): two parts of each dimension change places.
PyObject* native_roll(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !on_cuda(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    Dims shifts, dims;
    if (!dims_of(args[1], &shifts) || !dims_of(args[2], &dims) || shifts.empty() || !self->numel()) return nullptr;
    const bool flat = dims.empty();
    if (flat ? shifts.size() != 1 : shifts.size() != dims.size()) return nullptr;
    Tensor now = flat ? view(*contiguous(self), Dims{self->numel()}) : self;
    for (size_t i = 0; i < shifts.size(); ++i) {
      int64_t d = flat ? 0 : dims[i];
      if (d < -now->dim() || d >= now->dim()) return nullptr;
      if (d < 0) d += now->dim();
      const int64_t size = now->sizes()[size_t(d)], start = ((size - shifts[i] % size) % size + size) % size;
      if (start == 0) continue;
      const Tensor end = slice(*now, d, start, size, 1), begin = slice(*now, d, 0, start, 1);
      const TensorImpl* parts[] = {end.get(), begin.get()};
      now = cuda::cat(parts, d);
      if (!now) return nullptr;
    }
    if (flat) now = view(*contiguous(now), self->sizes());
    if (now.get() == self.get() || now->data() == self->data()) now = clone(now, MemoryFormat::contiguous);
    return wrap(now);
  });
}

// Places of `index` along `dim` for every element of `shape`; empty where the index is not one for it.
Tensor places_along(const TensorImpl& self, int64_t dim, const TensorImpl& index, Dims* shape) {
  if (index.dtype() != DType::i64 || index.dim() > 1 || self.dim() == 0) return {};
  shape->assign(self.sizes().begin(), self.sizes().end());
  (*shape)[size_t(dim)] = index.numel();
  Dims one(size_t(self.dim()), 1);
  one[size_t(dim)] = index.numel();
  return expand(*view(*contiguous(Tensor(const_cast<TensorImpl*>(&index))), one), *shape);
}

// index_fill(self, dim, index, value) and index_copy(self, dim, index, source)
template <bool InPlace>
PyObject* native_index_write(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cuda(args[0]) || !PyLong_CheckExact(args[1]) || !on_cuda(args[2])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0])), index(unwrap(args[2])), source;
    long dim = PyLong_AsLong(args[1]);
    if (dim < -self->dim() || dim >= self->dim()) return nullptr;
    if (dim < 0) dim += self->dim();
    Dims shape;
    const Tensor places = places_along(*self, dim, *index, &shape);
    if (!places) return nullptr;
    Number value;
    if (number_of(args[3], &value)) {
      const DType t = self->dtype();
      if (value.type == Number::Complex || (value.type == Number::Float && !is_floating(t))) return nullptr;
      check_fits(value, t);
      source = empty({}, t, self->device());
      fill_(source, value);
    } else {
      if (!on_cuda(args[3])) return nullptr;
      source = Tensor(unwrap(args[3]));
      if (source->dtype() != self->dtype() || (source->dim() && !std::ranges::equal(source->sizes(), shape))) return nullptr;
    }
    Tensor out = InPlace ? self : clone(self, MemoryFormat::contiguous);
    if (places->numel() && !cuda::scatter(out, dim, places, source, false)) return nullptr;
    return InPlace ? Py_NewRef(args[0]) : wrap(out);
  });
}

}  // namespace

void register_cuda_moves() {
  register_native("flip", native_flip);
  register_native("roll", native_roll);
  register_native("index_write", native_index_write<false>);
  register_native("index_write_", native_index_write<true>);
}

}  // namespace shim
