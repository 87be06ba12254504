#include "python/stable_values.h"

#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>

namespace shim {
namespace {

using abi::Value;

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

Value bits(double x) {
  Value v;
  std::memcpy(&v, &x, sizeof v);
  return v;
}
double to_double(Value v) {
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

Value element_to_value(PyObject* o, const ArgType& t) {
  switch (t.base) {
    case ArgType::Tensor:
      if (!is_tensor(o)) mismatch(o, t);
      return reinterpret_cast<Value>(abi::handle_of(Tensor(unwrap(o))));
    case ArgType::Int: return Value(checked(PyLong_AsLongLong(o)));
    case ArgType::Float: return bits(checked(PyFloat_AsDouble(o)));
    case ArgType::Bool: return Value(checked(PyObject_IsTrue(o)) != 0);
    case ArgType::Str: {
      Py_ssize_t n;
      const char* text = PyUnicode_AsUTF8AndSize(o, &n);
      if (!text) throw PythonError();
      return reinterpret_cast<Value>(new std::string(text, size_t(n)));
    }
    case ArgType::ScalarType: return Value(uint32_t(int32_t(dtype_of(o))));
    case ArgType::Device: return abi::from_device(device_of(o));
    case ArgType::Layout: {
      const int layout = layout_of(o);
      if (layout < 0) mismatch(o, t);
      return Value(uint32_t(layout));
    }
    case ArgType::MemoryFormat: {
      MemoryFormat f;
      if (!memory_format_of(o, &f)) mismatch(o, t);
      return Value(uint32_t(f));
    }
    case ArgType::Generator: {
      PyObject* device = PyObject_GetAttrString(o, "device");
      if (!device) throw PythonError();
      const Device d = device_of(device);
      Py_DECREF(device);
      auto* held = new PythonGenerator(o, d);
      held->retain();
      return reinterpret_cast<Value>(static_cast<abi::HeldGenerator*>(held));
    }
    default: unsupported(t);
  }
}

Value cell(Value v) { return reinterpret_cast<Value>(new Value(v)); }

Value list_to_value(PyObject* o, const ArgType& t) {
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
    abi::release(plain, reinterpret_cast<Value>(list.release()));
    throw;
  }
  return reinterpret_cast<Value>(list.release());
}

PyObject* element_from_value(Value v, const ArgType& t) {
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

PyObject* optional_from_value(Value v, const ArgType& t) {
  if (!v) Py_RETURN_NONE;
  std::unique_ptr<Value> owned(reinterpret_cast<Value*>(v));
  return element_from_value(*owned, t);
}

PyObject* list_from_value(Value v, const ArgType& t) {
  std::unique_ptr<abi::List> list(reinterpret_cast<abi::List*>(v));
  CHECK(Kind::Runtime, list, "a null list handle was given");
  const bool tensors = t.base == ArgType::Tensor;
  const auto n = Py_ssize_t(list->size());
  PyObject* result = tensors ? PyList_New(n) : PyTuple_New(n);
  std::string problem;
  for (Py_ssize_t i = 0; i < n; ++i) {  // every element is taken, whatever happens to one of them
    PyObject* o = nullptr;
    try {
      const Value element = (*list)[size_t(i)];
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

Value to_value(PyObject* o, const ArgType& t) {
  if (t.optional && o == Py_None) return 0;
  const Value v = t.list ? list_to_value(o, t) : element_to_value(o, t);
  return t.optional ? cell(v) : v;
}

PyObject* from_value(Value v, const ArgType& t) {
  if (t.list && t.optional) {
    if (!v) Py_RETURN_NONE;
    std::unique_ptr<Value> owned(reinterpret_cast<Value*>(v));
    return checked(list_from_value(*owned, t));
  }
  if (t.list) return checked(list_from_value(v, t));
  return checked(t.optional ? optional_from_value(v, t) : element_from_value(v, t));
}

namespace {

// A returned ScalarType, Layout or MemoryFormat is a plain number for Python, as with PyTorch.
ArgType returned_type(const ArgType& t, Value v) {
  if (t.base != ArgType::ScalarType && t.base != ArgType::Layout && t.base != ArgType::MemoryFormat) return t;
  if (t.list) return t;
  if (t.optional && v) *reinterpret_cast<Value*>(v) = Value(int64_t(int32_t(*reinterpret_cast<Value*>(v))));
  ArgType number = t;
  number.base = ArgType::Int;
  return number;
}

// What a kernel returned, as Python sees it: None, one value or a tuple; numbers' lists become lists.
PyObject* returned(const Schema& s, const Value* stack) {
  const size_t n = s.returns.size();
  PyObject* all = PyTuple_New(Py_ssize_t(n));
  bool failed = !all;
  std::string problem;
  for (size_t i = 0; i < n; ++i) {
    PyObject* o = nullptr;
    try {
      const ArgType type = returned_type(s.returns[i].type, stack[i]);
      const bool narrow = type.base != s.returns[i].type.base && !type.optional;
      o = from_value(narrow ? Value(int64_t(int32_t(stack[i]))) : stack[i], type);
      if (PyTuple_CheckExact(o)) Py_SETREF(o, PySequence_List(o));
    } catch (const Error& e) { problem = e.what(); } catch (const PythonError&) {
    }
    failed |= !o;
    if (all)
      PyTuple_SET_ITEM(all, Py_ssize_t(i), o ? o : Py_NewRef(Py_None));
    else
      Py_XDECREF(o);
  }
  if (failed) {
    Py_XDECREF(all);
    if (!problem.empty()) fail(Kind::Runtime, s.qualified(), ": ", problem);
    throw PythonError();
  }
  if (n == 1) {
    PyObject* only = Py_NewRef(PyTuple_GET_ITEM(all, 0));
    Py_DECREF(all);
    return only;
  }
  if (n == 0) {
    Py_DECREF(all);
    Py_RETURN_NONE;
  }
  return all;
}

// The kernel's own text. Wheels of before 2.13 say only which call failed; the reason is added.
std::string failure_text(const char* what) {
  std::string text = what;
  const std::string& reason = abi::last_error();
  if (!reason.empty() && text.find(reason) == std::string::npos) text += "\n" + reason;
  return text;
}

// The standard library's exceptions as PyTorch's Python calls give them: torchcodec ends an iteration by out_of_range.
PyObject* exception_type(const std::exception& e) {
  if (dynamic_cast<const std::bad_alloc*>(&e)) return PyExc_MemoryError;
  if (dynamic_cast<const std::out_of_range*>(&e)) return PyExc_IndexError;
  if (dynamic_cast<const std::overflow_error*>(&e)) return PyExc_OverflowError;
  const bool value = dynamic_cast<const std::domain_error*>(&e) || dynamic_cast<const std::invalid_argument*>(&e) ||
                     dynamic_cast<const std::length_error*>(&e) || dynamic_cast<const std::range_error*>(&e);
  return value ? PyExc_ValueError : PyExc_RuntimeError;
}

}  // namespace

PyObject* call_stable(const Schema& s, abi::Kernel kernel, PyObject* const* args, size_t n) {
  constexpr size_t kInline = 24;
  const size_t cells = std::max(n, s.returns.size());
  Value inline_stack[kInline];
  std::vector<Value> heap(cells > kInline ? cells : 0);
  Value* stack = cells > kInline ? heap.data() : inline_stack;
  size_t done = 0;
  try {
    for (; done < n; ++done) stack[done] = to_value(args[done], s.args[done].type);
  } catch (...) {
    abi::release_arguments(s, stack, done);
    throw;
  }
  std::string problem;
  PyObject* failed = nullptr;
  {
    GilRelease released;
    abi::clear_last_error();
    try {
      kernel(stack, n, s.returns.size());
    } catch (const std::exception& e) {
      failed = exception_type(e);
      problem = failure_text(e.what());
    } catch (...) {
      failed = PyExc_RuntimeError;
      problem = failure_text("the kernel threw an exception that is no std::exception");
    }
  }
  if (failed) {
    if (!raise_interrupt()) PyErr_SetString(failed, problem.c_str());
    throw PythonError();
  }
  return returned(s, stack);
}

}  // namespace shim
