#pragma once
// Values of any schema type, and how a kernel's C++ types are made of cells and cells of them.
#include <list>

#include <shim/dispatch.h>

namespace shim {

template <class T> struct Unboxed;  // from(const ShimCell&) borrows, schema() is the type's text
#define SHIM_UNBOXED(type, text, expression)                                    \
  template <> struct Unboxed<type> {                                            \
    static type from([[maybe_unused]] const ShimCell& c) { return expression; } \
    static std::string schema() { return text; }                                \
  };
inline at::Tensor tensor_of(ShimTensor* t) {
  if (t) shim_cxx_retain(t);
  return at::Tensor::shim_adopt(t);
}
inline at::Tensor tensor_of(const ShimCell& c) {
  return c.tag == SHIM_TENSOR ? tensor_of(static_cast<ShimTensor*>(const_cast<void*>(c.p))) : at::Tensor();
}
SHIM_UNBOXED(at::Tensor, "Tensor", tensor_of(c))
SHIM_UNBOXED(int64_t, "int", c10::Scalar(c).toLong())
SHIM_UNBOXED(double, "float", c10::Scalar(c).toDouble())
SHIM_UNBOXED(bool, "bool", c10::Scalar(c).toBool())
SHIM_UNBOXED(std::string, "str", std::string(static_cast<const char*>(c.p), c.n))
SHIM_UNBOXED(std::string_view, "str", std::string_view(static_cast<const char*>(c.p), c.n))
SHIM_UNBOXED(c10::Scalar, "Scalar", c10::Scalar(c))
SHIM_UNBOXED(c10::ScalarType, "ScalarType", c10::ScalarType(c.i))
SHIM_UNBOXED(c10::Device, "Device", c10::Device(c10::DeviceType(c.i), c10::DeviceIndex(int32_t(c.n))))
SHIM_UNBOXED(c10::Layout, "Layout", c10::Layout(c.i))
SHIM_UNBOXED(c10::MemoryFormat, "MemoryFormat", c10::MemoryFormat(c.i))
SHIM_UNBOXED(at::TensorList, "Tensor[]", at::TensorList(static_cast<const at::Tensor*>(c.p), c.n))
SHIM_UNBOXED(c10::IntArrayRef, "int[]", c10::IntArrayRef(static_cast<const int64_t*>(c.p), c.n))
SHIM_UNBOXED(c10::ArrayRef<double>, "float[]", c10::ArrayRef<double>(static_cast<const double*>(c.p), c.n))
template <class T> struct Unboxed<std::optional<T>> {
  static std::optional<T> from(const ShimCell& c) {
    if (c.tag == SHIM_NONE) return std::nullopt;
    return Unboxed<T>::from(c);
  }
  static std::string schema() { return Unboxed<T>::schema() + "?"; }
};
template <> struct Unboxed<c10::OptionalIntArrayRef> {
  static c10::OptionalIntArrayRef from(const ShimCell& c) {
    return c.tag == SHIM_NONE ? c10::OptionalIntArrayRef()
                              : c10::OptionalIntArrayRef(Unboxed<c10::IntArrayRef>::from(c));
  }
  static std::string schema() { return "int[]?"; }
};
inline ShimCell element_cell(const ShimCell& c, uint32_t i) {  // one of a list's or a tuple's, borrowed
  switch (c.tag) {
    case SHIM_INTS: return number_cell(SHIM_INT, static_cast<const int64_t*>(c.p)[i]);
    case SHIM_DOUBLES: return cell(static_cast<const double*>(c.p)[i]);
    case SHIM_BOOLS: return number_cell(SHIM_BOOL, static_cast<const uint8_t*>(c.p)[i]);
    case SHIM_TENSORS: {
      auto* t = static_cast<ShimTensor* const*>(c.p)[i];
      return t ? pointer_cell(SHIM_TENSOR, t) : none_cell();
    }
    default: return static_cast<const ShimCell*>(c.p)[i];
  }
}
template <class T> std::vector<T> elements_of(const ShimCell& c) {
  std::vector<T> all;
  for (uint32_t i = 0; i < c.n; ++i) all.push_back(Unboxed<T>::from(element_cell(c, i)));
  return all;
}
template <class T> struct Unboxed<std::vector<T>> {
  static std::vector<T> from(const ShimCell& c) { return elements_of<T>(c); }
  static std::string schema() { return Unboxed<T>::schema() + "[]"; }
};
template <class T> struct Unboxed<c10::List<T>> {
  static c10::List<T> from(const ShimCell& c) { return c10::List<T>(elements_of<T>(c)); }
  static std::string schema() { return Unboxed<T>::schema() + "[]"; }
};
template <class... T> struct Unboxed<std::tuple<T...>> {
  static std::tuple<T...> from(const ShimCell& c) {
    TORCH_CHECK(c.n == sizeof...(T), "expected a tuple of ", sizeof...(T), " values, but got ", c.n);
    uint32_t i = 0;
    return std::tuple<T...>{Unboxed<T>::from(element_cell(c, i++))...};  // braces: from the first to the last
  }
  static std::string schema() {
    std::string text;
    ((text += (text.empty() ? "(" : ", ") + Unboxed<T>::schema()), ...);
    return text + ")";
  }
};
template <class K, class V> struct Unboxed<std::unordered_map<K, V>> {
  static std::unordered_map<K, V> from(const ShimCell& c) {
    std::unordered_map<K, V> all;
    auto* pair = static_cast<const ShimCell*>(c.p);
    for (uint32_t i = 0; i < c.n; ++i) all.emplace(Unboxed<K>::from(pair[2 * i]), Unboxed<V>::from(pair[2 * i + 1]));
    return all;
  }
  static std::string schema() { return "Dict(" + Unboxed<K>::schema() + ", " + Unboxed<V>::schema() + ")"; }
};

// Owned cells of results.
inline void* allocated(size_t bytes) {
  void* p = std::malloc(bytes ? bytes : 1);
  if (!p) throw std::bad_alloc();
  return p;
}
template <class T> ShimCell copied(uint32_t tag, const T* data, size_t n) {
  void* p = allocated(n * sizeof(T));
  if (n) std::memcpy(p, data, n * sizeof(T));
  return pointer_cell(tag, p, n);
}
inline ShimCell boxed(const at::Tensor& t) {
  if (t.defined()) shim_cxx_retain(t.shim_handle());
  return cell(t);
}
inline ShimCell boxed(at::TensorList a) {
  for (auto& t : a)
    if (t.defined()) shim_cxx_retain(t.shim_handle());
  return copied(SHIM_TENSORS, reinterpret_cast<ShimTensor* const*>(a.data()), a.size());
}
inline ShimCell boxed(const std::vector<at::Tensor>& v) { return boxed(at::TensorList(v)); }
inline ShimCell boxed(const std::string& s) { return copied(SHIM_STRING, s.c_str(), s.size()); }
inline ShimCell boxed(c10::IntArrayRef a) { return copied(SHIM_INTS, a.data(), a.size()); }
inline ShimCell boxed(const std::vector<int64_t>& a) { return copied(SHIM_INTS, a.data(), a.size()); }
inline ShimCell boxed(const std::vector<double>& a) { return copied(SHIM_DOUBLES, a.data(), a.size()); }
inline ShimCell boxed(int64_t v) { return cell(v); }
inline ShimCell boxed(double v) { return cell(v); }
inline ShimCell boxed(bool v) { return cell(v); }
inline ShimCell boxed(const c10::Scalar& v) { return v.cell(); }
inline ShimCell boxed(c10::ScalarType v) { return cell(v); }
template <class T> ShimCell boxed(const c10::List<T>& l) { return boxed(l.vec()); }
template <class T> ShimCell boxed(const std::optional<T>& v) { return v ? boxed(*v) : none_cell(); }

}  // namespace shim

namespace c10 {

template <class K, class V> class Dict {  // in the order in which keys came; copies are the same dictionary
  using Pairs = std::list<std::pair<const K, V>>;
  struct Held {
    Pairs pairs;
    std::unordered_map<K, typename Pairs::iterator> places;
  };

 public:
  Dict() : held_(std::make_shared<Held>()) {}
  V at(const K& k) const {
    if (!contains(k)) throw std::out_of_range("Argument passed to at() was not in the map.");
    return held_->places.at(k)->second;
  }
  bool contains(const K& k) const { return held_->places.count(k) != 0; }
  size_t size() const { return held_->pairs.size(); }
  bool empty() const { return held_->pairs.empty(); }
  void clear() const { *held_ = {}; }
  void insert(const K& k, V v) const {
    if (!contains(k)) held_->places.emplace(k, held_->pairs.emplace(held_->pairs.end(), k, std::move(v)));
  }
  void insert_or_assign(const K& k, V v) const {
    if (contains(k))
      held_->places.at(k)->second = std::move(v);
    else
      insert(k, std::move(v));
  }
  size_t erase(const K& k) const {
    if (!contains(k)) return 0;
    held_->pairs.erase(held_->places.at(k));
    return held_->places.erase(k);
  }
  struct Entry {
    std::pair<const K, V>& p;
    const K& key() const { return p.first; }
    const V& value() const { return p.second; }
    void setValue(V v) const { p.second = std::move(v); }
    const Entry* operator->() const { return this; }
  };
  struct iterator {
    typename Pairs::iterator i;
    Entry operator*() const { return {*i}; }
    Entry operator->() const { return {*i}; }
    iterator& operator++() {
      ++i;
      return *this;
    }
    bool operator==(const iterator& o) const { return i == o.i; }
    bool operator!=(const iterator& o) const { return i != o.i; }
  };
  iterator begin() const { return {held_->pairs.begin()}; }
  iterator end() const { return {held_->pairs.end()}; }
  iterator find(const K& k) const { return contains(k) ? iterator{held_->places.at(k)} : end(); }

 private:
  std::shared_ptr<Held> held_;
};
}  // namespace c10

namespace shim {
template <class K, class V> struct Unboxed<c10::Dict<K, V>> {
  static c10::Dict<K, V> from(const ShimCell& c) {
    c10::Dict<K, V> all;
    auto* pair = static_cast<const ShimCell*>(c.p);
    for (uint32_t i = 0; i < c.n; ++i) all.insert(Unboxed<K>::from(pair[2 * i]), Unboxed<V>::from(pair[2 * i + 1]));
    return all;
  }
  static std::string schema() { return Unboxed<std::unordered_map<K, V>>::schema(); }
};
template <class K, class V> ShimCell boxed(const c10::Dict<K, V>& d) {
  auto* pairs = static_cast<ShimCell*>(allocated(2 * d.size() * sizeof(ShimCell)));
  size_t n = 0;
  for (auto e : d) {
    pairs[2 * n] = boxed(e.key());
    pairs[2 * n++ + 1] = boxed(e.value());
  }
  return pointer_cell(SHIM_DICT, pairs, n);
}
}  // namespace shim
