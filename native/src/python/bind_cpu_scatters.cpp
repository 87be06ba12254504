// CPU kernels of writes at places that a tensor names.
#include "cpu/scatter.h"

#include "python/native_cpu.h"

namespace shim {
namespace {

// self, in place or a copy, after f(self); null if f says no, which leaves self as it is.
template <bool InPlace, class F>
PyObject* changed(PyObject* self, int64_t elements, F&& f, MemoryFormat format = MemoryFormat::contiguous) {
  return guarded([&]() -> PyObject* {
    Tensor out(unwrap(self));
    auto run = [&] {
      if (!InPlace) out = clone(out, format);
      return f(out);
    };
    bool done;
    if (elements < 2 * kGrain) {
      done = run();
    } else {
      GilRelease released;
      done = run();
    }
    if (!done) return nullptr;
    return InPlace ? Py_NewRef(self) : wrap(out);
  });
}

// (self, dim, index, src)
template <bool Adds, bool InPlace> PyObject* native_scatter(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cpu(args[0]) || !PyLong_CheckExact(args[1]) || !on_cpu(args[2]) || !on_cpu(args[3])) return nullptr;
  const long dim = PyLong_AsLong(args[1]);
  return changed<InPlace>(args[0], unwrap(args[2])->numel(), [&](const Tensor& out) {
    return scatter(out, dim, Tensor(unwrap(args[2])), Tensor(unwrap(args[3])), Adds ? Scatter::add : Scatter::put);
  });
}

// scatter_reduce(self, dim, index, src, reduce, include_self)
template <bool InPlace> PyObject* native_scatter_reduce(Operator&, PyObject* const* args, size_t n) {
  if (n != 6 || !on_cpu(args[0]) || !PyLong_CheckExact(args[1]) || !on_cpu(args[2]) || !on_cpu(args[3]) ||
      !PyUnicode_Check(args[4]) || args[5] != Py_True)
    return nullptr;
  auto is = [&](const char* name) { return PyUnicode_CompareWithASCIIString(args[4], name) == 0; };
  const Scatter how = is("sum")    ? Scatter::add
                      : is("prod") ? Scatter::multiply
                      : is("amax") ? Scatter::largest
                      : is("amin") ? Scatter::smallest
                                   : Scatter::put;
  if (how == Scatter::put) return nullptr;
  const long dim = PyLong_AsLong(args[1]);
  return changed<InPlace>(args[0], unwrap(args[2])->numel(),
      [&](const Tensor& out) { return scatter(out, dim, Tensor(unwrap(args[2])), Tensor(unwrap(args[3])), how); });
}

// (self, dim, index, value)
template <bool InPlace> PyObject* native_scatter_value(Operator&, PyObject* const* args, size_t n) {
  Scalar value;
  if (n != 4 || !on_cpu(args[0]) || !PyLong_CheckExact(args[1]) || !on_cpu(args[2]) || is_tensor(args[3]))
    return nullptr;
  const long dim = PyLong_AsLong(args[1]);
  return guarded([&]() -> PyObject* {
    const TensorImpl& self = *unwrap(args[0]);
    if (!number_of(args[3], &value) || (value.type == Scalar::Complex && !is_complex(self.dtype()))) return nullptr;
    if (is_integral(self.dtype(), true) && value.type == Scalar::Float) return nullptr;
    const Tensor one = scalar_tensor(value, self.dtype(), Device{});
    const Tensor index(unwrap(args[2]));
    return changed<InPlace>(args[0], index->numel(),
        [&](const Tensor& out) { return scatter(out, dim, index, expand(*one, index->sizes()), Scatter::put); });
  });
}

// index_add(self, dim, index, source, alpha), alpha being 1; index_copy(self, dim, index, source)
template <bool Adds, bool InPlace> PyObject* native_index_add(Operator&, PyObject* const* args, size_t n) {
  Scalar alpha;
  if (n != (Adds ? 5 : 4) || !on_cpu(args[0]) || !PyLong_CheckExact(args[1]) || !on_cpu(args[2]) || !on_cpu(args[3]))
    return nullptr;
  const TensorImpl &self = *unwrap(args[0]), &index = *unwrap(args[2]), &source = *unwrap(args[3]);
  long dim = PyLong_AsLong(args[1]);
  if (dim < 0) dim += self.dim();
  if (dim < 0 || dim >= self.dim() || index.dim() > 1 || (!Adds && index.dtype() != DType::i64) ||
      source.dim() != self.dim() || source.sizes()[size_t(dim)] != index.numel())
    return nullptr;
  for (int i = 0; i < self.dim(); ++i)
    if (i != dim && source.sizes()[size_t(i)] != self.sizes()[size_t(i)]) return nullptr;
  return guarded([&]() -> PyObject* {
    if (Adds && (!number_of(args[4], &alpha) || alpha.type == Scalar::Complex || alpha.to_double() != 1))
      return nullptr;
    return changed<InPlace>(args[0], source.numel(), [&](const Tensor& out) {
      Dims shape(size_t(self.dim()), 1);
      shape[size_t(dim)] = index.numel();
      const Tensor indices = expand(*view(*contiguous(Tensor(unwrap(args[2]))), shape), source.sizes());
      return scatter(out, dim, indices, Tensor(unwrap(args[3])), Adds ? Scatter::add : Scatter::put);
    });
  });
}

// index_fill(self, dim, index, value)
template <bool InPlace> PyObject* native_index_fill(Operator&, PyObject* const* args, size_t n) {
  Scalar value;
  if (n != 4 || !on_cpu(args[0]) || !PyLong_CheckExact(args[1]) || !on_cpu(args[2]) || is_tensor(args[3]))
    return nullptr;
  const TensorImpl &self = *unwrap(args[0]), &index = *unwrap(args[2]);
  long dim = PyLong_AsLong(args[1]);
  if (dim < 0) dim += self.dim();
  if (dim < 0 || dim >= self.dim() || index.dim() > 1) return nullptr;
  return guarded([&]() -> PyObject* {
    if (!number_of(args[3], &value) || value.type == Scalar::Complex ||
        (value.type == Scalar::Float && !is_floating(self.dtype())))
      return nullptr;
    check_fits(value, self.dtype());
    Dims shape(self.sizes().begin(), self.sizes().end()), along(size_t(self.dim()), 1);
    shape[size_t(dim)] = along[size_t(dim)] = index.numel();
    const Tensor indices = expand(*view(*contiguous(Tensor(unwrap(args[2]))), along), shape),
                 one = scalar_tensor(value, self.dtype(), Device{});
    return changed<InPlace>(
        args[0], indices->numel(),
        [&](const Tensor& out) { return scatter(out, dim, indices, expand(*one, shape), Scatter::put); },
        MemoryFormat::preserve);
  });
}

// take(self, index)
PyObject* native_take(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !on_cpu(args[0]) || !on_cpu(args[1]) || unwrap(args[1])->dtype() != DType::i64) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor self(unwrap(args[0])), index = contiguous(Tensor(unwrap(args[1])));
    if (!self->numel()) return nullptr;
    const Tensor flat = view(*contiguous(self), Dims{self->numel()}), indices = view(*index, Dims{index->numel()});
    const Tensor found = unlocked(index->numel(), [&] { return gather(*flat, 0, *indices); });
    return found ? wrap(view(*found, index->sizes())) : nullptr;
  });
}

// _index_put_at(self, [tensor, ...], values, accumulate): over the leading dims
template <bool InPlace> PyObject* native_index_put(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cpu(args[0]) || !PyList_Check(args[1]) || !on_cpu(args[2])) return nullptr;
  const bool adds = args[3] == Py_True;
  std::vector<Tensor> indices;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[1]); ++i) {
    PyObject* item = PyList_GET_ITEM(args[1], i);
    if (!on_cpu(item)) return nullptr;
    indices.emplace_back(unwrap(item));
  }
  return changed<InPlace>(args[0], unwrap(args[2])->numel(),
      [&](const Tensor& out) { return index_put(out, indices, Tensor(unwrap(args[2])), adds); });
}

// embedding_bags(weight, indices, offsets, per_sample_weights, mode, closed, padding) of float32 and float64
PyObject* native_bags(Operator&, PyObject* const* args, size_t n) {
  int64_t mode, padding;
  if (n != 7 || !on_cpu(args[0]) || !on_cpu(args[1]) || !on_cpu(args[2]) || !(args[3] == Py_None || on_cpu(args[3])) ||
      !integer_of(args[4], &mode) || !integer_of(args[6], &padding))
    return nullptr;
  auto whole = [](PyObject* o) {
    const Tensor t(unwrap(o));
    return t->dtype() == DType::i64 ? contiguous(t) : contiguous(to_dtype(t, DType::i64));
  };
  const DType t = unwrap(args[0])->dtype();
  if ((t != DType::f32 && t != DType::f64) || unwrap(args[0])->dim() != 2 ||
      (args[3] != Py_None && unwrap(args[3])->dtype() != t))
    return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor weight = contiguous(Tensor(unwrap(args[0]))), indices = whole(args[1]), offsets = whole(args[2]);
    const Tensor samples = args[3] == Py_None ? Tensor{} : contiguous(Tensor(unwrap(args[3])));
    Bags found;
    const bool done = unlocked(indices->numel() * weight->sizes()[1], [&] {
      return bags_of_rows(weight, indices, offsets, samples, int(mode), args[5] == Py_True, padding, &found);
    });
    return done ? tuple_of({found.out, found.bag_of, found.counts, found.most}) : nullptr;
  });
}

}  // namespace

void register_cpu_scatters() {
  register_native_cpu("embedding_bags", native_bags);
  register_native_cpu("scatter_reduce", native_scatter_reduce<false>);
  register_native_cpu("scatter_reduce_", native_scatter_reduce<true>);
  register_native_cpu("scatter_add", native_scatter<true, false>);
  register_native_cpu("scatter_add_", native_scatter<true, true>);
  register_native_cpu("scatter_src", native_scatter<false, false>);
  register_native_cpu("scatter_src_", native_scatter<false, true>);
  register_native_cpu("scatter_value", native_scatter_value<false>);
  register_native_cpu("scatter_value_", native_scatter_value<true>);
  register_native_cpu("index_add", native_index_add<true, false>);
  register_native_cpu("index_add_", native_index_add<true, true>);
  register_native_cpu("index_copy", native_index_add<false, false>);
  register_native_cpu("index_copy_", native_index_add<false, true>);
  register_native_cpu("index_fill", native_index_fill<false>);
  register_native_cpu("index_fill_", native_index_fill<true>);
  register_native_cpu("take", native_take);
  register_native_cpu("index_put_at", native_index_put<false>);
  register_native_cpu("index_put_at_", native_index_put<true>);
}

}  // namespace shim
