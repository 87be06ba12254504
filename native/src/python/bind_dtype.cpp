// torch.dtype, device, Size, layout and memory_format: small immutable types, singletons where PyTorch has singletons.
#include <string>

#include "python/foreign.h"
#include "python/object.h"

namespace shim {
namespace {

struct PyDType {
  PyObject_HEAD DType dtype;
};
struct PyDevice {
  PyObject_HEAD Device device;
};
struct PyNamed {
  PyObject_HEAD int value;
  const char* name;
};  // layout, memory_format

PyTypeObject *DTypeType, *DeviceType_, *SizeType, *LayoutType, *FormatType;
PyObject* dtypes[kDTypeSlots];
PyObject *layouts[8], *formats[4];
PyObject* rebuild_named;

DType dtype_in(PyObject* o) { return reinterpret_cast<PyDType*>(o)->dtype; }

// --- dtype --------------------------------------------------------------------------------------------------------------

PyObject* dtype_repr(PyObject* o) { return PyUnicode_FromFormat("torch.%s", dtype_name(dtype_in(o))); }
Py_hash_t dtype_hash(PyObject* o) { return Py_hash_t(0x9e3779b97f4a7c15ULL * (uint64_t(dtype_in(o)) + 11) >> 8); }
PyObject* dtype_reduce(PyObject* o, PyObject*) { return Py_BuildValue("O(s)", rebuild_named, dtype_name(dtype_in(o))); }
PyObject* flag(bool v) { return PyBool_FromLong(v); }
PyObject* dtype_get_floating(PyObject* o, void*) { return flag(is_floating(dtype_in(o))); }
PyObject* dtype_get_complex(PyObject* o, void*) { return flag(is_complex(dtype_in(o))); }
PyObject* dtype_get_signed(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    CHECK(Kind::Runtime, !is_quantized(dtype_in(o)), "isSignedType not supported for quantized types");
    return flag(is_signed(dtype_in(o)));
  });
}
PyObject* dtype_get_itemsize(PyObject* o, void*) { return PyLong_FromSize_t(itemsize(dtype_in(o))); }
PyObject* dtype_get_number(PyObject* o, void*) { return PyLong_FromLong(long(dtype_in(o))); }
PyObject* dtype_to_real(PyObject* o, PyObject*) { return dtype_object(to_real(dtype_in(o))); }
PyObject* dtype_to_complex(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* { return dtype_object(to_complex(dtype_in(o))); });
}

PyGetSetDef dtype_getset[] = {{"is_floating_point", dtype_get_floating, nullptr, nullptr, nullptr},
    {"is_complex", dtype_get_complex, nullptr, nullptr, nullptr},
    {"is_signed", dtype_get_signed, nullptr, nullptr, nullptr},
    {"itemsize", dtype_get_itemsize, nullptr, nullptr, nullptr},
    {"_number", dtype_get_number, nullptr, nullptr, nullptr}, {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef dtype_methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
    {"to_real", dtype_to_real, METH_NOARGS, nullptr}, {"to_complex", dtype_to_complex, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot dtype_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(dtype_repr)},
    {Py_tp_hash, reinterpret_cast<void*>(dtype_hash)}, {Py_tp_getset, dtype_getset}, {Py_tp_methods, dtype_methods},
    {Py_tp_doc, const_cast<char*>("The element type of a tensor.")}, {0, nullptr}};
PyType_Spec dtype_spec = {
    "torch.dtype", sizeof(PyDType), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dtype_slots};

// --- device -------------------------------------------------------------------------------------------------------------

Device device_in(PyObject* o) { return reinterpret_cast<PyDevice*>(o)->device; }

bool names_device(PyObject* o) { return is_device(o) || PyUnicode_Check(o) || (PyLong_Check(o) && !PyBool_Check(o)); }

PyObject* no_device_given(PyObject* got) {
  const std::string type = got ? Py_TYPE(got)->tp_name : "";
  const std::string why =
      got ? "      didn't match because some of the arguments have invalid types: (!" + type + "!)\n" : "";
  return PyErr_Format(PyExc_TypeError,
      "device() received an invalid combination of arguments - got (%s), but expected one of:\n * (torch.device "
      "device)\n%s"
      " * (str type, int index = -1)\n",
      type.c_str(), why.c_str());
}

PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"type", "index", nullptr};
  static const char* device_names[] = {"device", nullptr};
  PyObject *type = nullptr, *index = nullptr;
  if (kwargs && PyDict_GetItemString(kwargs, "device")) {
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:device", const_cast<char**>(device_names), &type)) return nullptr;
  } else if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:device", const_cast<char**>(names), &type, &index)) {
    return nullptr;
  }
  if (!type || ((!index || index == Py_None) && !names_device(type))) return no_device_given(type);
  if (index && index != Py_None && (!PyLong_Check(index) || PyBool_Check(index)))
    return PyErr_Format(
        PyExc_TypeError, "device(): argument 'index' (position 2) must be int, not %s", Py_TYPE(index)->tp_name);
  return guarded([&]() -> PyObject* {
    if (!index || index == Py_None) return device_object(device_of(type));
    if (!PyUnicode_Check(type))
      return PyErr_Format(PyExc_TypeError, "device(): argument 'type' must be str, not %s", Py_TYPE(type)->tp_name);
    int64_t i;
    if (!unpack_int(index, &i)) return nullptr;
    Device d = parse_device(utf8(type));
    CHECK(Kind::Runtime, d.index < 0,
        "type (string) must not include an index because index was passed explicitly: ", utf8(type));
    CHECK(Kind::Runtime, i >= 0, "Device index must not be negative");
    CHECK(Kind::Runtime, i < 128, "Device index out of range: ", i);
    return device_object({d.type, int8_t(i)});
  });
}

PyObject* device_repr(PyObject* o) {
  Device d = device_in(o);
  if (d.index < 0) return PyUnicode_FromFormat("device(type='%s')", device_type_name(d.type));
  return PyUnicode_FromFormat("device(type='%s', index=%d)", device_type_name(d.type), int(d.index));
}
PyObject* device_str(PyObject* o) { return PyUnicode_FromString(to_string(device_in(o)).c_str()); }
Py_hash_t device_hash(PyObject* o) {
  return (Py_hash_t(device_in(o).type) << 16 | Py_hash_t(uint8_t(device_in(o).index))) + 0x5eed;
}

PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if (!is_device(a) || !is_device(b) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return flag((device_in(a) == device_in(b)) == (op == Py_EQ));
}

PyObject* device_get_type(PyObject* o, void*) {
  return PyUnicode_InternFromString(device_type_name(device_in(o).type));
}
PyObject* device_get_index(PyObject* o, void*) {
  if (device_in(o).index < 0) Py_RETURN_NONE;
  return PyLong_FromLong(device_in(o).index);
}
PyObject* device_reduce(PyObject* o, PyObject*) {
  return Py_BuildValue("O(s)", rebuild_named, to_string(device_in(o)).c_str());
}

// `with torch.device("meta"):`: the mode is in Python (shim_torch.utils._device).
PyObject* call_mode(const char* what, PyObject* device) {
  PyObject* module = PyImport_ImportModule("shim_torch.utils._device");
  if (!module) return nullptr;
  PyObject* result = PyObject_CallMethod(module, what, "O", device);
  Py_DECREF(module);
  return result;
}
PyObject* device_enter(PyObject* o, PyObject*) { return call_mode("enter", o); }
PyObject* device_exit(PyObject* o, PyObject*) { return call_mode("leave", o); }

PyGetSetDef device_getset[] = {{"type", device_get_type, nullptr, nullptr, nullptr},
    {"index", device_get_index, nullptr, nullptr, nullptr}, {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef device_methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr},
    {"__enter__", device_enter, METH_NOARGS, nullptr}, {"__exit__", device_exit, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot device_slots[] = {{Py_tp_new, reinterpret_cast<void*>(device_new)},
    {Py_tp_repr, reinterpret_cast<void*>(device_repr)}, {Py_tp_str, reinterpret_cast<void*>(device_str)},
    {Py_tp_hash, reinterpret_cast<void*>(device_hash)}, {Py_tp_richcompare, reinterpret_cast<void*>(device_compare)},
    {Py_tp_getset, device_getset}, {Py_tp_methods, device_methods},
    {Py_tp_doc, const_cast<char*>("A place for tensors: a type and, optionally, an index.")}, {0, nullptr}};
PyType_Spec device_spec = {"torch.device", sizeof(PyDevice), 0, Py_TPFLAGS_DEFAULT, device_slots};

// --- Size ---------------------------------------------------------------------------------------------------------------

PyObject* size_repr(PyObject* o) {
  std::string s = "torch.Size([";
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
    PyObject* text = PyObject_Repr(PyTuple_GET_ITEM(o, i));
    if (!text) return nullptr;
    s += (i ? ", " : "") + std::string(PyUnicode_AsUTF8(text));
    Py_DECREF(text);
  }
  return PyUnicode_FromString((s + "])").c_str());
}

PyObject* size_of_tuple(PyObject* tuple) {  // steals
  if (!tuple) return nullptr;
  if (!PyTuple_CheckExact(tuple)) return tuple;
  Py_ssize_t n = PyTuple_GET_SIZE(tuple);
  PyObject* size = SizeType->tp_alloc(SizeType, n);
  if (size)
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* item = PyTuple_GET_ITEM(tuple, i);
      Py_INCREF(item);
      PyTuple_SET_ITEM(size, i, item);
    }
  Py_DECREF(tuple);
  return size;
}

PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* self = PyTuple_Type.tp_new(type, args, kwargs);
  if (!self) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
    PyObject* item = PyTuple_GET_ITEM(self, i);
    int64_t value;
    if (PyLong_Check(item) && unpack_int(item, &value)) continue;
    if (PyErr_Occurred()) {
      Py_DECREF(self);
      return nullptr;
    }
    if (PyObject_HasAttrString(item, "is_nested_int")) continue;  // a size that varies: torch.SymInt
    PyObject* number = PyIndex_Check(item) ? PyNumber_Index(item) : nullptr;
    if (!number) {
      PyErr_Format(
          PyExc_TypeError, "torch.Size() takes an iterable of 'int' (item %zd is '%s')", i, Py_TYPE(item)->tp_name);
      Py_DECREF(self);
      return nullptr;
    }
    PyTuple_SET_ITEM(self, i, number);
    Py_DECREF(item);
  }
  return self;
}

PyObject* size_concat(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) {
    PyErr_Format(PyExc_TypeError, "can only concatenate tuple (not \"%s\") to torch.Size",
        Py_TYPE(PyTuple_Check(a) ? b : a)->tp_name);
    return nullptr;
  }
  return size_of_tuple(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}
PyObject* size_add(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return size_concat(a, b);
}
PyObject* size_repeat(PyObject* a, Py_ssize_t n) { return size_of_tuple(PyTuple_Type.tp_as_sequence->sq_repeat(a, n)); }
PyObject* size_subscript(PyObject* a, PyObject* key) {
  PyObject* r = PyTuple_Type.tp_as_mapping->mp_subscript(a, key);
  return PySlice_Check(key) ? size_of_tuple(r) : r;
}
PyObject* size_numel(PyObject* o, PyObject*) {
  int64_t n = 1, d;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
    if (!unpack_int(PyTuple_GET_ITEM(o, i), &d)) return nullptr;
    (void)__builtin_mul_overflow(n, d, &n);  // wraps around, as PyTorch's does
  }
  return PyLong_FromLongLong(n);
}
PyObject* size_reduce(PyObject* o, PyObject*) {
  PyObject* plain = PyTuple_GetSlice(o, 0, PyTuple_GET_SIZE(o));
  PyObject* r = plain ? Py_BuildValue("O(N)", rebuild_named, plain) : nullptr;
  return r;
}
PyMethodDef size_methods[] = {{"numel", size_numel, METH_NOARGS, nullptr},
    {"__reduce__", size_reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyType_Slot size_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(size_repr)},
    {Py_tp_new, reinterpret_cast<void*>(size_new)}, {Py_sq_concat, reinterpret_cast<void*>(size_concat)},
    {Py_nb_add, reinterpret_cast<void*>(size_add)}, {Py_sq_repeat, reinterpret_cast<void*>(size_repeat)},
    {Py_mp_subscript, reinterpret_cast<void*>(size_subscript)}, {Py_tp_methods, size_methods},
    {Py_tp_doc, const_cast<char*>("The sizes of a tensor: a tuple of int.")}, {0, nullptr}};
PyType_Spec size_spec = {"torch.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, size_slots};

// --- layout, memory_format ----------------------------------------------------------------------------------------------

PyObject* named_repr(PyObject* o) { return PyUnicode_FromFormat("torch.%s", reinterpret_cast<PyNamed*>(o)->name); }
PyObject* named_reduce(PyObject* o, PyObject*) {
  return Py_BuildValue("O(s)", rebuild_named, reinterpret_cast<PyNamed*>(o)->name);
}
PyMethodDef named_methods[] = {{"__reduce__", named_reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyType_Slot named_slots[] = {
    {Py_tp_repr, reinterpret_cast<void*>(named_repr)}, {Py_tp_methods, named_methods}, {0, nullptr}};
PyType_Spec layout_spec = {
    "torch.layout", sizeof(PyNamed), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, named_slots};
PyType_Spec format_spec = {
    "torch.memory_format", sizeof(PyNamed), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, named_slots};

constexpr const char* kLayouts[] = {
    "strided", "sparse_coo", "sparse_csr", "_mkldnn", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"};
constexpr const char* kFormats[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};

// What pickles of the types above call; found without the import hook.
PyObject* rebuild(PyObject* module, PyObject* what) {
  if (PyTuple_CheckExact(what)) {
    Py_INCREF(what);
    return size_of_tuple(what);
  }
  const char* name = PyUnicode_Check(what) ? PyUnicode_AsUTF8(what) : nullptr;
  if (!name) return PyErr_Format(PyExc_TypeError, "_rebuild takes a name or a tuple");
  if (PyObject* found = PyObject_GetAttr(module, what)) {
    if (Py_TYPE(found) == DTypeType || Py_TYPE(found) == LayoutType || Py_TYPE(found) == FormatType) return found;
    Py_DECREF(found);
  }
  PyErr_Clear();
  return guarded([&]() -> PyObject* { return device_object(parse_device(name)); });
}

PyObject* get_default(PyObject*, PyObject*) { return dtype_object(default_dtype()); }
PyObject* set_default(PyObject*, PyObject* d) {
  if (!is_dtype(d))
    return PyErr_Format(
        PyExc_TypeError, "invalid dtype object: only floating-point types are supported as the default type");
  if (!is_floating(dtype_in(d)))
    return PyErr_Format(PyExc_TypeError, "only floating-point types are supported as the default type");
  set_default_dtype(dtype_in(d));
  Py_RETURN_NONE;
}

PyMethodDef dtype_functions[] = {{"_rebuild", rebuild, METH_O, nullptr},
    {"get_default_dtype", get_default, METH_NOARGS, nullptr}, {"set_default_dtype", set_default, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

int add_dtypes(PyObject* module) {
  struct Alias {
    const char* name;
    DType dtype;
  };
  for (int i = 0; i < kDTypeSlots; ++i) {
    DType t = DType(i);
    if (!itemsize(t)) continue;
    auto* o = reinterpret_cast<PyDType*>(DTypeType->tp_alloc(DTypeType, 0));
    if (!o) return -1;
    o->dtype = t;
    dtypes[i] = reinterpret_cast<PyObject*>(o);
    if (PyObject_SetAttrString(module, dtype_name(t), dtypes[i]) < 0) return -1;
  }
  for (Alias a : {Alias{"float", DType::f32}, {"double", DType::f64}, {"half", DType::f16}, {"int", DType::i32},
           {"long", DType::i64}, {"short", DType::i16}, {"chalf", DType::c32}, {"cfloat", DType::c64},
           {"cdouble", DType::c128}, {"bit", DType(30)}})
    if (PyObject_SetAttrString(module, a.name, dtypes[int(a.dtype)]) < 0) return -1;
  return 0;
}

int add_named(PyObject* module, PyTypeObject* type, const char* const* names, int n, PyObject** into) {
  for (int i = 0; i < n; ++i) {
    auto* o = reinterpret_cast<PyNamed*>(type->tp_alloc(type, 0));
    if (!o) return -1;
    o->value = i;
    o->name = names[i];
    into[i] = reinterpret_cast<PyObject*>(o);
    if (PyObject_SetAttrString(module, names[i], into[i]) < 0) return -1;
  }
  return 0;
}

PyTypeObject* add_type(PyObject* module, PyType_Spec& spec, const char* name, PyTypeObject* base = nullptr) {
  PyObject* t = base ? PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(base)) : PyType_FromSpec(&spec);
  if (t && PyObject_SetAttrString(module, name, t) < 0) return nullptr;
  return reinterpret_cast<PyTypeObject*>(t);
}

template <class T> PyObject* incref(T* o) {
  Py_INCREF(o);
  return reinterpret_cast<PyObject*>(o);
}

}  // namespace

PyObject* dtype_object(DType t) { return incref(dtypes[int(t)]); }
bool is_dtype(PyObject* o) { return Py_TYPE(o) == DTypeType; }

DType dtype_of(PyObject* o) {
  if (is_dtype(o)) return dtype_in(o);
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return default_dtype();
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::b8;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::i64;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return to_complex(default_dtype());
  fail(Kind::Type, "expected a torch.dtype, not ", Py_TYPE(o)->tp_name, foreign_note(o));
}

PyObject* device_object(Device d) {
  static PyObject* cache[32][10];  // index -1 .. 8 of every type
  bool cached = d.index < 9 && size_t(d.type) < 32;
  if (cached && cache[size_t(d.type)][d.index + 1]) return incref(cache[size_t(d.type)][d.index + 1]);
  auto* o = reinterpret_cast<PyDevice*>(DeviceType_->tp_alloc(DeviceType_, 0));
  if (!o) return nullptr;
  o->device = d;
  if (cached) cache[size_t(d.type)][d.index + 1] = incref(reinterpret_cast<PyObject*>(o));
  return reinterpret_cast<PyObject*>(o);
}

bool is_device(PyObject* o) { return Py_TYPE(o) == DeviceType_; }

const char* utf8(PyObject* string) {
  const char* text = PyUnicode_AsUTF8(string);
  if (text) return text;
  PyErr_Clear();
  fail(Kind::Runtime, "error unpacking string as utf-8");
}

bool unpack_int(PyObject* o, int64_t* out) {
  int overflow = 0;
  *out = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow) PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
  return !overflow && (*out != -1 || !PyErr_Occurred());
}

bool unpack_flag(PyObject* o, const char* argument, bool* out) {
  *out = o == Py_True;
  if (!PyBool_Check(o)) PyErr_Format(PyExc_TypeError, "%s must be bool, not %s", argument, Py_TYPE(o)->tp_name);
  return PyBool_Check(o);
}

Device device_of(PyObject* o) {
  if (is_device(o)) return device_in(o);
  if (PyUnicode_Check(o)) return parse_device(utf8(o));
  if (PyLong_Check(o)) {
    int64_t i = 0;
    if (!unpack_int(o, &i)) throw PythonError();
    CHECK(Kind::Runtime, i >= 0 && i < 128, "Device index must not be negative");
    return {DeviceType::cuda, int8_t(i)};
  }
  fail(Kind::Type, "expected a torch.device, str or int, not ", Py_TYPE(o)->tp_name, foreign_note(o));
}

PyObject* size_object(DimSpan d) {
  PyObject* size = SizeType->tp_alloc(SizeType, Py_ssize_t(d.size()));
  if (size)
    for (size_t i = 0; i < d.size(); ++i) PyTuple_SET_ITEM(size, Py_ssize_t(i), PyLong_FromLongLong(d[i]));
  return size;
}

PyObject* layout_object(int i) { return incref(layouts[i]); }
PyObject* memory_format_object(MemoryFormat f) { return incref(formats[int(f)]); }

int layout_of(PyObject* o) { return Py_TYPE(o) == LayoutType ? int(reinterpret_cast<PyNamed*>(o)->value) : -1; }

bool memory_format_of(PyObject* o, MemoryFormat* f) {
  if (Py_TYPE(o) != FormatType) return false;
  *f = MemoryFormat(reinterpret_cast<PyNamed*>(o)->value);
  return true;
}

int bind_dtype(PyObject* module) {
  DTypeType = add_type(module, dtype_spec, "dtype");
  DeviceType_ = add_type(module, device_spec, "device");
  SizeType = add_type(module, size_spec, "Size", &PyTuple_Type);
  LayoutType = add_type(module, layout_spec, "layout");
  FormatType = add_type(module, format_spec, "memory_format");
  if (!DTypeType || !DeviceType_ || !SizeType || !LayoutType || !FormatType) return -1;
  if (add_dtypes(module) < 0 || add_named(module, LayoutType, kLayouts, 8, layouts) < 0 ||
      add_named(module, FormatType, kFormats, 4, formats) < 0)
    return -1;
  if (PyModule_AddFunctions(module, dtype_functions) < 0) return -1;
  rebuild_named = PyObject_GetAttrString(module, "_rebuild");
  return rebuild_named ? 0 : -1;
}

}  // namespace shim
