// Operators that scatter on CUDA: by index along a dimension or at places.
#include "core/order.h"
#include "cpu/loops.h"
#include "cuda/gather.h"
#include "cuda/launch.h"
#include "cuda/norm.h"
#include "cuda/sort.h"
#include "python/int_function.h"
#include "python/native_cuda.h"

namespace shim {

namespace {

// (self, dim, index, src)
template <bool Adds, bool InPlace> PyObject* native_scatter(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cuda(args[0]) || !PyLong_CheckExact(args[1]) || !on_cuda(args[2]) || !on_cuda(args[3]))
    return nullptr;
  const long dim = PyLong_AsLong(args[1]);
  if (unwrap(args[3])->dim() != unwrap(args[2])->dim()) return nullptr;
  return changed<InPlace>(args[0], [&](const Tensor& out) {
    return cuda::scatter(out, dim, Tensor(unwrap(args[2])), Tensor(unwrap(args[3])), Adds);
  });
}

// (self, dim, index, value)
template <bool InPlace> PyObject* native_scatter_value(Operator&, PyObject* const* args, size_t n) {
  Scalar value;
  if (n != 4 || !on_cuda(args[0]) || !PyLong_CheckExact(args[1]) || !on_cuda(args[2])) return nullptr;
  const long dim = PyLong_AsLong(args[1]);
  return changed<InPlace>(args[0], [&](const Tensor& out) {
    if (!number_of(args[3], &value)) return false;
    Tensor one = empty({}, out->dtype(), out->device());
    fill_(one, value);
    return cuda::scatter(out, dim, Tensor(unwrap(args[2])), one, false);
  });
}

// index_add(self, dim, index, source, alpha)
template <bool InPlace> PyObject* native_index_add(Operator&, PyObject* const* args, size_t n) {
  Scalar alpha;
  if (n != 5 || !on_cuda(args[0]) || !PyLong_CheckExact(args[1]) || !on_cuda(args[2]) || !on_cuda(args[3]))
    return nullptr;
  if (!number_of(args[4], &alpha) || alpha.type == Scalar::Complex || alpha.to_double() != 1) return nullptr;
  const TensorImpl &self = *unwrap(args[0]), &index = *unwrap(args[2]), &source = *unwrap(args[3]);
  long dim = PyLong_AsLong(args[1]);
  if (dim < 0) dim += self.dim();
  if (dim < 0 || dim >= self.dim() || index.dim() > 1 || source.dim() != self.dim() ||
      source.sizes()[size_t(dim)] != index.numel())
    return nullptr;
  for (int i = 0; i < self.dim(); ++i)
    if (i != dim && source.sizes()[size_t(i)] != self.sizes()[size_t(i)]) return nullptr;
  return changed<InPlace>(args[0], [&](const Tensor& out) {
    Dims shape(size_t(self.dim()), 1);
    shape[size_t(dim)] = index.numel();
    Tensor places = expand(*view(*contiguous(Tensor(unwrap(args[2]))), shape), source.sizes());
    return cuda::scatter(out, dim, places, Tensor(unwrap(args[3])), true);
  });
}

// add_runs(self, keys, order, values, skip): a copy of self with rows added
PyObject* native_add_runs(Operator&, PyObject* const* args, size_t n) {
  if (n != 5 || !on_cuda(args[0]) || !is_tensor(args[1]) || !is_tensor(args[2]) || !is_tensor(args[3]) ||
      !PyLong_Check(args[4]))
    return nullptr;
  const long long skip = PyLong_AsLongLong(args[4]);
  return changed<false>(args[0], [&](const Tensor& out) {
    return cuda::add_runs(out, Tensor(unwrap(args[1])), Tensor(unwrap(args[2])), Tensor(unwrap(args[3])), skip);
  });
}

// _index_put_at(self, [tensor, ...], values, accumulate): over the leading dims
template <bool InPlace> PyObject* native_index_put(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cuda(args[0]) || !PyList_Check(args[1]) || !on_cuda(args[2])) return nullptr;
  const bool adds = args[3] == Py_True;
  return changed<InPlace>(args[0], [&](const Tensor& out) {
    std::vector<Tensor> indices;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[1]); ++i) {
      PyObject* item = PyList_GET_ITEM(args[1], i);
      if (!on_cuda(item)) return false;
      indices.emplace_back(unwrap(item));
    }
    const Tensor values(unwrap(args[2]));
    if (indices.empty() || !out->is_contiguous() || indices.size() > size_t(out->dim()) ||
        values->dtype() != out->dtype())
      return false;
    const IntArrayRef sizes = out->sizes();
    for (Tensor& t : indices)
      if (t->dtype() == DType::i32) t = to_dtype(t, DType::i64);
    Tensor keys =
        indices.size() == 1 && !adds ? indices[0] : cuda::flat_keys(indices, sizes.subspan(0, indices.size()));
    if (!keys) return false;
    Dims rows{1}, shape(keys->sizes().begin(), keys->sizes().end());
    for (size_t i = 0; i < indices.size(); ++i) rows[0] *= sizes[i];
    for (size_t i = indices.size(); i < sizes.size(); ++i) rows.push_back(sizes[i]), shape.push_back(sizes[i]);
    if (!adds) return cuda::put_rows(view(*out, rows), keys, values->numel() == 1 ? values : expand(*values, shape));
    if (!keys->numel()) return true;
    auto in_order = cuda::sort(view(*keys, Dims{keys->numel()}), 0, false);
    if (!in_order) return false;
    const auto& [sorted, order] = *in_order;  // equal places are added up in order: the same sums in every run
    return cuda::add_runs(view(*out, rows), sorted, order, expand(*values, shape), -1);
  });
}

}  // namespace

void register_cuda_scatter_add() {
  register_native("scatter_add", native_scatter<true, false>);
  register_native("scatter_add_", native_scatter<true, true>);
  register_native("scatter_src", native_scatter<false, false>);
  register_native("scatter_src_", native_scatter<false, true>);
  register_native("scatter_value", native_scatter_value<false>);
  register_native("scatter_value_", native_scatter_value<true>);
  register_native("index_add", native_index_add<false>);
  register_native("index_add_", native_index_add<true>);
  register_native("add_runs", native_add_runs);
  register_native("index_put_at", native_index_put<false>);
  register_native("index_put_at_", native_index_put<true>);
}

}  // namespace shim
