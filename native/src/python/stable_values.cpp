#include "python/stable_values.h"

#include <cstring>
#include <memory>

namespace shim {

namespace {

using abi::Cell;

class PythonGenerator final : public abi::HeldGenerator {  // dropped from any thread
 public:
  PythonGenerator(PyObject* o, Device d) : HeldGenerator(d), object_(Py_NewRef(o)) {}
  ~PythonGenerator() override {
    if (!python_lives()) return;
    GilAcquire gil;
    Py_DECREF(object_);
  }
  PyObject* object() const { return object_; }

 private:
  PyObject* object_;
};

Cell bits(double x) {
  Cell v;
  std::memcpy(&v, &x, sizeof v);
  return v;
}
double to_double(Cell v) {
  double x;
  std::memcpy(&x, &v, sizeof x);
  return x;
}

template <class T> T checked(T value) {
  if (value == T(-1) && PyErr_Occurred()) throw PythonError();
  return value;
}
PyObject* checked(PyObject* o) {
  if (!o) throw PythonError();
  return o;
}

[[noreturn]] void unsupported(const ArgType& t) {
  fail(Kind::NotImplemented, "values of type ", type_text(t), " cannot cross the stable C ABI");
}
[[noreturn]] void mismatch(PyObject* o, const ArgType& t) {
  fail(Kind::Type, "expected a value of type ", type_text(t), ", but got ", Py_TYPE(o)->tp_name);
}

Cell element_to_value(PyObject* o, const ArgType& t) {
  switch (t.base) {
    case ArgType::Tensor:
      if (!is_tensor(o)) mismatch(o, t);
      return reinterpret_cast<Cell>(abi::handle_of(Tensor(unwrap(o))));
    case ArgType::Int: return Cell(checked(PyLong_AsLongLong(o)));
    case ArgType::Float: return bits(checked(PyFloat_AsDouble(o)));
    case ArgType::Bool: return Cell(checked(PyObject_IsTrue(o)) != 0);
    case ArgType::Str: {
      Py_ssize_t n;
      const char* text = PyUnicode_AsUTF8AndSize(o, &n);
      if (!text) throw PythonError();
      return reinterpret_cast<Cell>(new std::string(text, size_t(n)));
    }
    case ArgType::ScalarType: return Cell(uint32_t(int32_t(dtype_of(o))));
    case ArgType::Device: return abi::from_device(device_of(o));
    case ArgType::Layout: {
      const int layout = layout_of(o);
      if (layout < 0) mismatch(o, t);
      return Cell(uint32_t(layout));
    }
    case ArgType::MemoryFormat: {
      MemoryFormat f;
      if (!memory_format_of(o, &f)) mismatch(o, t);
      return Cell(uint32_t(f));
    }
    case ArgType::Generator: {
      PyObject* device = PyObject_GetAttrString(o, "device");
      if (!device) throw PythonError();
      const Device d = device_of(device);
      Py_DECREF(device);
      auto* held = new PythonGenerator(o, d);
      held->retain();
      return reinterpret_cast<Cell>(static_cast<abi::HeldGenerator*>(held));
    }
    default: unsupported(t);
  }
}

Cell cell(Cell v) { return reinterpret_cast<Cell>(new Cell(v)); }

Cell list_to_value(PyObject* o, const ArgType& t) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) mismatch(o, t);
  auto list = std::make_unique<abi::List>();
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  list->reserve(size_t(n));
  try {
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* element = PySequence_Fast_GET_ITEM(o, i);
      if (t.element_optional)
        list->push_back(element == Py_None ? 0 : cell(element_to_value(element, t)));
      else
        list->push_back(element_to_value(element, t));
    }
  } catch (...) {
    ArgType plain = t;
    plain.optional = false;
    abi::release(plain, reinterpret_cast<Cell>(list.release()));
    throw;
  }
  return reinterpret_cast<Cell>(list.release());
}

PyObject* element_from_value(Cell v, const ArgType& t) {
  switch (t.base) {
    case ArgType::Tensor: return wrap(abi::steal(reinterpret_cast<abi::Handle>(v)));
    case ArgType::Int: return PyLong_FromLongLong(int64_t(v));
    case ArgType::Float:
    case ArgType::Scalar: return PyFloat_FromDouble(to_double(v));
    case ArgType::Bool: return PyBool_FromLong(uint8_t(v));
    case ArgType::Str: {
      std::unique_ptr<std::string> s(reinterpret_cast<std::string*>(v));
      CHECK(Kind::Runtime, s, "a null string handle was given");
      return PyUnicode_DecodeUTF8(s->data(), Py_ssize_t(s->size()), "surrogateescape");
    }
    case ArgType::ScalarType: return dtype_object(abi::make_dtype(int32_t(uint32_t(v))));
    case ArgType::Device: return device_object(abi::to_device(v));
    case ArgType::Layout:
      CHECK(Kind::Runtime, uint32_t(v) < 8, "layout ", uint32_t(v), " does not exist");
      return layout_object(int(uint32_t(v)));
    case ArgType::MemoryFormat:
      CHECK(Kind::Runtime, uint32_t(v) < 4, "memory format ", uint32_t(v), " does not exist");
      return memory_format_object(MemoryFormat(uint32_t(v)));
    case ArgType::Generator: {
      if (!v) Py_RETURN_NONE;
      auto held = Ref<PythonGenerator>::adopt(static_cast<PythonGenerator*>(reinterpret_cast<abi::HeldGenerator*>(v)));
      return Py_NewRef(held->object());
    }
    default: unsupported(t);
  }
}

PyObject* optional_from_value(Cell v, const ArgType& t) {
  if (!v) Py_RETURN_NONE;
  std::unique_ptr<Cell> owned(reinterpret_cast<Cell*>(v));
  return element_from_value(*owned, t);
}

PyObject* list_from_value(Cell v, const ArgType& t) {
  std::unique_ptr<abi::List> list(reinterpret_cast<abi::List*>(v));
  CHECK(Kind::Runtime, list, "a null list handle was given");
  const bool tensors = t.base == ArgType::Tensor;
  const auto n = Py_ssize_t(list->size());
  PyObject* result = tensors ? PyList_New(n) : PyTuple_New(n);
  std::string problem;
  for (Py_ssize_t i = 0; i < n; ++i) {  // every element is taken, whatever happens to one of them
    PyObject* o = nullptr;
    try {
      const Cell element = (*list)[size_t(i)];
      o = t.element_optional ? optional_from_value(element, t) : element_from_value(element, t);
    } catch (const Error& e) { problem = e.what(); }
    if (!o || !result) {
      Py_XDECREF(o);
      Py_CLEAR(result);
    } else if (tensors) {
      PyList_SET_ITEM(result, i, o);
    } else {
      PyTuple_SET_ITEM(result, i, o);
    }
  }
  CHECK(Kind::Runtime, problem.empty(), problem);
  return result;
}

}  // namespace

Cell to_value(PyObject* o, const ArgType& t) {
  if (t.optional && o == Py_None) return 0;
  const Cell v = t.list ? list_to_value(o, t) : element_to_value(o, t);
  return t.optional ? cell(v) : v;
}

PyObject* from_value(Cell v, const ArgType& t) {
  if (t.list && t.optional) {
    if (!v) Py_RETURN_NONE;
    std::unique_ptr<Cell> owned(reinterpret_cast<Cell*>(v));
    return checked(list_from_value(*owned, t));
  }
  if (t.list) return checked(list_from_value(v, t));
  return checked(t.optional ? optional_from_value(v, t) : element_from_value(v, t));
}

}  // namespace shim
