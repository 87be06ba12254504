#pragma once
// What crosses between the interpreter and C++: a value, and what a kernel gives. Neither knows the interpreter; python/values.h is
// where they meet it. Recorded steps, the stable ABI's cells and those of extensions are made from values and read as values.
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "ops/kernels.h"
#include "ops/schema.h"

namespace shim {

// A bound argument, or whatever else comes from the interpreter or goes there. It owns nothing: who made it keeps what it refers to.
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
    object,
    // Only of what extensions take and give:
    tensors,  // a list that the interpreter can change, also where it is empty; others that hold no tensors are tuples there
    dict,   // `size` keys, each followed by its value
    stream  // i, of device `size`
  };
  // Of an integer: of 64 bits with a sign, of 64 bits without one, or of more. Of a tensor: of a class of its own, or not. Of a list
  // that a function of the interpreter gets or gave: a tuple, whatever it holds.
  enum Width : uint8_t { word, unsigned_word, wider, plain = word, subclass = wider, as_tuple = wider };

  Tag tag = none;
  Width width = word;
  uint32_t size = 0;  // of a text, a list or a dict
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
  void* origin = nullptr;  // what it was made of: the interpreter's object, lent; null where C++ made it

  Value() : i(0) {}
  Value(Tag t, int64_t number) : tag(t), i(number) {}
  Value(Tag t, uint32_t n, const Value* of) : tag(t), size(n), items(of) {}
  explicit Value(TensorImpl* t) : tag(t ? tensor : none), t(t) {}
  explicit Value(double d) : tag(real), f(d) {}
  explicit Value(Device d) : tag(device), where(d) {}
  explicit Value(std::string_view s) : tag(text), size(uint32_t(s.size())), chars(s.data()) {}
  explicit Value(const Scalar&);
  bool is_tensor() const { return tag == tensor; }
  bool is_tuple() const { return tag == list && width == as_tuple; }
  bool is_number() const { return tag >= boolean && tag <= complex; }
  Scalar number() const {  // of a number; Kind::Overflow where it is wider than a kernel's numbers
    if (tag == real) return {Scalar::Float, 0, f};
    if (tag == integer && width == word) return {Scalar::Int, i};
    return other_number();
  }
  Scalar other_number() const;
  const char* type_name() const;  // as Python calls it
};

class ValueRoom;
Value default_of(const Argument&, ValueRoom&);  // of an argument that has one

inline Value tensor_value(const Tensor& t) {  // of one that may be of a class of its own
  Value v(t.get());
  v.width = Value::subclass;
  return v;
}

inline Value tuple_value(std::span<const Value> items) {
  Value all(Value::list, uint32_t(items.size()), items.data());
  all.width = Value::as_tuple;
  return all;
}

// Memory for the values of lists, which lives as long as this.
class ValueRoom {
 public:
  ValueRoom() = default;
  ValueRoom(const ValueRoom&) = delete;
  ValueRoom& operator=(const ValueRoom&) = delete;
  Value* take(size_t n) {
    if (used_ + n > kFew) return take_more(n);
    used_ += n;
    return reinterpret_cast<Value*>(few_) + used_ - n;
  }

 private:
  Value* take_more(size_t n);

  static constexpr size_t kFew = 24;
  size_t used_ = 0;
  std::unique_ptr<std::vector<std::unique_ptr<Value[]>>> more_;
  alignas(Value) std::byte few_[kFew * sizeof(Value)];
};

// Whether f(TensorImpl&) is true of a tensor among the arguments or in their lists; it is not asked about those after it.
template <class F> bool any_tensor(const Value* args, size_t n, F&& f) {
  for (const Value* v = args; v != args + n; ++v) {
    if (v->tag == Value::tensor && f(*v->t)) return true;
    if (v->tag == Value::list && any_tensor(v->items, v->size, f)) return true;
  }
  return false;
}

template <class F> void each_tensor(const Value* args, size_t n, F&& f) {
  any_tensor(args, n, [&](TensorImpl& t) { return f(t), false; });
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
