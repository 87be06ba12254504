// NumPy arrays over tensor memory and the reverse, and tensors from any memory by pointer.
#include <algorithm>
#include <array>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include "ops/array_rules.h"
#include "python/body_plan.h"
#include "python/module_parameters.h"

#include <numpy/arrayobject.h>

namespace shim {
namespace {

// By NumPy's numbers of types; undefined: tensors have none such.
const std::array<DType, NPY_HALF + 1>& types_by_number() {
  static const auto all = [] {
    std::array<DType, NPY_HALF + 1> found;
    found.fill(DType::undefined);
    for (int n = 0; n <= NPY_HALF; ++n) {
      PyArray_Descr* d = PyArray_DescrFromType(n);
      for (int i = 0; i < kDTypeSlots; ++i)
        if (found[size_t(n)] == DType::undefined && array_kind(DType(i)) == d->kind &&
            npy_intp(itemsize(DType(i))) == PyDataType_ELSIZE(d))
          found[size_t(n)] = DType(i);
      Py_DECREF(d);
    }
    return found;
  }();
  return all;
}

PyArray_Descr* descr_of(DType t) {  // new reference
  const auto& numbers = types_by_number();
  if (const auto* plain = std::ranges::find(numbers, t); plain != numbers.end())
    return PyArray_DescrFromType(int(plain - numbers.begin()));
  CHECK(Kind::Type, of_ml_dtypes(t), "Got unsupported ScalarType ", scalar_name(t));
  static PyArray_Descr* cache[kDTypeSlots];
  PyArray_Descr*& d = cache[int(t)];
  if (!d && !PyArray_DescrConverter(imported("ml_dtypes", dtype_name(t)), &d)) throw PythonError();
  Py_INCREF(d);
  return d;
}

DType dtype_of_descr(PyArray_Descr* d) {
  if (d->type_num >= 0 && d->type_num <= NPY_HALF) {
    const DType plain = types_by_number()[size_t(d->type_num)];
    if (plain != DType::undefined) return plain;
  }
  std::string name = reinterpret_cast<PyTypeObject*>(d->typeobj)->tp_name;
  for (int i = 0; i < kDTypeSlots; ++i)
    if (of_ml_dtypes(DType(i)) && name.ends_with(dtype_name(DType(i)))) return DType(i);
  if (name.find('.') == std::string::npos) name = "numpy." + name;
  fail(Kind::Type, "can't convert np.ndarray of type ", name,
      ". The only supported types are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, "
      "uint64, uint32, uint16, uint8, "
      "and bool.");
}

// What keeps memory alive that resize_() of the storage replaces meanwhile.
PyObject* lent_memory(const TensorImpl& t) {
  auto* lent = new Lent(t.storage());
  PyObject* capsule =
      PyCapsule_New(lent, nullptr, [](PyObject* o) { delete static_cast<Lent*>(PyCapsule_GetPointer(o, nullptr)); });
  if (!capsule) delete lent;
  return capsule;
}

// The array keeps the storage alive, through an alias of the tensor where its memory stays as it is.
PyObject* to_numpy(TensorImpl* t) {
  check_lends_array(*t);
  PyArray_Descr* d = descr_of(t->dtype());
  npy_intp dims[NPY_MAXDIMS > 64 ? NPY_MAXDIMS : 64], strides[64];
  for (int i = 0; i < t->dim(); ++i) {
    dims[i] = t->sizes_data()[i];
    strides[i] = t->strides_data()[i] * npy_intp(t->itemsize());
  }
  static char nothing[64];
  t->storage()->settle();
  void* data = t->data();
  if (!data) data = nothing;
  OwnedRef array =
      owned(PyArray_NewFromDescr(&PyArray_Type, d, t->dim(), dims, strides, data, NPY_ARRAY_WRITEABLE, nullptr));
  OwnedRef owner = owned(t->storage()->resizable() ? lent_memory(*t) : wrap(alias(*t)));
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array.o), owner.give()) < 0) throw PythonError();
  return array.give();
}

void drop_owner(void* owner, void*) {
  if (!python_lives()) return;
  GilAcquire gil;
  Py_DECREF(static_cast<PyObject*>(owner));
}

}  // namespace
PyObject* owner_of(const Storage& s) {
  return s.deleter() == drop_owner ? static_cast<PyObject*>(s.context()) : nullptr;
}
namespace {

Tensor from_memory(void* data, PyObject* owner, Device device, DType t, IntArrayRef sizes, IntArrayRef strides) {
  Py_INCREF(owner);
  Ref<Storage> storage(new Storage(data, storage_bytes(sizes, strides, itemsize(t)), device, drop_owner, owner));
  storage->set_resizable(false);
  return Tensor(new TensorImpl(storage, t, sizes, strides, 0));
}

// warn (by default True): of memory that must not be written
Tensor from_numpy(PyObject* o, std::optional<bool> warn) {
  CHECK(Kind::Type, PyArray_Check(o), "expected np.ndarray (got ", Py_TYPE(o)->tp_name, ")");
  auto* a = reinterpret_cast<PyArrayObject*>(o);
  CHECK(Kind::Value, PyArray_ISNOTSWAPPED(a),
      "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
      "currently not supported.");
  DType t = dtype_of_descr(PyArray_DESCR(a));
  const npy_intp *dims = PyArray_DIMS(a), *bytes = PyArray_STRIDES(a);
  const auto n = size_t(PyArray_NDIM(a));
  const Dims sizes(dims, dims + n), strides = strides_in_elements(sizes, Dims(bytes, bytes + n), t);
  static bool warned = false;
  if (!PyArray_ISWRITEABLE(a) && warn.value_or(true) &&
      warn_once(&warned,
          "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
          "writing to this tensor will "
          "result in undefined behavior. You may want to copy the array to protect its data or make it writable "
          "before converting it to a tensor. This type of warning will be suppressed for the rest of this program.") <
          0)
    throw PythonError();
  return from_memory(PyArray_DATA(a), o, Device{}, t, sizes, strides);
}

}  // namespace

PyObject* tensor_over_array(PyObject* array) {
  if (!PyArray_Check(array)) return nullptr;
  PyObject* made = guarded([&] { return wrap(from_numpy(array, false)); });
  if (!made) PyErr_Clear();
  return made;
}

namespace {

PyObject* as_numpy(PyObject* o) {
  CHECK(Kind::Type, is_tensor(o), "expected a torch.Tensor, got ", Py_TYPE(o)->tp_name);
  return to_numpy(unwrap(o));
}

// Strides count elements.
Tensor from_pointer(void* pointer, PyObject* owner, PyObject* device, PyObject* dtype, const Dims& sizes,
    std::optional<PyObject*> given) {
  Dims strides;
  if (given && !dims_of(*given, &strides)) throw PythonError();
  return from_memory(
      pointer, owner, device_of(device), dtype_of(dtype), sizes, given ? strides : contiguous_strides(sizes));
}

DType torch_dtype(PyObject* o) {  // of anything NumPy understands as a dtype
  PyArray_Descr* d = nullptr;
  if (!PyArray_DescrConverter(o, &d)) throw PythonError();
  const OwnedRef held{reinterpret_cast<PyObject*>(d)};
  return dtype_of_descr(d);
}

int load_arrays(PyObject*) {
  import_array1(-1);
  return 0;
}

const ModulePart numpy_functions{
    {function<&from_numpy>("from_numpy"), function<&as_numpy>("to_numpy"), function<&from_pointer>("from_pointer"),
        function<[](PyObject* o) { return reinterpret_cast<PyObject*>(descr_of(dtype_of(o))); }>("numpy_dtype"),
        function<&torch_dtype>("dtype_from_numpy")},
    load_arrays};

}  // namespace

PyObject* array_of(TensorImpl* t) { return to_numpy(t); }

PyObject* tensor_over(PyObject* array, IntArrayRef sizes, DType t) {
  Tensor made = from_memory(
      PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)), array, Device{}, t, sizes, contiguous_strides(sizes));
  made->storage()->set_resizable(true);
  return wrap(made);
}

DType dtype_of_array(PyObject* array) {
  PyArray_Descr* d = PyArray_DESCR(reinterpret_cast<PyArrayObject*>(array));
  try {
    return dtype_of_descr(d);
  } catch (const Error&) { return DType::undefined; }
}

}  // namespace shim
