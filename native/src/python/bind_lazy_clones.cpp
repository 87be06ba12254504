// Lazy clones: tensors over one block of memory that get memory of their own when one is written to.
#include "core/extent.h"
#include "core/lazy_clone.h"
#include "core/sparse.h"
#include "cpu/parallel.h"
#include "python/object.h"

namespace shim {
namespace {

const TensorImpl* dense(PyObject* o, const char* name) {
  if (!is_tensor(o))
    return PyErr_Format(PyExc_TypeError, "%s(): argument 'self' must be Tensor, not %s", name, Py_TYPE(o)->tp_name),
           nullptr;
  if (!is_sparse(*unwrap(o))) return unwrap(o);
  return PyErr_Format(PyExc_NotImplementedError, "Cannot access storage of %s", Py_TYPE(o)->tp_name), nullptr;
}

PyObject* py_lazy_clone(PyObject*, PyObject* o) {
  const TensorImpl* t = dense(o, "_lazy_clone");
  return !t ? nullptr : guarded([&] {
    check_within(
        *t->storage(), t->sizes(), t->strides(), t->storage_offset(), t->itemsize());  // it may have been shrunk
    Tensor clone(new TensorImpl(lazy_clone(*t->storage()), t->dtype(), t->sizes(), t->strides(), t->storage_offset()));
    clone->is_conj = t->is_conj;
    clone->is_neg = t->is_neg;
    return wrap(clone);
  });
}

PyObject* py_is_lazy(PyObject*, PyObject* o) {
  const TensorImpl* t = dense(o, "_is_cow_tensor");
  return t ? PyBool_FromLong(is_lazy(*t->storage())) : nullptr;
}

PyObject* data_address(PyObject*, PyObject* o) {
  const TensorImpl* t = dense(o, "_data_address");
  return t ? PyLong_FromVoidPtr(t->storage()->data()) : nullptr;
}

PyObject* storage_address(PyObject*, PyObject* o) {
  const TensorImpl* t = dense(o, "_storage_address");
  return t ? PyLong_FromVoidPtr(t->storage().get()) : nullptr;
}

// (self, pieces, skip_first): asks for memory of its own within a loop over pieces.
PyObject* own_in_parallel(PyObject*, PyObject* args) {
  PyObject* o;
  long long pieces;
  int skip_first;
  if (!PyArg_ParseTuple(args, "OLp", &o, &pieces, &skip_first)) return nullptr;
  const TensorImpl* t = dense(o, "_test_parallel_materialize");
  return !t ? nullptr : guarded([&] {
    parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
      if (!skip_first || begin != 0 || end != 1) own_data(*t->storage());
    });
    return Py_NewRef(o);
  });
}

PyMethodDef lazy_clones_functions[] = {
    {"lazy_clone", py_lazy_clone, METH_O,
        "A tensor over the same memory; whichever of both is written to first gets its own."},
    {"is_lazy_clone", py_is_lazy, METH_O, "Whether the tensor's memory belongs to others too, until it is written to."},
    {"data_address", data_address, METH_O,
        "Where the tensor's storage begins; no reason to give it memory of its own."},
    {"storage_address", storage_address, METH_O, "Where the object stands that holds the tensor's memory."},
    {"own_in_parallel", own_in_parallel, METH_VARARGS, "Asks for memory of its own within a parallel loop."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_lazy_clones(PyObject* module) { return PyModule_AddFunctions(module, lazy_clones_functions); }

}  // namespace shim
