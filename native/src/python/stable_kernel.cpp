// Compiled kernels as Python objects.
#include "python/dispatch.h"
#include "python/stable_values.h"

namespace shim {

PyTypeObject* StableKernelType = nullptr;

namespace {

struct StableKernel {
  PyObject_HEAD abi::Kernel kernel;
  PyObject *qualified, *overload;
};

StableKernel* as_kernel(PyObject* o) { return reinterpret_cast<StableKernel*>(o); }

void kernel_dealloc(PyObject* self) {
  clear_each(as_kernel(self)->qualified, as_kernel(self)->overload);
  free_object(self);
}

PyObject* kernel_repr(PyObject* self) {
  return PyUnicode_FromFormat("<compiled kernel of %U%s%U>", as_kernel(self)->qualified,
      PyUnicode_GET_LENGTH(as_kernel(self)->overload) ? "." : "", as_kernel(self)->overload);
}

// Called on its own (kernels_of): all arguments of the schema, in order; keyword-only ones may be given by name.
PyObject* kernel_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    Operator* op =
        find_operator(PyUnicode_AsUTF8(as_kernel(self)->qualified), PyUnicode_AsUTF8(as_kernel(self)->overload));
    CHECK(Kind::Runtime, op, "the operator of this kernel is not defined");
    std::vector<PyObject*> all;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) all.push_back(PyTuple_GET_ITEM(args, i));
    for (size_t i = all.size(); i < op->schema.args.size(); ++i) {
      PyObject* o = kwargs ? PyDict_GetItemString(kwargs, op->schema.args[i].name.c_str()) : nullptr;
      if (o) all.push_back(o);
    }
    CHECK(Kind::Type, all.size() == op->schema.args.size(), op->schema.qualified(), ": the kernel takes ",
        op->schema.args.size(), " arguments, got ", all.size());
    return call_stable(op->schema, as_kernel(self)->kernel, all.data(), all.size());
  });
}

PyType_Slot kernel_slots[] = {slot(Py_tp_dealloc, kernel_dealloc), slot(Py_tp_repr, kernel_repr),
    slot(Py_tp_call, kernel_call),
    documentation_slot("A kernel of a compiled library, registered through the stable C ABI."), {}};
PyType_Spec kernel_spec = {"shim_torch._impl.native._core.StableKernel", sizeof(StableKernel), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kernel_slots};

}  // namespace

PyObject* stable_kernel(abi::Kernel kernel, const std::string& qualified, const std::string& overload) {
  PyObject* self = StableKernelType->tp_alloc(StableKernelType, 0);
  if (!self) throw PythonError();
  as_kernel(self)->kernel = kernel;
  as_kernel(self)->qualified = PyUnicode_FromString(qualified.c_str());
  as_kernel(self)->overload = PyUnicode_FromString(overload.c_str());
  return self;
}

abi::Kernel kernel_of(PyObject* o) { return as_kernel(o)->kernel; }

int make_stable_kernel_type() { return (StableKernelType = add_type(nullptr, kernel_spec)) ? 0 : -1; }

}  // namespace shim
