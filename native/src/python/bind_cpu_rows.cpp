// CPU kernels: searchsorted, one_hot, bincount, histc, isin, isclose, equal, kthvalue, median, mode, cross, unique, count_nonzero, cdist.
#include <algorithm>

#include "core/checked.h"
#include "autograd/autograd.h"
#include "cpu/distance.h"
#include "cpu/unique.h"
#include "cpu/lookup.h"
#include "cpu/mode.h"
#include "cpu/reduce.h"
#include "cpu/sorting.h"
#include "cpu/statistics.h"
#include "cpu/vector_product.h"
#include "python/native_cpu.h"

namespace shim {
namespace {

// mode(self, dim, keepdim) -> (values, indices)
PyObject* native_mode(Operator&, PyObject* const* args, size_t n) {
  int64_t dim;
  if (n != 3 || !on_cpu(args[0]) || !integer_of(args[1], &dim) || !PyBool_Check(args[2])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0])), values;
    Tensor index = unlocked(self->numel(), [&] { return mode(self, dim, args[2] == Py_True, &values); });
    return index ? tuple_of({values, index}) : nullptr;
  });
}

// vector_product(self, other, dim)
PyObject* native_cross(Operator&, PyObject* const* args, size_t n) {
  int64_t dim;
  if (n != 3 || !on_cpu(args[0]) || !on_cpu(args[1]) || !integer_of(args[2], &dim)) return nullptr;
  const Tensor a(unwrap(args[0])), b(unwrap(args[1]));
  return guarded([&] { return wrapped(unlocked(a->numel(), [&] { return vector_product(a, b, dim); })); });
}
// linalg_cross(self, other, dim), cross(self, other, dim), where no history is kept
PyObject* native_whole_cross(Operator& op, PyObject* const* args, size_t n) {
  return history(args, n) ? nullptr : native_cross(op, args, n);
}

PyObject* found(bool (*find)(const Tensor&, bool, bool, Unique*), PyObject* self, bool inverse, bool counts) {
  return guarded([&]() -> PyObject* {
    Unique d;
    const Tensor t(unwrap(self));
    return unlocked(t->numel(), [&] { return find(t, inverse, counts, &d); })
               ? tuple_of({d.values, d.inverse, d.counts})
               : nullptr;
  });
}
// _unique2(self, sorted, return_inverse, return_counts)
PyObject* native_unique(Operator&, PyObject* const* args, size_t n) {
  return n == 4 && on_cpu(args[0]) ? found(unique, args[0], args[2] == Py_True, args[3] == Py_True) : nullptr;
}
// _unique_consecutive(self, return_inverse, return_counts, dim)
PyObject* native_unique_consecutive(Operator&, PyObject* const* args, size_t n) {
  return n == 4 && on_cpu(args[0]) && args[3] == Py_None
             ? found(unique_consecutive, args[0], args[1] == Py_True, args[2] == Py_True)
             : nullptr;
}

// count_nonzero(self, dim or dims)
PyObject* native_count_nonzero(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !on_cpu(args[0]) || !(args[1] == Py_None || PyLong_CheckExact(args[1]) || PyTuple_Check(args[1])))
    return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor self(unwrap(args[0]));
    Dims dims;
    if (args[1] != Py_None && !dims_of(args[1], &dims)) return nullptr;
    return wrapped(unlocked(self->numel(), [&] { return count_nonzero(self, dims); }));
  });
}

// cdist(x1, x2, p, compute_mode), where no history is kept
PyObject* native_cdist(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cpu(args[0]) || !on_cpu(args[1]) || !PyFloat_Check(args[2]) || history(args, n)) return nullptr;
  if (args[3] != Py_None && !(PyLong_CheckExact(args[3]) && PyLong_AsLong(args[3]) >= 0 && PyLong_AsLong(args[3]) <= 2))
    return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor a(unwrap(args[0])), b(unwrap(args[1]));
    return wrapped(unlocked(
        a->numel() * (b->dim() > 1 ? b->size(-2) : 1), [&] { return distances(a, b, PyFloat_AS_DOUBLE(args[2])); }));
  });
}

// searchsorted(sorted_sequence, self, out_int32, right, side, sorter)
PyObject* native_search(Operator&, PyObject* const* args, size_t n) {
  if (n != 6 || !on_cpu(args[0]) || !on_cpu(args[1]) || args[5] != Py_None ||
      !(args[4] == Py_None || PyUnicode_Check(args[4])))
    return nullptr;
  bool right = args[3] == Py_True;
  if (args[4] != Py_None) {
    const bool right_side = PyUnicode_CompareWithASCIIString(args[4], "right") == 0;
    if (!right_side && (right || PyUnicode_CompareWithASCIIString(args[4], "left") != 0)) return nullptr;
    right = right_side;
  }
  const Tensor sequence(unwrap(args[0])), values(unwrap(args[1]));
  return guarded([&] {
    return wrapped(
        unlocked(values->numel() * 8, [&] { return searchsorted(sequence, values, right, args[2] == Py_True); }));
  });
}
// bucketize(self, boundaries, out_int32, right)
PyObject* native_bucketize(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cpu(args[0]) || !on_cpu(args[1]) || unwrap(args[1])->dim() != 1 || history(args, n)) return nullptr;
  const Tensor values(unwrap(args[0])), boundaries(unwrap(args[1]));
  return guarded([&] {
    return wrapped(unlocked(
        values->numel() * 8, [&] { return searchsorted(boundaries, values, args[3] == Py_True, args[2] == Py_True); }));
  });
}

// one_hot(self, num_classes)
PyObject* native_one_hot(Operator&, PyObject* const* args, size_t n) {
  int64_t count;
  if (n != 2 || !on_cpu(args[0]) || !integer_of(args[1], &count) || count < -1) return nullptr;
  const Tensor self(unwrap(args[0]));
  return guarded([&] { return wrapped(unlocked(self->numel(), [&] { return one_hot(self, count); })); });
}

// bincount(self, weights, minlength)
PyObject* native_bincount(Operator&, PyObject* const* args, size_t n) {
  int64_t least;
  if (n != 3 || !on_cpu(args[0]) || args[1] != Py_None || !integer_of(args[2], &least)) return nullptr;
  const Tensor self(unwrap(args[0]));
  return guarded([&] { return wrapped(unlocked(self->numel(), [&] { return bincount(self, least); })); });
}

// histc(self, bins, min, max)
PyObject* native_histc(Operator&, PyObject* const* args, size_t n) {
  int64_t bins;
  Scalar low, high;
  if (n != 4 || !on_cpu(args[0]) || !integer_of(args[1], &bins) || is_tensor(args[2]) || is_tensor(args[3]))
    return nullptr;
  const Tensor self(unwrap(args[0]));
  return guarded([&]() -> PyObject* {
    if (!number_of(args[2], &low) || !number_of(args[3], &high) || low.type == Scalar::Complex ||
        high.type == Scalar::Complex)
      return nullptr;
    return wrapped(unlocked(self->numel(), [&] { return histc(self, bins, low.to_double(), high.to_double()); }));
  });
}

// repeat_interleave(self, repeats, dim, output_size), where no history is kept
PyObject* native_repeat_interleave(Operator&, PyObject* const* args, size_t n) {
  int64_t times, dim = 0;
  if (n != 4 || !on_cpu(args[0]) || !integer_of(args[1], &times) || times < 0 ||
      !(args[2] == Py_None || integer_of(args[2], &dim)) || args[3] != Py_None || history(args, n))
    return nullptr;
  const Tensor self(unwrap(args[0]));
  if (self->has_math_bits()) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x = args[2] == Py_None ? view(*contiguous(self), Dims{self->numel()}) : self;
    const int64_t dims = x->dim();
    if (dim < -dims || dim >= dims) return nullptr;
    return wrapped(unlocked(checked_product({self->numel(), times}),
        [&] { return repeat_interleave(x, times, dim < 0 ? dim + dims : dim); }));
  });
}

// isin(elements, test_elements, assume_unique, invert)
PyObject* native_isin(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cpu(args[0]) || !on_cpu(args[1])) return nullptr;
  const Tensor self(unwrap(args[0])), others(unwrap(args[1]));
  return guarded([&] {
    return wrapped(unlocked(self->numel() + others->numel(), [&] { return isin(self, others, args[3] == Py_True); }));
  });
}

// isclose(self, other, rtol, atol, equal_nan)
PyObject* native_isclose(Operator&, PyObject* const* args, size_t n) {
  if (n != 5 || !on_cpu(args[0]) || !on_cpu(args[1]) || !PyFloat_Check(args[2]) || !PyFloat_Check(args[3]))
    return nullptr;
  const double relative = PyFloat_AS_DOUBLE(args[2]), absolute = PyFloat_AS_DOUBLE(args[3]);
  if (!(relative >= 0) || !(absolute >= 0)) return nullptr;
  const Tensor a(unwrap(args[0])), b(unwrap(args[1]));
  return guarded([&] {
    return wrapped(unlocked(a->numel(), [&] { return isclose(a, b, relative, absolute, args[4] == Py_True); }));
  });
}

// trace(self)
PyObject* native_trace(Operator&, PyObject* const* args, size_t n) {
  if (n != 1 || !on_cpu(args[0]) || unwrap(args[0])->dim() != 2 || unwrap(args[0])->dtype() == DType::b8 ||
      history(args, n))
    return nullptr;
  return guarded([&]() -> PyObject* {
    const TensorImpl& t = *unwrap(args[0]);
    const Tensor diagonal = as_strided(
        t, Dims{std::min(t.sizes()[0], t.sizes()[1])}, Dims{t.strides()[0] + t.strides()[1]}, t.storage_offset());
    return wrapped(reduce(Reduction::sum, diagonal, {}, false, DType::undefined));
  });
}

// equal(self, other), of one dtype: a bool
PyObject* native_equal(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !on_cpu(args[0]) || !on_cpu(args[1]) || unwrap(args[0])->dtype() != unwrap(args[1])->dtype())
    return nullptr;
  const Tensor a(unwrap(args[0])), b(unwrap(args[1]));
  if (a->has_math_bits() || b->has_math_bits() || !is_plain(a) || !is_plain(b)) return nullptr;
  return guarded([&]() -> PyObject* {
    if (!std::ranges::equal(a->sizes(), b->sizes())) Py_RETURN_FALSE;
    const int same = unlocked(a->numel(), [&] { return equal(a, b); });
    return same < 0 ? nullptr : PyBool_FromLong(same);
  });
}

}  // namespace

void register_cpu_rows() {
  register_native_cpu("searchsorted", native_search);
  register_native_cpu("bucketize", native_bucketize);
  register_native_cpu("one_hot", native_one_hot);
  register_native_cpu("bincount", native_bincount);
  register_native_cpu("histc", native_histc);
  register_native_cpu("repeat_interleave", native_repeat_interleave);
  register_native_cpu("isin", native_isin);
  register_native_cpu("isclose", native_isclose);
  register_native_cpu("trace", native_trace);
  register_native_cpu("equal", native_equal);
  register_native_cpu("mode", native_mode);
  register_native_cpu("vector_product", native_cross);
  register_native_cpu("vector_product_whole", native_whole_cross);
  register_native_cpu("unique", native_unique);
  register_native_cpu("unique_consecutive", native_unique_consecutive);
  register_native_cpu("count_nonzero", native_count_nonzero);
  register_native_cpu("cdist", native_cdist);
}

}  // namespace shim
