#pragma once
// From Python's call arguments to the bound arguments of a schema: one PyObject* an argument, defaults filled in.
#include <vector>

#include "ops/binding.h"
#include "python/operator.h"
#include "python/object.h"

namespace shim {

class Bound {  // owns its references
 public:
  Bound() = default;
  Bound(const Bound&) = delete;
  ~Bound() { clear(); }
  void reset(size_t n) {
    clear();
    if (n > kInline)
      heap_.assign(n, nullptr);
    else
      std::fill_n(inline_, n, nullptr);
    size_ = n;
  }
  PyObject** data() { return size_ > kInline ? heap_.data() : inline_; }
  size_t size() const { return size_; }
  void set(size_t i, PyObject* owned) { Py_XSETREF(data()[i], owned); }
  bool overloaded = false;     // an argument may have a say through __torch_function__
  bool requires_grad = false;  // factories: requires_grad=True was given

 private:
  static constexpr size_t kInline = 16;
  void clear() {
    PyObject** d = data();
    for (size_t i = 0; i < size_; ++i) Py_XDECREF(d[i]);
    size_ = 0;
  }
  size_t size_ = 0;
  PyObject* inline_[kInline];
  std::vector<PyObject*> heap_;
};

struct CallArgs {  // the vectorcall convention
  PyObject* const* args;
  size_t nargs;
  PyObject* kwnames;  // tuple or null
  size_t nkw() const { return kwnames ? size_t(PyTuple_GET_SIZE(kwnames)) : 0; }
  PyObject* kwname(size_t i) const { return PyTuple_GET_ITEM(kwnames, i); }
  PyObject* kwvalue(size_t i) const { return args[nargs + i]; }
};

// The first overload that takes the arguments, in declaration order; null with TypeError set in PyTorch's words.
Operator* bind_arguments(const std::vector<Operator*>& candidates, const char* name, Form, const CallArgs&, Bound&);

Fit convert_argument(const Argument&, const Slot&, PyObject* value, size_t position, Bound&, PyObject** out);

extern thread_local const char* binding_name;  // the function whose arguments are bound, for error texts

using Failure = BindingFailure<PyObject*>;
Fit bind_one(Operator&, Form, const CallArgs&, Bound&, Failure&);
void set_binding_error(const std::vector<Operator*>& candidates, const char* name, Form, const CallArgs&);
void raise_unreadable(
    const Argument&, PyObject* value);  // PyTorch's words for an int beyond 64 bits, a string without UTF-8
bool readable_int(PyObject*);           // of 64 bits
bool readable_text(PyObject*);          // has UTF-8
bool has_torch_function(PyObject*);     // torch_function.cpp

}  // namespace shim
