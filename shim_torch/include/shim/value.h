#pragma once
// c10::IValue, and instances of custom classes: values whose type is known when the program runs.
#include <shim/ivalue.h>

namespace torch {
struct CustomClassHolder {  // what torch::class_ is told of derives from it
  virtual ~CustomClassHolder() = default;
};
}  // namespace torch

namespace c10 {
class IValue;
}
namespace shim {

ShimCell copied_cell(const ShimCell&);
template <class T> ShimCell copied_list(const ShimCell& c, uint32_t n) {
  ShimCell made = copied(c.tag, static_cast<const T*>(c.p), n);
  made.n = c.n;
  made.im = c.im;
  return made;
}
inline ShimCell copied_cell(const ShimCell& c) {  // owned, of one that is borrowed
  switch (c.tag) {
    case SHIM_TENSOR: return boxed(tensor_of(c));
    case SHIM_TENSORS: return boxed(at::TensorList(static_cast<const at::Tensor*>(c.p), c.n));
    case SHIM_STRING: return boxed(std::string(static_cast<const char*>(c.p), c.n));
    case SHIM_INTS: return copied_list<int64_t>(c, c.n);
    case SHIM_DOUBLES: return copied_list<double>(c, c.n);
    case SHIM_BOOLS: return copied_list<uint8_t>(c, c.n);
    case SHIM_LIST:
    case SHIM_DICT: {
      const uint32_t n = c.tag == SHIM_DICT ? 2 * c.n : c.n;
      ShimCell made = copied_list<ShimCell>(c, n);
      auto* cells = static_cast<ShimCell*>(const_cast<void*>(made.p));
      for (uint32_t i = 0; i < n; ++i) cells[i] = copied_cell(cells[i]);
      return made;
    }
    case SHIM_OBJECT: {
      ShimCell made{};
      check(shim_cxx_python("same", &c, 1, &made));
      return made;
    }
    default: return c;
  }
}
template <class T, std::enable_if_t<std::is_base_of_v<torch::CustomClassHolder, T>, int> = 0>
ShimCell boxed(const std::shared_ptr<T>& held) {
  using Holder = std::shared_ptr<torch::CustomClassHolder>;
  auto holder = std::make_unique<Holder>(held);
  ShimCell made{};
  check(shim_cxx_holder(holder.get(), [](void* p) { delete static_cast<Holder*>(p); }, typeid(T).name(), &made));
  holder.release();
  return made;
}
template <class T> struct Unboxed<std::shared_ptr<T>> {
  static_assert(std::is_base_of_v<torch::CustomClassHolder, T>, "a value that is no custom class's");
  static std::shared_ptr<T> from(const ShimCell& c) {
    void* holder = nullptr;
    check(shim_cxx_held(&c, typeid(T).name(), &holder));
    return std::static_pointer_cast<T>(*static_cast<std::shared_ptr<torch::CustomClassHolder>*>(holder));
  }
  static std::string schema() { return python<std::string>("class_name", std::string_view(typeid(T).name())); }
};
ShimCell boxed(const c10::IValue&);
// Lists of anything else.
template <class T> ShimCell boxed(const std::vector<T>& v) {
  auto* cells = static_cast<ShimCell*>(allocated(v.size() * sizeof(ShimCell)));
  size_t n = 0;
  for (auto&& one : v) cells[n++] = boxed(static_cast<T>(one));
  return pointer_cell(SHIM_LIST, cells, n);
}
template <class... T> ShimCell boxed(const std::tuple<T...>& t) {
  auto* cells = static_cast<ShimCell*>(allocated(sizeof...(T) * sizeof(ShimCell)));
  size_t n = 0;
  std::apply([&](auto&... v) { ((cells[n++] = boxed(v)), ...); }, t);
  ShimCell made = pointer_cell(SHIM_LIST, cells, n);
  made.im = SHIM_TUPLE;
  return made;
}
template <class K, class V> ShimCell boxed(const std::unordered_map<K, V>& m) {
  c10::Dict<K, V> all;
  for (auto& [key, value] : m) all.insert(key, value);
  return boxed(all);
}

}  // namespace shim

namespace c10 {

class IValue;
namespace ivalue {
struct Tuple {
  static std::shared_ptr<Tuple> create(std::vector<IValue> elements);
  template <class... A> static std::shared_ptr<Tuple> create(A&&... elements);
  const std::vector<IValue>& elements() const { return elements_; }
  size_t size() const;
  std::vector<IValue> elements_;
};
}  // namespace ivalue

class IValue {  // owns its cell; copies share it
 public:
  IValue() = default;
  IValue(std::nullopt_t) {}
  IValue(const at::Tensor& t) : IValue(Own{}, shim::boxed(t)) {}
  IValue(const std::string& s) : IValue(Own{}, shim::boxed(s)) {}
  IValue(const char* s) : IValue(std::string(s)) {}
  IValue(std::string_view s) : IValue(std::string(s)) {}
  IValue(IntArrayRef a) : IValue(Own{}, shim::boxed(a)) {}
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  IValue(T v) : IValue(Own{}, Scalar(v).cell()) {}
  IValue(const Scalar& v) : IValue(Own{}, v.cell()) {}
  template <class T> IValue(complex<T> v) : IValue(Scalar(v)) {}
  IValue(ScalarType t) : IValue(Own{}, shim::cell(int64_t(t))) {}
  IValue(Device d) : IValue(Own{}, shim::cell(d)) {}
  template <class T> IValue(const std::optional<T>& v) { *this = v ? IValue(*v) : IValue(); }
  template <class T> IValue(const std::vector<T>& v) : IValue(Own{}, shim::boxed(v)) {}
  template <class T> IValue(const List<T>& v) : IValue(v.vec()) {}
  template <class K, class V> IValue(const Dict<K, V>& v) : IValue(Own{}, shim::boxed(v)) {}
  template <class K, class V> IValue(const std::unordered_map<K, V>& v) : IValue(Own{}, shim::boxed(v)) {}
  template <class... T> IValue(const std::tuple<T...>& v) : IValue(Own{}, shim::boxed(v)) {}
  IValue(const std::shared_ptr<ivalue::Tuple>& t);
  template <class T, std::enable_if_t<std::is_base_of_v<torch::CustomClassHolder, T>, int> = 0>
  IValue(const std::shared_ptr<T>& v) : IValue(Own{}, shim::boxed(v)) {}
  static IValue shim_adopt(const ShimCell& owned) { return IValue(Own{}, owned); }
  ShimCell shim_cell() const { return held_ ? *held_ : shim::none_cell(); }

  bool isNone() const { return tag() == SHIM_NONE; }
  bool isTensor() const { return tag() == SHIM_TENSOR; }
  bool isInt() const { return tag() == SHIM_INT; }
  bool isDouble() const { return tag() == SHIM_DOUBLE; }
  bool isBool() const { return tag() == SHIM_BOOL; }
  bool isComplexDouble() const { return tag() == SHIM_COMPLEX; }
  bool isScalar() const { return isInt() || isDouble() || isBool() || isComplexDouble(); }
  bool isString() const { return tag() == SHIM_STRING; }
  bool isDevice() const { return tag() == SHIM_DEVICE; }
  bool isIntList() const { return tag() == SHIM_INTS; }
  bool isDoubleList() const { return tag() == SHIM_DOUBLES; }
  bool isBoolList() const { return tag() == SHIM_BOOLS; }
  bool isTensorList() const { return tag() == SHIM_TENSORS; }
  bool isTuple() const { return tag() == SHIM_LIST && held_->im == SHIM_TUPLE; }
  bool isList() const {
    return isIntList() || isDoubleList() || isBoolList() || isTensorList() || (tag() == SHIM_LIST && !isTuple());
  }
  bool isGenericDict() const { return tag() == SHIM_DICT; }
  bool isCustomClass() const { return tag() == SHIM_OBJECT; }
  std::string tagKind() const {
    const std::pair<bool, const char*> kinds[] = {{isNone(), "None"}, {isTensor(), "Tensor"}, {isInt(), "Int"},
        {isDouble(), "Double"}, {isBool(), "Bool"}, {isComplexDouble(), "ComplexDouble"}, {isString(), "String"},
        {isDevice(), "Device"}, {isTuple(), "Tuple"}, {isList(), "GenericList"}, {isGenericDict(), "GenericDict"}};
    for (auto& [is, name] : kinds)
      if (is) return name;
    return "Object";
  }

  at::Tensor toTensor() const { return wanted<at::Tensor>(isTensor(), "Tensor"); }
  int64_t toInt() const { return wanted<int64_t>(isInt(), "Int"); }
  int64_t toSymInt() const { return toInt(); }
  double toDouble() const { return wanted<double>(isDouble(), "Double"); }
  bool toBool() const { return wanted<bool>(isBool(), "Bool"); }
  std::string toStringRef() const { return wanted<std::string>(isString(), "String"); }
  Scalar toScalar() const { return wanted<Scalar>(isScalar(), "Scalar"); }
  Device toDevice() const { return wanted<Device>(isDevice(), "Device"); }
  ScalarType toScalarType() const { return ScalarType(toInt()); }
  List<int64_t> toIntList() const { return list<List<int64_t>>(isIntList(), "IntList"); }
  std::vector<int64_t> toIntVector() const { return list<std::vector<int64_t>>(isIntList(), "IntList"); }
  std::vector<int64_t> toDimVector() const { return toIntVector(); }
  List<double> toDoubleList() const { return list<List<double>>(isDoubleList(), "DoubleList"); }
  std::vector<double> toDoubleVector() const { return list<std::vector<double>>(isDoubleList(), "DoubleList"); }
  List<bool> toBoolList() const { return list<List<bool>>(isBoolList(), "BoolList"); }
  List<at::Tensor> toTensorList() const { return list<List<at::Tensor>>(isTensorList(), "TensorList"); }
  std::vector<at::Tensor> toTensorVector() const { return list<std::vector<at::Tensor>>(isTensorList(), "TensorList"); }
  std::vector<IValue> toListRef() const;
  List<IValue> toList() const { return List<IValue>(toListRef()); }
  std::shared_ptr<ivalue::Tuple> toTuple() const;
  Dict<IValue, IValue> toGenericDict() const;
  template <class T> std::shared_ptr<T> toCustomClass() const {
    return wanted<std::shared_ptr<T>>(isCustomClass(), "Object");
  }
  template <class T> T to() const {
    if constexpr (std::is_same_v<T, IValue>)
      return *this;
    else
      return shim::Unboxed<T>::from(shim_cell());
  }
  template <class T> std::optional<T> toOptional() const { return to<std::optional<T>>(); }
  bool operator==(const IValue& o) const;

 private:
  struct Own {};
  IValue(Own, ShimCell c) : held_(shim::object_taken(c).held) {}
  uint32_t tag() const { return held_ ? held_->tag : uint32_t(SHIM_NONE); }
  template <class T> T list(bool is, const char* name) const {  // an empty list is one of any
    return wanted<T>(is || (tag() == SHIM_LIST && held_->n == 0), name);
  }
  template <class T> T wanted(bool is, const char* name) const {
    TORCH_CHECK(is, "Expected ", name, " but got ", tagKind());
    return shim::Unboxed<T>::from(shim_cell());
  }
  std::shared_ptr<ShimCell> held_;
};

}  // namespace c10

namespace shim {
template <> struct Unboxed<c10::IValue> {
  static c10::IValue from(const ShimCell& c) { return c10::IValue::shim_adopt(copied_cell(c)); }
  static std::string schema() { return "Any"; }
};
inline ShimCell boxed(const c10::IValue& v) { return copied_cell(v.shim_cell()); }
inline ShimCell cell(const c10::IValue& v) { return v.shim_cell(); }
template <> struct Taken<c10::IValue> {
  static c10::IValue from(ShimCell& c) { return c10::IValue::shim_adopt(std::exchange(c, ShimCell{})); }
};
}  // namespace shim
template <> struct std::hash<c10::IValue> {  // of keys of dicts
  size_t operator()(const c10::IValue& v) const {
    return v.isString() ? std::hash<std::string>()(v.toStringRef()) : v.isInt() ? std::hash<int64_t>()(v.toInt()) : 0;
  }
};

namespace c10 {

inline std::vector<IValue> IValue::toListRef() const {
  TORCH_CHECK(isList() || isTuple(), "Expected GenericList but got ", tagKind());
  return shim::elements_of<IValue>(shim_cell());
}
inline Dict<IValue, IValue> IValue::toGenericDict() const {
  return wanted<Dict<IValue, IValue>>(isGenericDict(), "GenericDict");
}
inline std::shared_ptr<ivalue::Tuple> ivalue::Tuple::create(std::vector<IValue> elements) {
  return std::make_shared<Tuple>(Tuple{std::move(elements)});
}
template <class... A> std::shared_ptr<ivalue::Tuple> ivalue::Tuple::create(A&&... elements) {
  return create(std::vector<IValue>{IValue(std::forward<A>(elements))...});
}
inline size_t ivalue::Tuple::size() const { return elements_.size(); }
inline IValue::IValue(const std::shared_ptr<ivalue::Tuple>& t) : IValue(t->elements()) { held_->im = SHIM_TUPLE; }
inline std::shared_ptr<ivalue::Tuple> IValue::toTuple() const {
  TORCH_CHECK(isTuple(), "Expected Tuple but got ", tagKind());
  return ivalue::Tuple::create(toListRef());
}
inline bool IValue::operator==(const IValue& o) const {
  if (tag() != o.tag()) return false;
  if (isString()) return toStringRef() == o.toStringRef();
  if (isScalar() && !isComplexDouble()) return toScalar().toDouble() == o.toScalar().toDouble();
  if (isNone()) return true;
  const IValue same = shim::python<IValue>("equal", *this, o);
  return same.toBool();
}
inline std::ostream& operator<<(std::ostream& out, const IValue& v) {
  auto all = [&](const char* opens, const std::vector<IValue>& values, const char* closes) -> std::ostream& {
    out << opens;
    for (size_t i = 0; i < values.size(); ++i) out << (i ? ", " : "") << values[i];
    return out << closes;
  };
  if (v.isNone()) return out << "None";
  if (v.isTensor()) return out << v.toTensor();
  if (v.isString()) return out << v.toStringRef();
  if (v.isDevice()) return out << v.toDevice();
  if (v.isDouble() && v.toDouble() == std::floor(v.toDouble()) && std::abs(v.toDouble()) < 1e10)
    return out << int64_t(v.toDouble()) << ".";
  if (v.isBool()) return out << (v.toBool() ? "True" : "False");
  if (v.isScalar()) return out << v.toScalar();
  if (v.isTuple()) return all("(", v.toListRef(), ")");
  if (v.isList()) return all("[", v.toListRef(), "]");
  return out << "<" << v.tagKind() << ">";
}

}  // namespace c10

namespace torch {
using c10::Dict;
using c10::IValue;
using c10::List;
namespace jit {
using c10::IValue;
using Stack = std::vector<c10::IValue>;
}  // namespace jit
}  // namespace torch
