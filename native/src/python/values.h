#pragma once
// Between Python's objects and the values that kernels take and give (ops/value.h).
#include "core/report.h"
#include "ops/operator.h"
#include "ops/value.h"
#include "python/object.h"

namespace shim {

// Integers of one digit, which the interpreter keeps in the object itself.
#if PY_VERSION_HEX >= 0x030C0000
inline bool is_small_int(PyObject* o) { return PyUnstable_Long_IsCompact(reinterpret_cast<PyLongObject*>(o)); }
inline int64_t small_int(PyObject* o) { return PyUnstable_Long_CompactValue(reinterpret_cast<PyLongObject*>(o)); }
#else
inline bool is_small_int(PyObject* o) { return size_t(Py_SIZE(o) + 1) <= 2; }
inline int64_t small_int(PyObject* o) { return Py_SIZE(o) * int64_t(reinterpret_cast<PyLongObject*>(o)->ob_digit[0]); }
#endif

class Values {  // of bound arguments, which outlive them
 public:
  Values() = default;
  [[gnu::always_inline]] Values(PyObject* const* args, size_t n) {
    Value* v = all_ = room_.take(n);
    for (PyObject* const* end = args + n; args != end; ++args, ++v) put(*v, *args);
  }
  Value* data() const { return all_; }
  Value of(PyObject* o) {
    Value v;
    put(v, o);
    return v;
  }

 private:
  // What most arguments are stands here, the rest in put_other.
  [[gnu::always_inline]] void put(Value& v, PyObject* o) {
    v.origin = o;
    if (o == Py_None) {
      v.tag = Value::none;
    } else if (is_tensor_exact(o) || reinterpret_cast<PyObject*>(Py_TYPE(o)) == ParameterType) {
      v.tag = Value::tensor;
      v.width = Value::plain;
      v.t = unwrap(o);
    } else if (PyLong_CheckExact(o) && is_small_int(o)) {
      v.tag = Value::integer;
      v.width = Value::word;
      v.i = small_int(o);
    } else if (PyBool_Check(o)) {
      v.tag = Value::boolean;
      v.width = Value::word;
      v.i = o == Py_True;
    } else if (PyFloat_CheckExact(o)) {
      v.tag = Value::real;
      v.f = PyFloat_AS_DOUBLE(o);
    } else {
      put_other(v, o);
    }
  }
  void put_other(Value&, PyObject*);
  void put_list(Value&, PyObject*);
  void put_dict(Value&, PyObject*);
  void put_object(Value&, PyObject*);

  struct Inside;
  ValueRoom room_;
  Value* all_ = nullptr;
  const Inside* inside_ = nullptr;  // the lists and dicts whose elements are being read
};

PyObject* tuple_of(
    std::span<PyObject* const> items);  // of references that it takes over; null where one of them is null
PyObject* list_of(std::span<const Tensor>);
PyObject* object(const Fact&);      // a dict, a list, a tuple, a number or a text
PyObject* object_of(const Value&);  // a new reference; throws PythonError
PyObject* object_of(Answer&);       // takes it: a new reference; null where the kernel declined, or with an error set

}  // namespace shim
