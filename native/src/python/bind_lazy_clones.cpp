// Lazy clones: tensors over one block of memory that get memory of their own when one is written to.
#include "core/lazy_clone.h"
#include "core/sparse.h"
#include "cpu/parallel.h"
#include "python/module_function.h"

namespace shim {
namespace {

const TensorImpl& dense(PyObject* o, const char* name) {
  CHECK(Kind::Type, is_tensor(o), name, "(): argument 'self' must be Tensor, not ", Py_TYPE(o)->tp_name);
  CHECK(Kind::NotImplemented, !is_sparse(*unwrap(o)), "Cannot access storage of ", Py_TYPE(o)->tp_name);
  return *unwrap(o);
}

Tensor lazily_cloned(PyObject* o) { return lazy_clone(dense(o, "_lazy_clone")); }
bool is_lazy_clone(PyObject* o) { return is_lazy(*dense(o, "_is_cow_tensor").storage()); }
void* data_address(PyObject* o) { return dense(o, "_data_address").storage()->data(); }
void* storage_address(PyObject* o) { return dense(o, "_storage_address").storage().get(); }

// Asks for memory of its own within a loop over pieces.
PyObject* own_in_parallel(PyObject* o, int64_t pieces, Truth skip_first) {
  const TensorImpl& t = dense(o, "_test_parallel_materialize");
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    if (!skip_first || begin != 0 || end != 1) own_data(*t.storage());
  });
  return Py_NewRef(o);
}

const ModulePart lazy_clones_functions{
    {function<&lazily_cloned>(
         "lazy_clone", "A tensor over the same memory; whichever of both is written to first gets its own."),
        function<&is_lazy_clone>(
            "is_lazy_clone", "Whether the tensor's memory belongs to others too, until it is written to."),
        function<&data_address>(
            "data_address", "Where the tensor's storage begins; no reason to give it memory of its own."),
        function<&storage_address>("storage_address", "Where the object stands that holds the tensor's memory."),
        function<&own_in_parallel>("own_in_parallel", "Asks for memory of its own within a parallel loop.")}};

}  // namespace

}  // namespace shim
