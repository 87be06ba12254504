// Native fast paths of joining, gathering and splitting.
#include "autograd/autograd.h"
#include "cpu/indexing.h"
#include "cpu/parallel.h"
#include "cpu/scatter.h"
#include "cuda/gather.h"
#include "cuda/scan.h"
#include "python/native_values.h"

namespace shim {

namespace {

Tensor own(const TensorImpl& t) { return Tensor(const_cast<TensorImpl*>(&t)); }
template <class F> PyObject* compute(int64_t elements, bool cuda, F&& f) {
  Tensor r;
  if (elements < 2 * kGrain || cuda) {  // the GIL is held where CUDA's current stream is asked for
    r = f();
  } else {
    GilRelease released;
    r = f();
  }
  return wrapped(r);
}

// A list of tensors, borrowed. False if it is empty or holds something else.
bool tensors_in(PyObject* list, std::vector<const TensorImpl*>* out, int64_t* elements) {
  if (!PyList_Check(list) && !PyTuple_Check(list)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(list, i);
    if (!is_tensor(item)) return false;
    out->push_back(unwrap(item));
    *elements += out->back()->numel();
  }
  return !out->empty();
}

PyObject* native_cat(Operator&, PyObject* const* args, size_t n) {
  std::vector<const TensorImpl*> tensors;
  int64_t elements = 0;
  if (n != 2 || !PyLong_CheckExact(args[1]) || !tensors_in(args[0], &tensors, &elements)) return nullptr;
  const long dim = PyLong_AsLong(args[1]);
  return guarded([&]() -> PyObject* {
    const bool cuda = tensors[0]->device().is_cuda();
    return compute(elements, cuda, [&] { return cuda ? cuda::cat(tensors, dim) : cat(tensors, dim); });
  });
}

PyObject* native_stack(Operator&, PyObject* const* args, size_t n) {
  std::vector<const TensorImpl*> tensors;
  int64_t elements = 0;
  if (n != 2 || !PyLong_CheckExact(args[1]) || history(args, n) || !tensors_in(args[0], &tensors, &elements))
    return nullptr;
  long dim = PyLong_AsLong(args[1]);
  const long dims = tensors[0]->dim() + 1;
  if (dim < -dims || dim >= dims) return nullptr;
  if (dim < 0) dim += dims;
  return guarded([&]() -> PyObject* {
    std::vector<Tensor> parts;
    for (const TensorImpl*& t : tensors) {
      if (t->dim() + 1 != dims) return nullptr;
      parts.push_back(unsqueeze(*t, dim));
      t = parts.back().get();
    }
    const bool cuda = tensors[0]->device().is_cuda();
    return compute(elements, cuda, [&] { return cuda ? cuda::cat(tensors, dim) : cat(tensors, dim); });
  });
}

PyObject* native_index_select(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !is_tensor(args[0]) || !PyLong_CheckExact(args[1]) || !is_tensor(args[2]) ||
      unwrap(args[2])->dim() != 1)
    return nullptr;
  const long dim = PyLong_AsLong(args[1]);
  return guarded([&]() -> PyObject* {
    const TensorImpl &self = *unwrap(args[0]), &index = *unwrap(args[2]);
    const bool cuda = self.device().is_cuda();
    return compute(self.numel(), cuda,
        [&] { return cuda ? cuda::take_along(self, dim, index, false) : take_along(self, dim, index, false); });
  });
}

PyObject* native_embedding(Operator&, PyObject* const* args, size_t n) {  // (weight, indices, ...); _embedding too
  if (n < 2 || !is_tensor(args[0]) || !is_tensor(args[1]) || unwrap(args[0])->dim() != 2) return nullptr;
  return guarded([&]() -> PyObject* {
    const TensorImpl &weight = *unwrap(args[0]), &index = *unwrap(args[1]);
    const bool cuda = weight.device().is_cuda();
    return compute(index.numel() * weight.sizes()[1], cuda,
        [&] { return cuda ? cuda::take_along(weight, 0, index, false) : take_along(weight, 0, index, false); });
  });
}
PyObject* native_embedding_whole(Operator& op, PyObject* const* args, size_t n) {
  return history(args, n) ? nullptr : native_embedding(op, args, n);
}

PyObject* native_gather(Operator&, PyObject* const* args, size_t n) {  // (self, dim, index, sparse_grad)
  if (n != 4 || !is_tensor(args[0]) || !PyLong_CheckExact(args[1]) || !is_tensor(args[2])) return nullptr;
  const long dim = PyLong_AsLong(args[1]);
  return guarded([&]() -> PyObject* {
    const TensorImpl &self = *unwrap(args[0]), &index = *unwrap(args[2]);
    const bool cuda = self.device().is_cuda();
    return compute(
        index.numel(), cuda, [&] { return cuda ? cuda::gather(self, dim, index) : gather(self, dim, index); });
  });
}

// A kernel that meets an index out of range ends the context: what sizes alone tell is an error before it.
void check_indices(const TensorImpl& self, size_t first, const std::vector<Tensor>& indices) {
  for (const Tensor& t : indices)
    if (!t->numel()) return;
  for (size_t d = first; d < std::min(first + indices.size(), size_t(self.dim())); ++d)
    CHECK(Kind::Index, self.sizes()[d] != 0, "index is out of bounds for dimension with size 0");
}

// (self, [None, ..., tensor, tensor, None, ...]): neighbouring dims indexed by int64 tensors.
PyObject* native_index_at(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !is_tensor(args[0]) || !PyList_Check(args[1])) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<Tensor> indices;
    Py_ssize_t first = -1;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[1]); ++i) {
      PyObject* item = PyList_GET_ITEM(args[1], i);
      if (item == Py_None) continue;
      if (!is_tensor(item)) return nullptr;
      if (first < 0) first = i;
      if (first + Py_ssize_t(indices.size()) != i) return nullptr;
      indices.emplace_back(unwrap(item));
    }
    if (indices.empty()) return nullptr;
    const TensorImpl& self = *unwrap(args[0]);
    const bool cuda = self.device().is_cuda();
    if (cuda) check_indices(self, size_t(first), indices);
    if (indices.size() == 1) {
      if (indices[0]->dtype() != DType::i64 && !cuda) return nullptr;
      if (cuda && indices[0]->dtype() == DType::i32) indices[0] = to_dtype(indices[0], DType::i64);
      return compute(indices[0]->numel(), cuda, [&] {
        return laid_out_like(
            cuda ? cuda::take_along(self, first, *indices[0], true) : take_along(self, first, *indices[0], true), self,
            first, 1, indices);
      });
    }
    for (Tensor& t : indices)
      if (cuda && t->dtype() == DType::i32) t = to_dtype(t, DType::i64);
    return compute(indices[0]->numel(), cuda, [&] {
      return laid_out_like(cuda ? cuda::take_points(self, first, indices) : take_points(self, first, indices), self,
          first, int64_t(indices.size()), indices);
    });
  });
}

// The same without history, and one mask over the leading dims.
PyObject* native_index(Operator& op, PyObject* const* args, size_t n) {
  if (n != 2 || history(args, n) || !PyList_Check(args[1])) return nullptr;
  PyObject* only = PyList_GET_SIZE(args[1]) == 1 ? PyList_GET_ITEM(args[1], 0) : nullptr;
  if (!only || !is_tensor(only) || unwrap(only)->dtype() != DType::b8) return native_index_at(op, args, n);
  if (!is_tensor(args[0])) return nullptr;
  const TensorImpl &self = *unwrap(args[0]), &mask = *unwrap(only);
  return guarded([&]() -> PyObject* {
    const bool cuda = self.device().is_cuda();
    return compute(self.numel(), cuda, [&] {
      return laid_out_like(
          cuda ? cuda::take_masked(own(self), own(mask)) : take_masked(self, mask), self, 0, mask.dim(), {});
    });
  });
}

PyObject* native_masked_select(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !is_tensor(args[0]) || !is_tensor(args[1]) || history(args, n)) return nullptr;
  const TensorImpl &self = *unwrap(args[0]), &mask = *unwrap(args[1]);
  if (self.dim() != mask.dim()) return nullptr;
  return guarded([&]() -> PyObject* {
    return compute(self.numel(), self.device().is_cuda(),
        [&] { return self.device().is_cuda() ? cuda::take_masked(own(self), own(mask)) : take_masked(self, mask); });
  });
}

PyObject* native_nonzero(Operator&, PyObject* const* args, size_t n) {
  if (n != 1 || !is_tensor(args[0])) return nullptr;
  const TensorImpl& self = *unwrap(args[0]);
  return guarded([&]() -> PyObject* {
    return compute(self.numel(), self.device().is_cuda(),
        [&] { return self.device().is_cuda() ? cuda::nonzero(own(self)) : nonzero(self); });
  });
}

}  // namespace

void register_indexing() {
  register_native("cat", native_cat);
  register_native("stack", native_stack);
  register_native("index_select", native_index_select);
  register_native("_embedding", native_embedding);
  register_native("embedding", native_embedding_whole);
  register_native("gather", native_gather);
  register_native("index", native_index);
  register_native("_index_at", native_index_at);
  register_native("masked_select", native_masked_select);
  register_native("_nonzero", native_nonzero);
}

}  // namespace shim
