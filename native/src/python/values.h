#pragma once
// Between Python's objects and the values that kernels take and give (ops/value.h).
#include <memory>
#include <vector>

#include "ops/operator.h"
#include "ops/value.h"
#include "python/object.h"

namespace shim {

class Values {  // of bound arguments, which outlive them
 public:
  Values() = default;
  Values(PyObject* const* args, size_t n) : all_(room(n)) {
    for (size_t i = 0; i < n; ++i) put(all_[i], args[i]);
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  const Value* data() const { return all_; }
  Value of(PyObject* o) {
    Value v;
    put(v, o);
    return v;
  }

 private:
  [[gnu::always_inline]] void put(Value& v, PyObject* o) {
    if (is_tensor_exact(o)) {
      v.tag = Value::tensor;
      v.t = unwrap(o);
    } else if (o == Py_None) {
      v.tag = Value::none;
    } else if (PyFloat_CheckExact(o)) {
      v.tag = Value::real;
      v.f = PyFloat_AS_DOUBLE(o);
    } else {
      put_other(v, o);
    }
  }
  void put_other(Value&, PyObject*);
  void put_list(Value&, PyObject*);
  Value* room(size_t n) {
    if (used_ + n > kFew) return more_room(n);
    used_ += n;
    return reinterpret_cast<Value*>(few_) + used_ - n;
  }
  Value* more_room(size_t n);

  static constexpr size_t kFew = 24;
  size_t used_ = 0;
  Value* all_ = nullptr;
  std::unique_ptr<std::vector<std::unique_ptr<Value[]>>> more_;
  alignas(Value) std::byte few_[kFew * sizeof(Value)];
};

PyObject* tuple_of(
    std::span<PyObject* const> items);  // of references that it takes over; null where one of them is null
PyObject* object_of(Answer&&);          // a new reference; null where the kernel declined, or with an error set

// What the kernel gives. Null without an error set: it declined, the body (run) answers.
inline PyObject* run_native(KernelCall kernel, Operator& op, const Value* args) {
  return guarded([&]() -> PyObject* {
    Answer answer;
    kernel(op, args, answer);
    return object_of(std::move(answer));
  });
}

}  // namespace shim
