#pragma once
// What crosses between an operator's call and its kernels: a bound argument, and what the kernel gives. Neither knows the interpreter
// that calls; python/values.h is where they meet it.
#include <new>

#include "ops/kernels.h"

namespace shim {

// A bound argument. It owns nothing: who binds the call keeps what it refers to.
struct Value {
  enum Tag : uint8_t {
    none,
    tensor,
    boolean,
    integer,
    real,
    complex,
    text,
    dtype,
    device,
    layout,
    memory_format,
    list,
    object
  };
  enum Width : uint8_t { word, unsigned_word, wider };

  Tag tag = none;
  Width width = word;  // of an integer: of 64 bits with a sign, of 64 bits without one, or of more
  uint32_t size = 0;   // of a text or a list
  union {
    int64_t i = 0;  // of booleans, dtypes, layouts and memory formats too
    double f;
    TensorImpl* t;
    Device where;
    const char* chars;
    const Value* items;
    void* held;  // an object that only the interpreter knows: a generator
  };
  double imag = 0;

  Value() : i(0) {}
  bool is_number() const { return tag >= boolean && tag <= complex; }
  Scalar number() const {  // of a number; Kind::Overflow where it is wider than a kernel's numbers
    if (tag == real) return {Scalar::Float, 0, f};
    if (tag == integer && width == word) return {Scalar::Int, i};
    return other_number();
  }
  Scalar other_number() const;
};

// Whether f(TensorImpl&) is true of a tensor among the arguments or in their lists; it is not asked about those after it.
template <class F> bool any_tensor(const Value* args, size_t n, F&& f) {
  for (const Value* v = args; v != args + n; ++v) {
    if (v->tag == Value::tensor && f(*v->t)) return true;
    if (v->tag == Value::list && any_tensor(v->items, v->size, f)) return true;
  }
  return false;
}

// What a kernel's call gave, filled as the last thing that it does. It is plain data, so that a call costs nothing to prepare or to
// clean up: who asked for it takes it, whole (take_tensor, or each of the parts and then drop_room).
struct Answer {
  enum Kind : uint8_t { declined, tensor, argument, boolean, integer, tuple, list } kind = declined;
  uint32_t room = 0;  // how many parts whoever asked has room for, at `parts`
  union {
    TensorImpl*
        t;      // `tensor`: a new reference, null for None; `argument`: one of the arguments, for which none is counted
    int64_t i;  // a number, or how many parts
  };
  Answer* parts;  // of a tuple or a list

  Answer() {}
  Tensor take_tensor() { return t ? Tensor::adopt(t) : Tensor(); }
  void make_room(size_t n) {
    parts = n > room ? new Answer[n] : new (parts) Answer[n];
    i = int64_t(n);
  }
  void drop_room() {
    if (size_t(i) > room) delete[] parts;
  }
};

}  // namespace shim
