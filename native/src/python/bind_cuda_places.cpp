// Operators on CUDA that write at places that tensors name, count values, or add up losses; what the kernels do not take is the records' own.
#include <algorithm>
#include <string_view>

#include "cuda/gather.h"
#include "cuda/join.h"
#include "cuda/pair.h"
#include "cuda/scan.h"
#include "cuda/tally.h"
#include "python/native_cuda.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

// A 1-d index along `dim` as a view of `sizes`; null where it does not fit.
Tensor spread(const TensorImpl& index, int64_t dim, Dims sizes) {
  if (index.dim() > 1 || sizes.empty() || (!sizes[size_t(dim)] && index.numel())) return {};
  Dims shape(sizes.size(), 1);
  shape[size_t(dim)] = sizes[size_t(dim)] = index.numel();
  return expand(*view(*packed(index), shape), sizes);
}

bool dim_of(PyObject* o, const TensorImpl& self, int64_t* dim) {
  if (!PyLong_CheckExact(o) || self.dim() == 0) return false;
  *dim = PyLong_AsLong(o);
  if (*dim < -self.dim() || *dim >= self.dim()) return false;
  if (*dim < 0) *dim += self.dim();
  return true;
}

// Whether src has self's sizes but for `dim`, where it has `count`.
bool same_but(const TensorImpl& self, const TensorImpl& src, int64_t dim, int64_t count) {
  if (src.dim() != self.dim() || src.dtype() != self.dtype()) return false;
  for (int i = 0; i < self.dim(); ++i)
    if (src.sizes()[size_t(i)] != (i == dim ? count : self.sizes()[size_t(i)])) return false;
  return true;
}

const char* join_word(cuda::Join how) {  // what scatter_reduce and index_reduce call it
  switch (how) {
    case cuda::Join::sum: return "sum";
    case cuda::Join::product: return "prod";
    case cuda::Join::mean: return "mean";
    case cuda::Join::greatest: return "amax";
    case cuda::Join::least: return "amin";
  }
  return "";
}

bool join_of(PyObject* o, cuda::Join* how) {
  using enum cuda::Join;
  for (cuda::Join each : {sum, product, mean, greatest, least})
    if (PyUnicode_Check(o) && PyUnicode_CompareWithASCIIString(o, join_word(each)) == 0) {
      *how = each;
      return true;
    }
  return false;
}

// scatter_reduce or index_reduce(self, dim, index, src, reduce, include_self)
template <bool Along, bool InPlace> PyObject* native_reduce_at(Operator&, PyObject* const* args, size_t n) {
  int64_t dim;
  cuda::Join how;
  if (n != 6 || !on_cuda(args[0]) || !on_cuda(args[2]) || !on_cuda(args[3]) ||
      !dim_of(args[1], *unwrap(args[0]), &dim) || !join_of(args[4], &how))
    return nullptr;
  const TensorImpl &self = *unwrap(args[0]), &index = *unwrap(args[2]), &src = *unwrap(args[3]);
  if (Along && !same_but(self, src, dim, index.numel())) return nullptr;
  return changed<InPlace>(args[0], [&](const Tensor& out) {
    const Tensor places =
        Along ? spread(index, dim, Dims(self.sizes().begin(), self.sizes().end())) : Tensor(unwrap(args[2]));
    return places && cuda::scatter_join(out, dim, places, Tensor(unwrap(args[3])), how, args[5] == Py_True);
  });
}

// index_copy(self, dim, index, source)
template <bool InPlace> PyObject* native_index_copy(Operator&, PyObject* const* args, size_t n) {
  int64_t dim;
  if (n != 4 || !on_cuda(args[0]) || !on_cuda(args[2]) || !on_cuda(args[3]) || !dim_of(args[1], *unwrap(args[0]), &dim))
    return nullptr;
  const TensorImpl &self = *unwrap(args[0]), &index = *unwrap(args[2]), &source = *unwrap(args[3]);
  if (!same_but(self, source, dim, index.numel())) return nullptr;
  return changed<InPlace>(args[0], [&](const Tensor& out) {
    const Tensor places = spread(index, dim, Dims(self.sizes().begin(), self.sizes().end()));
    return places && cuda::scatter(out, dim, places, Tensor(unwrap(args[3])), false);
  });
}

// index_fill(self, dim, index, value)
template <bool InPlace> PyObject* native_index_fill(Operator&, PyObject* const* args, size_t n) {
  int64_t dim;
  if (n != 4 || !on_cuda(args[0]) || !on_cuda(args[2]) || !dim_of(args[1], *unwrap(args[0]), &dim)) return nullptr;
  const TensorImpl &self = *unwrap(args[0]), &index = *unwrap(args[2]);
  const bool tensor = is_tensor(args[3]);
  if (tensor && unwrap(args[3])->dim()) return nullptr;
  return changed<InPlace>(
      args[0],
      [&](const Tensor& out) {
        const Tensor places = spread(index, dim, Dims(self.sizes().begin(), self.sizes().end()));
        Number value;
        if (!places) return false;
        if (tensor && on_cuda(args[3])) {
          Tensor one(unwrap(args[3]));
          if (is_complex(one->dtype()) != is_complex(out->dtype())) return false;
          return cuda::scatter(
              out, dim, places, one->dtype() == out->dtype() ? one : to_dtype(one, out->dtype()), false, true);
        }
        if (tensor)
          value = item(Tensor(unwrap(args[3])));
        else if (!number_of(args[3], &value))
          return false;
        if (value.type == Number::Complex) return false;
        if (!tensor) check_fits(value, out->dtype());
        return cuda::fill_at(out, dim, places, value, true);
      },
      MemoryFormat::preserve);
}

// masked_scatter(self, mask, source)
template <bool InPlace> PyObject* native_masked_scatter(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !on_cuda(args[0]) || !on_cuda(args[1]) || !on_cuda(args[2])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor self(unwrap(args[0])), mask(unwrap(args[1])), source(unwrap(args[2]));
    const Dims shape = broadcast_shapes(self->sizes(), mask->sizes());
    if (shape.empty() || (InPlace && !std::ranges::equal(shape, self->sizes()))) return nullptr;
    const Tensor out = InPlace ? self : clone(expand(*self, shape), MemoryFormat::contiguous);
    if (!cuda::put_masked(out, expand(*mask, shape), source)) return nullptr;
    return InPlace ? Py_NewRef(args[0]) : wrap(out);
  });
}

// --- counts -----------------------------------------------------------------------------------------------------------

// bincount(self, weights or None, minlength)
PyObject* native_bincount(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !on_cuda(args[0]) || !on_cuda_or_none(args[1]) || !PyLong_CheckExact(args[2])) return nullptr;
  const long long least = PyLong_AsLongLong(args[2]);
  if (least == -1 && PyErr_Occurred()) return PyErr_Clear(), nullptr;
  return guarded([&] { return wrapped(cuda::bincount(Tensor(unwrap(args[0])), tensor_or_none(args[1]), least)); });
}

// histc(self, bins, min, max)
PyObject* native_histc(Operator&, PyObject* const* args, size_t n) {
  Number low, high;
  if (n != 4 || !on_cuda(args[0]) || !PyLong_CheckExact(args[1])) return nullptr;
  const long long bins = PyLong_AsLongLong(args[1]);
  if (bins == -1 && PyErr_Occurred()) return PyErr_Clear(), nullptr;
  return guarded([&]() -> PyObject* {
    if (!number_of(args[2], &low) || !number_of(args[3], &high) || low.type == Number::Complex ||
        high.type == Number::Complex)
      return nullptr;
    return wrapped(cuda::histogram(Tensor(unwrap(args[0])), bins, low.to_double(), high.to_double()));
  });
}

PyObject* distinct(PyObject* given, bool sorts, bool inverse, bool counts) {
  return guarded([&]() -> PyObject* {
    const Tensor self(unwrap(given));
    Tensor runs, lengths, values = cuda::distinct(self, sorts, inverse ? &runs : nullptr, counts ? &lengths : nullptr);
    if (!values) return nullptr;
    for (Tensor* t : {&runs, &lengths})
      if (!*t) *t = empty(Dims{0}, DType::i64, self->device());
    return tuple_of({values, runs, lengths});
  });
}

// _unique2(self, sorted, return_inverse, return_counts)
PyObject* native_unique(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cuda(args[0])) return nullptr;
  return distinct(args[0], true, args[2] == Py_True, args[3] == Py_True);
}

// _unique_consecutive(self, return_inverse, return_counts, dim)
PyObject* native_unique_consecutive(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cuda(args[0]) || args[3] != Py_None) return nullptr;
  return distinct(args[0], false, args[1] == Py_True, args[2] == Py_True);
}

// --- losses -----------------------------------------------------------------------------------------------------------

constexpr const char* kPairs[] = {"square", "magnitude", "smooth", "huber", "chance", "logit"};
int pair_of(PyObject* o) {
  for (int i = 0; i < 6; ++i)
    if (PyUnicode_Check(o) && PyUnicode_CompareWithASCIIString(o, kPairs[i]) == 0) return i;
  return -1;
}

// pair_loss(self, target, name, mean, setting)
PyObject* native_pair_loss(Operator&, PyObject* const* args, size_t n) {
  if (n != 5 || !on_cuda(args[0]) || !on_cuda(args[1]) || pair_of(args[2]) < 0 || !PyFloat_Check(args[4]))
    return nullptr;
  return guarded([&]() -> PyObject* {
    return wrapped(cuda::pair_loss(cuda::PairLoss(pair_of(args[2])), Tensor(unwrap(args[0])), Tensor(unwrap(args[1])),
        args[3] == Py_True, PyFloat_AS_DOUBLE(args[4])));
  });
}

// pair_loss_backward(grad_output, self, target, name, mean, setting)
PyObject* native_pair_loss_backward(Operator&, PyObject* const* args, size_t n) {
  if (n != 6 || !on_cuda(args[0]) || !on_cuda(args[1]) || !on_cuda(args[2]) || pair_of(args[3]) < 0 ||
      !PyFloat_Check(args[5]))
    return nullptr;
  return guarded([&]() -> PyObject* {
    return wrapped(cuda::pair_loss_backward(cuda::PairLoss(pair_of(args[3])), Tensor(unwrap(args[0])),
        Tensor(unwrap(args[1])), Tensor(unwrap(args[2])), args[4] == Py_True, PyFloat_AS_DOUBLE(args[5])));
  });
}

}  // namespace

void register_cuda_places() {
  register_native("scatter_reduce", native_reduce_at<false, false>);
  register_native("scatter_reduce_", native_reduce_at<false, true>);
  register_native("index_reduce", native_reduce_at<true, false>);
  register_native("index_reduce_", native_reduce_at<true, true>);
  register_native("index_copy", native_index_copy<false>);
  register_native("index_copy_", native_index_copy<true>);
  register_native("index_fill", native_index_fill<false>);
  register_native("index_fill_", native_index_fill<true>);
  register_native("masked_scatter", native_masked_scatter<false>);
  register_native("masked_scatter_", native_masked_scatter<true>);
  register_native("bincount", native_bincount);
  register_native("histc", native_histc);
  register_native("pair_loss", native_pair_loss);
  register_native("pair_loss_backward", native_pair_loss_backward);
  register_native("unique", native_unique);
  register_native("unique_consecutive", native_unique_consecutive);
}

}  // namespace shim
