#pragma once
// From a bound argument to a typed kernel's parameter: one Parameter<T> a C++ type. Those of tensors.
//   fits(argument)   whether the kernel's type serves this argument of a schema; asked once, when an operator is defined
//   take(v, r)       reads the argument; false: not this kernel's, with the reason where it is one to count
//   value()          what the kernel gets; lives as long as the call
// Tensors are lent: the caller's objects keep them alive, and no reference is counted.
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>

#include "autograd/autograd.h"
#include "ops/kernel.h"
#include "ops/operator.h"
#include "ops/value.h"

namespace shim {

// Whether the tensor's class overrides functions or handles operators.
inline bool acts_for_itself(const TensorImpl& t) {
  return SubclassOps::is_special(t) || (SubclassOps::overrides && SubclassOps::overrides(t));
}

inline bool is_on(Device d, On on) { return on == On::any || (on == On::cpu ? d.is_cpu() : d.is_cuda()); }
inline bool is_on(const TensorImpl& t, On on) { return is_on(t.device(), on); }

struct Reading {
  On on = On::any;            // whose tensors the kernel takes
  const char* why = nullptr;  // a literal
};
template <class T> struct Parameter;

// A tensor that the caller keeps alive: a Tensor that counts no reference.
class BorrowedTensor {
 public:
  BorrowedTensor() = default;
  explicit BorrowedTensor(TensorImpl* t) : t_(t) {}
  operator const Tensor&() const {
    static_assert(sizeof(Tensor) == sizeof(TensorImpl*));
    return reinterpret_cast<const Tensor&>(t_);
  }

 private:
  TensorImpl* t_ = nullptr;
};

template <> struct Parameter<const Tensor&> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Tensor && !a.type.list; }
  bool take(const Value& v, Reading& r) {
    if (__builtin_expect(v.tag != Value::tensor, 0))
      return r.why = v.tag == Value::none ? "no tensor" : "a number in a tensor's place", false;
    tensor_ = BorrowedTensor(v.t);
    return is_on(*v.t, r.on);  // others' tensors are nothing to count
  }
  const Tensor& value() const { return tensor_; }

 private:
  BorrowedTensor tensor_;
};

template <> struct Parameter<PlainTensor> {
  static bool fits(const Argument& a) { return Parameter<const Tensor&>::fits(a); }
  bool take(const Value& v, Reading& r) {
    return tensor_.take(v, r) &&
           (v.width == Value::plain || !acts_for_itself(*v.t) || (r.why = "a tensor of a subclass", false));
  }
  PlainTensor value() const { return {tensor_.value()}; }

 private:
  Parameter<const Tensor&> tensor_;
};

template <> struct Parameter<const OptionalTensor&> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Tensor && !a.type.list; }
  bool take(const Value& v, Reading& r) {
    if (v.tag == Value::none) return true;
    if (v.tag != Value::tensor) return r.why = "a number in a tensor's place", false;
    new (&tensor_) OptionalTensor(Tensor::adopt(v.t));
    return is_on(*v.t, r.on);
  }
  const OptionalTensor& value() const { return tensor_; }
  Parameter() : tensor_() {}
  ~Parameter() {}  // what is lent was never counted

 private:
  union {
    OptionalTensor tensor_;
  };
};

template <> struct Parameter<const TensorOrScalar&> {
  static bool fits(const Argument& a) {
    return (a.type.base == ArgType::Tensor || a.type.base == ArgType::Scalar) && !a.type.list;
  }
  bool take(const Value& v, Reading& r) {
    if (v.is_number()) return either_.number = v.number(), true;
    if (v.tag != Value::tensor) return r.why = "neither a tensor nor a number", false;
    either_.tensor = v.t;
    return is_on(*either_.tensor, r.on) || is_cpu_scalar(*either_.tensor);
  }
  const TensorOrScalar& value() const { return either_; }

 private:
  TensorOrScalar either_;
};

// Within std::optional, which holds no reference.
template <> struct Parameter<TensorOrScalar> : Parameter<const TensorOrScalar&> {};

template <class Element> struct TensorsParameter {
  static constexpr bool optional = std::is_same_v<Element, OptionalTensor>;
  static bool fits(const Argument& a) {
    return a.type.base == ArgType::Tensor && a.type.list && (optional || !a.type.element_optional);
  }
  [[gnu::noinline]] bool take(const Value& v, Reading& r) {
    if (v.tag != Value::list) return r.why = "no list of tensors", false;
    size_ = v.size;
    if (size_ > kFew) many_ = std::make_unique<Place[]>(size_);
    for (size_t i = 0; i < size_; ++i) {
      const Value& item = v.items[i];
      if (item.tag != Value::tensor) {
        if (!optional || item.tag != Value::none) return r.why = "no tensor in a list of them", false;
        new (places() + i) Element();
        continue;
      }
      if (!is_on(*item.t, r.on)) return i && (r.why = "tensors of several devices"), false;
      new (places() + i) Element(Tensor::adopt(item.t));  // lent: never counted, never destroyed
    }
    return true;
  }
  std::span<const Element> value() const {
    return {std::launder(reinterpret_cast<const Element*>(size_ > kFew ? many_.get() : few_)), size_};
  }

 private:
  struct alignas(Element) Place {
    std::byte bytes[sizeof(Element)];
  };
  static constexpr size_t kFew = 8;
  Place* places() { return size_ > kFew ? many_.get() : few_; }
  size_t size_ = 0;
  Place few_[kFew];
  std::unique_ptr<Place[]> many_;
};
template <> struct Parameter<TensorList> : TensorsParameter<Tensor> {};
template <> struct Parameter<OptionalTensorList> : TensorsParameter<OptionalTensor> {};

}  // namespace shim
