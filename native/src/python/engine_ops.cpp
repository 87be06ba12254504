// What the engine asks of operators: the tensor's own methods, which record history when they should.
#include <cstring>

#include "core/sparse.h"
#include "ops/kernels.h"
#include "python/dispatch.h"

namespace shim {

namespace {

template <class... A> Tensor method(const Tensor& self, const char* name, A... args) {  // args: new references
  PyObject* objects[] = {wrap(self), args...};
  PyObject* n = PyUnicode_InternFromString(name);
  PyObject* r = PyObject_VectorcallMethod(n, objects, sizeof...(A) + 1, nullptr);
  Py_DECREF(n);
  for (PyObject* o : objects) Py_XDECREF(o);
  if (!r) throw PythonError();
  Tensor t = is_tensor(r) ? Tensor(unwrap(r)) : Tensor();
  Py_DECREF(r);
  return t;
}

Tensor op_zeros(IntArrayRef sizes, DType t, Device d) {
  Tensor z = empty(sizes, t, d);
  if (d.is_cpu() && z->numel())
    std::memset(z->data(), 0, size_t(z->numel()) * z->itemsize());
  else if (!d.is_meta())
    method(z, "zero_");
  return z;
}

Tensor view_operator(const Tensor& t, const char* name) {
  Operator* op = find_operator(str("aten::", name), "");
  CHECK(Kind::Runtime, op, "aten::", name, " is not defined");
  Bound b;
  b.reset(1);
  b.set(0, wrap(t));
  PyObject* r = call_operator(*op, b);
  if (!r) throw PythonError();
  Tensor made(unwrap(r));
  Py_DECREF(r);
  return made;
}

}  // namespace

void install_engine_ops() {
  EngineOps& e = engine_ops();
  e.add = [](const Tensor& a, const Tensor& b) { return method(a, "add", wrap(b)); };
  e.add_ = [](const Tensor& a, const Tensor& b) { method(a, "add_", wrap(b)); };
  e.sum_to = [](const Tensor& a, IntArrayRef s) { return method(a, "sum_to_size", size_object(s)); };
  e.cast = [](const Tensor& a, DType t) { return method(a, "to", dtype_object(t)); };
  e.clone = [](const Tensor& a) { return method(a, "clone"); };
  e.copy_ = [](const Tensor& a, const Tensor& b) { method(a, "copy_", wrap(b)); };
  e.as_strided = [](const Tensor& a, IntArrayRef s, IntArrayRef st, int64_t o) {
    return GradMode::enabled() || !has_data(*a)
               ? method(a, "as_strided", size_object(s), size_object(st), PyLong_FromLongLong(o))
               : as_strided(*a, s, st, o);
  };
  e.view_operator = view_operator;
  e.zeros = op_zeros;
  e.new_zeros = [](const Tensor& a, IntArrayRef s) { return method(a, "new_zeros", size_object(s)); };
}

}  // namespace shim
