#pragma once
// Values as the interpreter's objects, for calls of its code, and what those give as an operator's result.
#include "ops/result.h"
#include "python/owned_ref.h"
#include "python/values.h"

namespace shim {

// What values were made of, or objects made for them, while this lives.
class LentObjects {
 public:
  LentObjects(const Operator& op, const Value* args, size_t n) {
    if (n > kInline) more_.resize(n);
    data_ = n > kInline ? more_.data() : few_;
    for (size_t i = 0; i < n; ++i)
      data_[i] = args[i].origin ? static_cast<PyObject*>(args[i].origin) : made(op, i, args[i]);
  }
  LentObjects(const LentObjects&) = delete;
  PyObject** data() { return data_; }

 private:
  static constexpr size_t kInline = 16;
  PyObject* made(const Operator&, size_t i, const Value&);

  PyObject* few_[kInline];
  PyObject** data_;
  std::vector<PyObject*> more_;
  std::vector<OwnedRef> made_;
};

void hold(Result&, PyObject* object);  // steals; throws PythonError for null
PyObject* object_of(Result&);          // takes it: a new reference
inline PyObject* object_in(const Result& r) { return static_cast<PyObject*>(r.object()); }  // lent; null: C++ gave it

// What a function over values gives for objects; null with an error.
template <class F> PyObject* by_values(F&& f, Operator& op, PyObject* const* args, size_t n) {
  return guarded([&]() -> PyObject* {
    const Values values(args, n);
    Result r;
    f(op, values.data(), n, r);
    return object_of(r);
  });
}

}  // namespace shim
