// torch.dtype, layout and memory_format: small immutable types, singletons where PyTorch has singletons.
#include "cuda/driver.h"
#include "python/foreign.h"
#include "python/builtin_types.h"
#include "python/object_methods.h"

namespace shim {

PyObject* rebuild_named = nullptr;

namespace {

struct PyNamed {  // one object for each dtype, layout and memory format
  PyObject_HEAD int value;
  const char* name;
};

PyTypeObject *DTypeType, *LayoutType, *FormatType;
PyObject* dtypes[kDTypeSlots];
PyObject *layouts[8], *formats[4];

PyNamed* named(PyObject* o) { return reinterpret_cast<PyNamed*>(o); }
DType dtype_in(PyObject* o) { return DType(named(o)->value); }

PyObject* named_repr(PyObject* o) { return PyUnicode_FromFormat("torch.%s", named(o)->name); }
PyObject* named_reduce(PyObject* o, PyObject*) { return Py_BuildValue("O(s)", rebuild_named, named(o)->name); }

// --- dtype --------------------------------------------------------------------------------------------------------------

Py_hash_t dtype_hash(PyObject* o) { return Py_hash_t(0x9e3779b97f4a7c15ULL * (uint64_t(dtype_in(o)) + 11) >> 8); }
bool signed_(DType t) {
  CHECK(Kind::Runtime, !is_quantized(t), "isSignedType not supported for quantized types");
  return is_signed(t);
}

PyGetSetDef dtype_getset[] = {object_attribute<[](DType t) { return is_floating(t); }>("is_floating_point"),
    object_attribute<[](DType t) { return is_complex(t); }>("is_complex"), object_attribute<&signed_>("is_signed"),
    object_attribute<[](DType t) { return int64_t(itemsize(t)); }>("itemsize"),
    object_attribute<[](DType t) { return int(t); }>("_number"), {}};
PyMethodDef dtype_methods[] = {{"__reduce__", named_reduce, METH_NOARGS, nullptr},
    object_method<[](DType t) { return to_real(t); }>("to_real"), object_method<[](DType t) {
      CHECK(Kind::Runtime, is_floating(t) || is_complex(t), "Unknown Complex ScalarType for ", scalar_name(t));
      return to_complex(t);
    }>("to_complex"),
    {}};
PyType_Slot dtype_slots[] = {slot(Py_tp_repr, named_repr), slot(Py_tp_hash, dtype_hash), {Py_tp_getset, dtype_getset},
    {Py_tp_methods, dtype_methods}, documentation_slot("The element type of a tensor."), {}};
PyType_Spec dtype_spec = {
    "torch.dtype", sizeof(PyNamed), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dtype_slots};

// --- layout, memory_format ----------------------------------------------------------------------------------------------

PyMethodDef named_methods[] = {{"__reduce__", named_reduce, METH_NOARGS, nullptr}, {}};
PyType_Slot named_slots[] = {slot(Py_tp_repr, named_repr), {Py_tp_methods, named_methods}, {}};
PyType_Spec layout_spec = {
    "torch.layout", sizeof(PyNamed), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, named_slots};
PyType_Spec format_spec = {
    "torch.memory_format", sizeof(PyNamed), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, named_slots};

constexpr const char* kLayouts[] = {
    "strided", "sparse_coo", "sparse_csr", "_mkldnn", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"};
constexpr const char* kFormats[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};

// What pickles of the types above call; found without the import hook.
PyObject* rebuild(PyObject* module, PyObject* what) {
  if (PyTuple_CheckExact(what)) return size_of_tuple(Py_NewRef(what));
  const char* name = PyUnicode_Check(what) ? PyUnicode_AsUTF8(what) : nullptr;
  if (!name) return PyErr_Format(PyExc_TypeError, "_rebuild takes a name or a tuple");
  if (PyObject* found = PyObject_GetAttr(module, what)) {
    if (Py_TYPE(found) == DTypeType || Py_TYPE(found) == LayoutType || Py_TYPE(found) == FormatType) return found;
    Py_DECREF(found);
  }
  PyErr_Clear();
  return guarded([&]() -> PyObject* { return device_object(parse_device(name)); });
}

void set_default(PyObject* d) {
  CHECK(Kind::Type, is_dtype(d), "invalid dtype object: only floating-point types are supported as the default type");
  CHECK(Kind::Type, is_floating(dtype_in(d)), "only floating-point types are supported as the default type");
  cuda::before_outside();  // its results have the dtypes that they were given out with
  set_default_dtype(dtype_in(d));
}

const ModulePart dtype_functions{
    {{"_rebuild", rebuild, METH_O, nullptr}, function<[] { return default_dtype(); }>("get_default_dtype"),
        function<&set_default>("set_default_dtype")},
    [](PyObject* m) { return (rebuild_named = PyObject_GetAttrString(m, "_rebuild")) ? 0 : -1; }};

bool add_named(PyObject* module, PyTypeObject* type, const char* name, int value, PyObject** into) {
  PyObject* o = type->tp_alloc(type, 0);
  if (!o) return false;
  named(o)->value = value;
  named(o)->name = name;
  return PyObject_SetAttrString(module, name, into[value] = o) == 0;
}

int add_all_named(PyObject* module) {
  for (int i = 0; i < kDTypeSlots; ++i)
    if (itemsize(DType(i)) && !add_named(module, DTypeType, dtype_name(DType(i)), i, dtypes)) return -1;
  for (auto [name, dtype] : {std::pair{"float", DType::f32}, {"double", DType::f64}, {"half", DType::f16},
           {"int", DType::i32}, {"long", DType::i64}, {"short", DType::i16}, {"chalf", DType::c32},
           {"cfloat", DType::c64}, {"cdouble", DType::c128}, {"bit", DType(30)}})
    if (PyObject_SetAttrString(module, name, dtypes[int(dtype)]) < 0) return -1;
  for (int i = 0; i < 8; ++i)
    if (!add_named(module, LayoutType, kLayouts[i], i, layouts)) return -1;
  for (int i = 0; i < 4; ++i)
    if (!add_named(module, FormatType, kFormats[i], i, formats)) return -1;
  return 0;
}

}  // namespace

PyTypeObject* add_type(PyObject* module, PyType_Spec& spec, const char* name, PyTypeObject* base) {
  PyObject* t = base ? PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(base)) : PyType_FromSpec(&spec);
  if (t && module && PyObject_SetAttrString(module, name, t) < 0) return nullptr;
  return reinterpret_cast<PyTypeObject*>(t);
}

PyTypeObject* add_called_type(
    const char* name, size_t size, size_t vectorcall, destructor dealloc, traverseproc traverse, inquiry clear) {
  PyMemberDef members[] = {offset_member("__vectorcalloffset__", vectorcall), {}};
  PyType_Slot slots[] = {slot(Py_tp_dealloc, dealloc), slot(Py_tp_traverse, traverse), slot(Py_tp_clear, clear),
      slot(Py_tp_call, PyVectorcall_Call), {Py_tp_members, members}, {}};
  PyType_Spec spec{name, int(size), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return add_type(nullptr, spec);
}

PyObject* dtype_object(DType t) { return Py_NewRef(dtypes[int(t)]); }
bool is_dtype(PyObject* o) { return Py_TYPE(o) == DTypeType; }

DType dtype_of(PyObject* o) {
  if (is_dtype(o)) return dtype_in(o);
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return default_dtype();
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::b8;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::i64;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return to_complex(default_dtype());
  fail(Kind::Type, "expected a torch.dtype, not ", Py_TYPE(o)->tp_name, foreign_note(o));
}

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

PyObject* layout_object(int i) { return Py_NewRef(layouts[i]); }
PyObject* memory_format_object(MemoryFormat f) { return Py_NewRef(formats[int(f)]); }

int layout_of(PyObject* o) { return Py_TYPE(o) == LayoutType ? named(o)->value : -1; }

bool memory_format_of(PyObject* o, MemoryFormat* f) {
  if (Py_TYPE(o) != FormatType) return false;
  *f = MemoryFormat(named(o)->value);
  return true;
}

int bind_dtype(PyObject* module) {
  DTypeType = add_type(module, dtype_spec, "dtype");
  LayoutType = add_type(module, layout_spec, "layout");
  FormatType = add_type(module, format_spec, "memory_format");
  if (!DTypeType || !LayoutType || !FormatType || bind_device(module) < 0 || bind_size(module) < 0) return -1;
  return add_all_named(module);
}

}  // namespace shim
