// What running NumPy bodies needs from C++: aligned results, raw allocation and copies.
#include <malloc.h>

#include <cstdlib>
#include <cstring>

#include "core/lazy_clone.h"
#include "cpu/loops.h"
#include "ops/kernels.h"
#include "python/body.h"
#include "python/dispatch.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#include <numpy/arrayobject.h>

namespace shim {
namespace {

// NumPy aligns to 16 bytes; arrays made by bodies become tensors, which are aligned to 64 (NEP 49).
constexpr size_t kAlignment = 64;
size_t rounded(size_t n) { return ((n ? n : 1) + kAlignment - 1) / kAlignment * kAlignment; }
void* aligned_malloc(void*, size_t n) { return std::aligned_alloc(kAlignment, rounded(n)); }
void* aligned_calloc(void*, size_t count, size_t size) {
  if (size && count > SIZE_MAX / size) return nullptr;
  void* p = aligned_malloc(nullptr, count * size);
  return p ? std::memset(p, 0, count * size) : nullptr;
}
void aligned_free(void*, void* p, size_t) { std::free(p); }
void* aligned_realloc(void*, void* p, size_t n) {
  void* q = aligned_malloc(nullptr, n);
  if (q && p) {
    std::memcpy(q, p, std::min(malloc_usable_size(p), n));
    std::free(p);
  }
  return q;
}

PyDataMem_Handler handler = {
    "shim_torch_aligned", 1, {nullptr, aligned_malloc, aligned_calloc, aligned_realloc, aligned_free}};
PyObject* handler_capsule = nullptr;

PyObject* call_aligned(PyObject*, PyObject* const* args, Py_ssize_t n) {  // (function, *arguments)
  if (n < 1) {
    PyErr_SetString(PyExc_TypeError, "call_aligned() needs a function");
    return nullptr;
  }
  PyObject* old = PyDataMem_SetHandler(handler_capsule);
  if (!old) return nullptr;
  PyObject* r = PyObject_Vectorcall(args[0], args + 1, size_t(n - 1), nullptr);
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* ours = PyDataMem_SetHandler(old);
  Py_XDECREF(ours);
  Py_DECREF(old);
  if (type) PyErr_Restore(type, value, trace);
  return r;
}

bool dims_of(PyObject* sequence, Dims& out) {
  PyObject* fast = PySequence_Fast(sequence, "sizes must be a sequence");
  if (!fast) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast); ++i) {
    out.push_back(PyLong_AsLongLong(PySequence_Fast_GET_ITEM(fast, i)));
    if (PyErr_Occurred()) {
      Py_DECREF(fast);
      return false;
    }
  }
  Py_DECREF(fast);
  return true;
}

PyObject* empty_raw(PyObject*, PyObject* args) {  // (sizes, dtype, device)
  PyObject *sizes, *dtype, *device;
  if (!PyArg_ParseTuple(args, "OOO", &sizes, &dtype, &device)) return nullptr;
  Dims dims;
  if (!dims_of(sizes, dims)) return nullptr;
  return guarded([&]() -> PyObject* { return wrap(empty(dims, dtype_of(dtype), device_of(device))); });
}

PyObject* empty_like_all(
    PyObject*, PyObject* args) {  // (sizes, tensors, dtype, device): an elementwise result's memory
  PyObject *sizes, *tensors, *dtype, *device;
  if (!PyArg_ParseTuple(args, "OO!OO", &sizes, &PyList_Type, &tensors, &dtype, &device)) return nullptr;
  Dims dims;
  if (!dims_of(sizes, dims)) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<const TensorImpl*> inputs;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tensors); ++i) {
      CHECK(Kind::Type, is_tensor(PyList_GET_ITEM(tensors, i)), "empty_like_all() expects Tensors");
      inputs.push_back(unwrap(PyList_GET_ITEM(tensors, i)));
    }
    return wrap(allocate_like(dims, inputs.data(), int(inputs.size()), dtype_of(dtype), device_of(device)));
  });
}

PyObject* clone_raw(PyObject*, PyObject* o) {  // a dense CPU tensor copied byte by byte
  if (!is_tensor(o)) {
    PyErr_SetString(PyExc_TypeError, "clone_raw() expects a Tensor");
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    TensorImpl* t = unwrap(o);
    Tensor copy = empty_strided(t->sizes(), t->strides(), t->dtype(), t->device());
    size_t bytes = storage_bytes(t->sizes(), t->strides(), t->itemsize());
    if (bytes) std::memcpy(copy->data(), t->data(), bytes);
    return wrap(copy);
  });
}

PyObject* copy_raw(PyObject*, PyObject* args) {  // (to, from): casts and crosses devices; no history, no version
  PyObject *to, *from;
  if (!PyArg_ParseTuple(args, "OO", &to, &from)) return nullptr;
  if (!is_tensor(to) || !is_tensor(from)) {
    PyErr_SetString(PyExc_TypeError, "copy_raw() expects two Tensors");
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    copy_(Tensor(unwrap(to)), Tensor(unwrap(from)));
    Py_RETURN_NONE;
  });
}

PyObject* own_memory(
    PyObject*, PyObject* o) {  // a tensor over a body's array: nobody else has it, so it may be resized
  if (!is_tensor(o)) {
    PyErr_SetString(PyExc_TypeError, "own_memory() expects a Tensor");
    return nullptr;
  }
  unwrap(o)->storage()->set_resizable(true);
  return Py_NewRef(o);
}

PyObject* lend_memory(
    PyObject*, PyObject* o) {  // an array stands over the tensor's memory, which must stay where it is
  return guarded([&] {
    own_data(*unwrap(o)->storage());
    unwrap(o)->storage()->set_resizable(false);
    return Py_NewRef(o);
  });
}

PyObject* memory_address(PyObject*, PyObject* o) {  // data_ptr() of a tensor whose memory is about to be read
  if (!is_tensor(o))
    return PyErr_Format(PyExc_TypeError, "memory_address() expects a Tensor, got %s", Py_TYPE(o)->tp_name);
  return guarded([&] {
    own_data(*unwrap(o)->storage());
    return PyLong_FromVoidPtr(unwrap(o)->data());
  });
}

PyMethodDef run_functions[] = {
    {"memory_address", memory_address, METH_O,
        "Where the tensor's memory is; RuntimeError where its storage holds less than the tensor needs."},
    {"lend_memory", lend_memory, METH_O,
        "Marks the tensor's memory as shared with an array: resize_() may not replace it."},
    {"own_memory", own_memory, METH_O, "Marks the tensor's memory as its own: resize_() may replace it."},
    {"call_aligned", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(call_aligned)), METH_FASTCALL,
        "Calls a function while NumPy allocates 64-byte aligned."},
    {"empty_raw", empty_raw, METH_VARARGS, "An uninitialised tensor: (sizes, dtype, device)."},
    {"empty_like_all", empty_like_all, METH_VARARGS,
        "Uninitialised memory for an elementwise result: (sizes, tensors, dtype, device)."},
    {"copy_raw", copy_raw, METH_VARARGS, "Copies one tensor's values into another's, across dtypes and devices."},
    {"clone_raw", clone_raw, METH_O, "A dense CPU tensor copied with its strides."}, {nullptr, nullptr, 0, nullptr}};

int load_numpy() {
  import_array1(-1);
  return 0;
}

}  // namespace

PyObject* aligned_handler() { return handler_capsule; }

int bind_run(PyObject* module) {
  if (load_numpy() < 0) return -1;
  handler_capsule = PyCapsule_New(&handler, "mem_handler", nullptr);
  return handler_capsule && PyModule_AddFunctions(module, run_functions) == 0 ? bind_body(module) : -1;
}

}  // namespace shim
