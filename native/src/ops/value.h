#pragma once
// What crosses between an operator's call and its kernels: a bound argument, and what the kernel gives. Neither knows the interpreter
// that calls; python/values.h is where they meet it.
#include <memory>

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
  Scalar number() const;  // of a number; Kind::Overflow where it is wider than a kernel's numbers
};

// Whether f(TensorImpl&) is true of a tensor among the arguments or in their lists; it is not asked about those after it.
template <class F> bool any_tensor(const Value* args, size_t n, F&& f) {
  for (const Value* v = args; v != args + n; ++v) {
    if (v->tag == Value::tensor && f(*v->t)) return true;
    if (v->tag == Value::list && any_tensor(v->items, v->size, f)) return true;
  }
  return false;
}

// What a kernel's call gave.
struct Answer {
  enum Kind : uint8_t { declined, tensor, argument, boolean, integer, tuple, list } kind = declined;
  Tensor made;                      // a new tensor; null: None
  TensorImpl* given = nullptr;      // one of the arguments, for which no reference is counted
  int64_t i = 0;                    // a number, or how many parts
  std::unique_ptr<Answer[]> parts;  // of a tuple or a list: `i` of them
};

}  // namespace shim
