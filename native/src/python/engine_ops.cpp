// What the core asks of operators: kernels, or the tensor's own methods, which record history and are seen by handlers.
#include <cstring>

#include "autograd/operator_node.h"
#include "core/math_bits.h"
#include "core/sparse.h"
#include "ops/device_copy.h"
#include "ops/kernels.h"
#include "python/dispatch.h"
#include "python/module_function.h"

namespace shim {

extern Tensor (*zeros_as)(const Tensor& like, IntArrayRef sizes, IntArrayRef strides);  // autograd/inplace.cpp

namespace {

PyObject* argument(IntArrayRef dims) { return size_object(dims); }
template <class T> PyObject* argument(const T& value) { return module_call::object(value); }

template <class... A> OwnedRef called(const Tensor& self, const char* name, const A&... args) {
  OwnedRef word = owned(PyUnicode_InternFromString(name));
  PyObject* objects[] = {wrap(self), argument(args)...};
  OwnedRef result{PyObject_VectorcallMethod(word, objects, sizeof...(A) + 1, nullptr)};
  for (PyObject* o : objects) Py_XDECREF(o);
  return owned(result.give());
}
template <class... A> Tensor method(const Tensor& self, const char* name, const A&... args) {
  const GilAcquire gil;
  const OwnedRef result = called(self, name, args...);
  CHECK(Kind::Type, is_tensor(result), name, " gave no tensor");
  return Tensor(unwrap(result));
}
template <class... A> void run_method(const Tensor& self, const char* name, const A&... args) {
  const GilAcquire gil;
  called(self, name, args...);
}

// A kernel reads the memory, which sparse tensors and what a Python class holds do not have, and no handler sees it.
bool readable(const Tensor& t) {
  return has_data(*t) && !is_sparse(*t) && !(SubclassOps::watched && SubclassOps::watched(t));
}
bool by_kernel(const Tensor& t) { return !GradMode::enabled() && !operators_are_traced && readable(t); }

Tensor engine_add(const Tensor& a, const Tensor& b) {
  if (by_kernel(a) && readable(b))
    if (Tensor r = add(resolved(a), resolved(b), Scalar{Scalar::Int, 1})) return r;
  return method(a, "add", b);
}

void engine_add_in_place(const Tensor& a, const Tensor& b) {
  if (by_kernel(a) && readable(b) && !a->has_math_bits() && add(a, resolved(b), Scalar{Scalar::Int, 1}, a))
    return a->bump_version();
  run_method(a, "add_", b);
}

Tensor engine_sum_to(const Tensor& t, IntArrayRef sizes) {
  if (by_kernel(t))
    if (Tensor r = sum_to_size(resolved(t), sizes)) return r;
  return method(t, "sum_to_size", sizes);
}

Tensor engine_cast(const Tensor& t, DType dtype) { return by_kernel(t) ? to_dtype(t, dtype) : method(t, "to", dtype); }

Tensor engine_clone(const Tensor& t) { return by_kernel(t) ? clone(t) : method(t, "clone"); }

Tensor engine_zeros(IntArrayRef sizes, DType dtype, Device device) {
  Tensor t = empty(sizes, dtype, device);
  fill_(t, Scalar{Scalar::Int, 0});
  return t;
}

void engine_copy(const Tensor& self, const Tensor& src) {
  if (!by_kernel(self) || !readable(src)) return run_method(self, "copy_", src);
  copy_(self, src);
  self->bump_version();
}

Tensor engine_as_strided(const Tensor& t, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  return GradMode::enabled() || !has_data(*t) ? method(t, "as_strided", sizes, strides, offset)
                                              : as_strided(*t, sizes, strides, offset);
}

Tensor view_operator(const Tensor& t, const char* name) {
  Operator* op = find_operator(str("aten::", name), "");
  CHECK(Kind::Runtime, op, "aten::", name, " is not defined");
  Bound b;
  b.reset(1);
  b.set(0, wrap(t));
  return Tensor(unwrap(owned(call_operator(*op, b))));
}

Tensor zeros_as_its_class(const Tensor& like, IntArrayRef sizes, IntArrayRef strides) {
  return method(method(like, "new_empty_strided", sizes, strides), "zero_");
}

void negate_in_place(const Tensor& t) {
  NoGrad off;
  Tensor uncounted = alias(*t);
  uncounted->own_version() = std::make_shared<std::atomic<uint32_t>>(0);  // part of a write that is counted once
  run_method(uncounted, "neg_");
}

void copy_with_cupy(const Tensor& self, const Tensor& src) {
  GilAcquire gil;
  OwnedRef module = owned(PyImport_ImportModule("shim_torch._impl.arrays.cupy_arrays"));
  OwnedRef to = owned(wrap(self)), from = owned(wrap(src));
  OwnedRef done = owned(PyObject_CallMethod(module.o, "copy", "OO", to.o, from.o));
}

}  // namespace

void install_engine_ops() {
  engine_ops() = {.add = engine_add,
      .add_ = engine_add_in_place,
      .sum_to = engine_sum_to,
      .cast = engine_cast,
      .clone = engine_clone,
      .zeros = engine_zeros,
      .new_zeros = [](const Tensor& like, IntArrayRef sizes) { return method(like, "new_zeros", sizes); },
      .copy_ = engine_copy,
      .as_strided = engine_as_strided,
      .view_operator = view_operator};
  zeros_as = zeros_as_its_class;
  copy_on_device = copy_with_cupy;
  negate_with_operator = negate_in_place;
}

}  // namespace shim
