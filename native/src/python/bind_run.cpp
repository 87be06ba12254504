// What running NumPy bodies needs from C++: aligned results, raw allocation and copies.
#include <cstdlib>
#include <cstring>

#include "core/aligned_memory.h"
#include "core/lazy_clone.h"
#include "cpu/loops.h"
#include "ops/kernels.h"
#include "python/body_plan.h"
#include "python/module_parameters.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#include <numpy/arrayobject.h>

namespace shim {
namespace {

// NumPy aligns to 16 bytes; arrays made by bodies become tensors, which are aligned to 64 (NEP 49).
PyDataMem_Handler handler = {"shim_torch_aligned", 1,
    {nullptr, [](void*, size_t n) { return aligned_memory(n); },
        [](void*, size_t count, size_t size) { return aligned_zeros(count, size); },
        [](void*, void* p, size_t n) { return aligned_resized(p, n); }, [](void*, void* p, size_t) { std::free(p); }}};
PyObject* handler_capsule = nullptr;

PyObject* call_aligned(PyObject*, PyObject* const* args, Py_ssize_t n) {  // (function, *arguments)
  if (n < 1) return PyErr_Format(PyExc_TypeError, "call_aligned() needs a function");
  PyObject* old = PyDataMem_SetHandler(handler_capsule);
  if (!old) return nullptr;
  PyObject* r = PyObject_Vectorcall(args[0], args + 1, size_t(n - 1), nullptr);
  const Pending raised;
  const OwnedRef held{old}, ours{PyDataMem_SetHandler(old)};
  return r;
}

Tensor empty_raw(const Dims& sizes, PyObject* dtype, PyObject* device) {
  return empty(sizes, dtype_of(dtype), device_of(device));
}

Tensor empty_like_all(const Dims& sizes, TensorList tensors, PyObject* dtype, PyObject* device) {
  std::vector<const TensorImpl*> inputs;
  for (const Tensor& t : tensors) inputs.push_back(t.get());
  return allocate_like(sizes, inputs.data(), int(inputs.size()), dtype_of(dtype), device_of(device));
}

Tensor clone_raw(const TensorImpl& t) {
  Tensor copy = empty_strided(t.sizes(), t.strides(), t.dtype(), t.device());
  if (const size_t bytes = storage_bytes(t.sizes(), t.strides(), t.itemsize()))
    std::memcpy(copy->data(), t.data(), bytes);
  return copy;
}

int add_handler(PyObject*) {
  import_array1(-1);
  return (handler_capsule = PyCapsule_New(&handler, "mem_handler", nullptr)) ? 0 : -1;
}

const ModulePart run_functions{
    {function<&address_of>("memory_address",
         "Where the tensor's memory is; RuntimeError where its storage holds less than the tensor needs."),
        function<&lend_memory>(
            "lend_memory", "Marks the tensor's memory as shared with an array: resize_() may not replace it."),
        function<&own_memory>("own_memory", "Marks the tensor's memory as its own: resize_() may replace it."),
        raw_function("call_aligned", call_aligned, "Calls a function while NumPy allocates 64-byte aligned."),
        function<&empty_raw>("empty_raw", "An uninitialised tensor: (sizes, dtype, device)."),
        function<&empty_like_all>(
            "empty_like_all", "Uninitialised memory for an elementwise result: (sizes, tensors, dtype, device)."),
        function<[](const Tensor& to, const Tensor& from) { copy_(to, from); }>("copy_raw",
            "Copies one tensor's values into another's, across dtypes and devices; no history, no version."),
        function<&clone_raw>("clone_raw", "A dense CPU tensor copied with its strides.")},
    add_handler};

}  // namespace

PyObject* aligned_handler() { return handler_capsule; }

}  // namespace shim
