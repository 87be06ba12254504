// Native fast paths of composites that are views and need no history: splitting, narrowing, reshaping.
#include "autograd/autograd.h"
#include "python/native_values.h"
#include "python/tensor_type.h"

namespace shim {

namespace {

PyObject* view_of(const Tensor& t, const Tensor& base) {
  if (!InferenceMode::enabled()) mark_view(t, base);
  return wrap(t);
}

// Views along `dim` with these sizes, as a tuple.
PyObject* cut(const Tensor& self, int64_t dim, const Dims& sizes) {
  PyObject* parts = PyTuple_New(Py_ssize_t(sizes.size()));
  int64_t start = 0;
  for (size_t i = 0; parts && i < sizes.size(); ++i) {
    PyObject* part = view_of(slice(*self, dim, start, start + sizes[i], 1), self);
    if (!part)
      Py_CLEAR(parts);
    else
      PyTuple_SET_ITEM(parts, Py_ssize_t(i), part);
    start += sizes[i];
  }
  return parts;
}

bool int_in_range(PyObject* o, int64_t low, int64_t high, int64_t* out) {
  if (!PyLong_CheckExact(o)) return false;
  int overflow = 0;
  *out = PyLong_AsLongLongAndOverflow(o, &overflow);
  return !overflow && *out >= low && *out < high;
}

bool splittable(PyObject* const* args, size_t n, int64_t* dim) {
  if (n != 3 || !is_tensor(args[0]) || history(args, 1)) return false;
  const int64_t dims = unwrap(args[0])->dim();
  if (!int_in_range(args[2], -dims, dims, dim)) return false;
  if (*dim < 0) *dim += dims;
  return true;
}

PyObject* pieces(PyObject* tensor, int64_t dim, int64_t size) {
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(tensor));
    const int64_t all = self->sizes()[size_t(dim)];
    Dims sizes;
    for (int64_t at = 0; at < all; at += size) sizes.push_back(std::min(size, all - at));
    return cut(self, dim, sizes);
  });
}

constexpr int64_t kMost = INT64_MAX;

PyObject* native_split(Operator&, PyObject* const* args, size_t n) {  // (self, split_size, dim)
  int64_t dim, size;
  if (!splittable(args, n, &dim) || !int_in_range(args[1], 1, kMost, &size) || !unwrap(args[0])->sizes()[size_t(dim)])
    return nullptr;
  return pieces(args[0], dim, size);
}

PyObject* native_chunk(Operator&, PyObject* const* args, size_t n) {  // (self, chunks, dim)
  int64_t dim, chunks;
  if (!splittable(args, n, &dim) || !int_in_range(args[1], 1, kMost, &chunks)) return nullptr;
  const int64_t all = unwrap(args[0])->sizes()[size_t(dim)];
  return all ? pieces(args[0], dim, (all + chunks - 1) / chunks) : nullptr;
}

PyObject* native_split_sizes(Operator&, PyObject* const* args, size_t n) {
  int64_t dim, total = 0;
  if (!splittable(args, n, &dim) || !PyTuple_Check(args[1])) return nullptr;
  return guarded([&]() -> PyObject* {
    Dims sizes;
    if (!dims_of(args[1], &sizes)) return nullptr;
    Tensor self(unwrap(args[0]));
    for (int64_t s : sizes) {
      if (s < 0) return nullptr;
      total += s;
    }
    return total == self->sizes()[size_t(dim)] ? cut(self, dim, sizes) : nullptr;
  });
}

PyObject* native_unbind(Operator&, PyObject* const* args, size_t n) {  // (self, dim)
  int64_t dim;
  if (n != 2 || !is_tensor(args[0]) || history(args, 1)) return nullptr;
  const int64_t dims = unwrap(args[0])->dim();
  if (!int_in_range(args[1], -dims, dims, &dim)) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    const int64_t count = self->size(dim);
    PyObject* parts = PyTuple_New(count);
    for (int64_t i = 0; parts && i < count; ++i) {
      PyObject* part = view_of(select(*self, dim, i), self);
      if (!part)
        Py_CLEAR(parts);
      else
        PyTuple_SET_ITEM(parts, i, part);
    }
    return parts;
  });
}

PyObject* native_narrow(Operator&, PyObject* const* args, size_t n) {  // (self, dim, start, length)
  int64_t dim, start, length;
  if (n != 4 || !is_tensor(args[0]) || history(args, 1)) return nullptr;
  const int64_t dims = unwrap(args[0])->dim();
  if (!int_in_range(args[1], -dims, dims, &dim) || !int_in_range(args[2], 0, kMost, &start) ||
      !int_in_range(args[3], 0, kMost, &length))
    return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    return view_of(narrow(*self, dim, start, length), self);
  });
}

PyObject* native_reshape(Operator&, PyObject* const* args, size_t n) {  // (self, shape), where it is a view
  if (n != 2 || !is_tensor(args[0]) || !PyTuple_Check(args[1]) || history(args, 1)) return nullptr;
  return guarded([&]() -> PyObject* {
    Dims shape, strides;
    if (!dims_of(args[1], &shape)) return nullptr;
    Tensor self(unwrap(args[0]));
    const Dims sizes = infer_size(shape, self->numel());
    if (!self->is_contiguous() && !try_view_strides(self->sizes(), self->strides(), sizes, strides)) return nullptr;
    return view_of(view(*self, sizes), self);
  });
}

// flatten(self, start, end), where it is a view of a contiguous tensor; itself where there is nothing to join
PyObject* native_flatten(Operator&, PyObject* const* args, size_t n) {
  int64_t start, end;
  if (n != 3 || !is_tensor(args[0]) || history(args, 1)) return nullptr;
  const TensorImpl& t = *unwrap(args[0]);
  const int64_t dims = t.dim();
  if (!dims || !t.is_contiguous() || !int_in_range(args[1], -dims, dims, &start) ||
      !int_in_range(args[2], -dims, dims, &end))
    return nullptr;
  start += start < 0 ? dims : 0, end += end < 0 ? dims : 0;
  if (start > end) return nullptr;
  if (start == end) return Py_NewRef(args[0]);
  return guarded([&]() -> PyObject* {
    Dims sizes(t.sizes().begin(), t.sizes().begin() + start);
    sizes.push_back(product_of(t.sizes(), size_t(start), size_t(end + 1)));
    sizes.insert(sizes.end(), t.sizes().begin() + end + 1, t.sizes().end());
    return view_of(view(t, sizes), Tensor(unwrap(args[0])));
  });
}

PyObject* native_unsafe_view(
    Operator&, PyObject* const* args, size_t n) {  // (self, size): a view that nobody is told of
  if (n != 2 || !is_tensor(args[0]) || !PyTuple_Check(args[1])) return nullptr;
  return guarded([&]() -> PyObject* {
    Dims shape;
    if (!dims_of(args[1], &shape)) return nullptr;
    const TensorImpl& self = *unwrap(args[0]);
    return wrap(view(self, infer_size(shape, self.numel())));
  });
}

}  // namespace

void register_views() {
  register_native("split", native_split);
  register_native("split_sizes", native_split_sizes);
  register_native("chunk", native_chunk);
  register_native("unbind", native_unbind);
  register_native("narrow", native_narrow);
  register_native("reshape", native_reshape);
  register_native("flatten", native_flatten);
  register_native("_unsafe_view", native_unsafe_view);
}

}  // namespace shim
