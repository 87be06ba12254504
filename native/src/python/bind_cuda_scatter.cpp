// Scatters on CUDA: scatter_reduce, index_reduce, index_copy, index_fill, masked_scatter. Null where no kernel fits: the record's body runs.
#include <algorithm>

#include "cuda/gather.h"
#include "cuda/scatter_reduce.h"
#include "cuda/scan.h"
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

const char* word_of(cuda::ScatterReduce how) {  // what scatter_reduce and index_reduce call it
  switch (how) {
    case cuda::ScatterReduce::sum: return "sum";
    case cuda::ScatterReduce::prod: return "prod";
    case cuda::ScatterReduce::mean: return "mean";
    case cuda::ScatterReduce::amax: return "amax";
    case cuda::ScatterReduce::amin: return "amin";
  }
  return "";
}

bool reduce_of(PyObject* o, cuda::ScatterReduce* how) {
  using enum cuda::ScatterReduce;
  for (cuda::ScatterReduce each : {sum, prod, mean, amax, amin})
    if (PyUnicode_Check(o) && PyUnicode_CompareWithASCIIString(o, word_of(each)) == 0) {
      *how = each;
      return true;
    }
  return false;
}

// scatter_reduce or index_reduce(self, dim, index, src, reduce, include_self)
template <bool Along, bool InPlace> PyObject* native_reduce_at(Operator&, PyObject* const* args, size_t n) {
  int64_t dim;
  cuda::ScatterReduce how;
  if (n != 6 || !on_cuda(args[0]) || !on_cuda(args[2]) || !on_cuda(args[3]) ||
      !dim_of(args[1], *unwrap(args[0]), &dim) || !reduce_of(args[4], &how))
    return nullptr;
  const TensorImpl &self = *unwrap(args[0]), &index = *unwrap(args[2]), &src = *unwrap(args[3]);
  if (Along && !same_but(self, src, dim, index.numel())) return nullptr;
  return changed<InPlace>(args[0], [&](const Tensor& out) {
    const Tensor indices =
        Along ? spread(index, dim, Dims(self.sizes().begin(), self.sizes().end())) : Tensor(unwrap(args[2]));
    return indices && cuda::scatter_reduce(out, dim, indices, Tensor(unwrap(args[3])), how, args[5] == Py_True);
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
    const Tensor indices = spread(index, dim, Dims(self.sizes().begin(), self.sizes().end()));
    return indices && cuda::scatter(out, dim, indices, Tensor(unwrap(args[3])), false);
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
        const Tensor indices = spread(index, dim, Dims(self.sizes().begin(), self.sizes().end()));
        Scalar value;
        if (!indices) return false;
        if (tensor && on_cuda(args[3])) {
          Tensor one(unwrap(args[3]));
          if (is_complex(one->dtype()) != is_complex(out->dtype())) return false;
          return cuda::scatter(
              out, dim, indices, one->dtype() == out->dtype() ? one : to_dtype(one, out->dtype()), false, true);
        }
        if (tensor)
          value = item(Tensor(unwrap(args[3])));
        else if (!number_of(args[3], &value))
          return false;
        if (value.type == Scalar::Complex) return false;
        if (!tensor) check_fits(value, out->dtype());
        return cuda::fill_at(out, dim, indices, value, true);
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
    if (!cuda::masked_scatter(out, expand(*mask, shape), source)) return nullptr;
    return InPlace ? Py_NewRef(args[0]) : wrap(out);
  });
}

}  // namespace

void register_cuda_scatter() {
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
}

}  // namespace shim
