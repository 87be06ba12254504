#pragma once
// What is no generated operator: operators of C++, indexing, tensors from memory and from values.
#include <shim/call.h>

namespace at {

inline Tensor& Tensor::operator=(const Scalar& v) && { return fill_(v); }
inline Tensor& Tensor::operator=(const Tensor& o) && { return copy_(o); }
inline Tensor Tensor::operator[](int64_t i) const { return select(0, i); }
inline Tensor Tensor::contiguous(MemoryFormat f) const { return is_contiguous(f) ? *this : clone(f); }
inline Tensor std(const Tensor& self, int dim) { return self.std(dim); }
inline Tensor var(const Tensor& self, int dim) { return self.var(dim); }
inline Tensor Tensor::operator~() const { return bitwise_not(); }
inline Tensor Tensor::operator-() const { return neg(); }
#define SHIM_IN_PLACE(symbol, method)                                                  \
  inline Tensor& Tensor::operator symbol(const Tensor & o) const { return method(o); } \
  inline Tensor& Tensor::operator symbol(const Scalar & o) const { return method(o); }
// clang-format off: one operator a place
SHIM_IN_PLACE(+=, add_) SHIM_IN_PLACE(-=, sub_) SHIM_IN_PLACE(*=, mul_) SHIM_IN_PLACE(/=, div_)
    // clang-format on
    inline Tensor Tensor::toType(ScalarType t) const {
  return to(t, false, false, std::nullopt);
}
inline Tensor Tensor::to(caffe2::TypeMeta t, bool non_blocking, bool copy) const {
  return to(t.toScalarType(), non_blocking, copy, std::nullopt);
}
inline Tensor Tensor::cpu() const { return to(TensorOptions(kCPU), false, false, std::nullopt); }
inline Tensor Tensor::cuda() const { return to(TensorOptions(kCUDA), false, false, std::nullopt); }

#define SHIM_BINARY(symbol, function)                                                       \
  inline Tensor operator symbol(const Tensor& a, const Tensor& b) { return a.function(b); } \
  inline Tensor operator symbol(const Tensor& a, const Scalar& b) { return a.function(b); }
// clang-format off: one operator a place
SHIM_BINARY(+, add) SHIM_BINARY(-, sub) SHIM_BINARY(*, mul) SHIM_BINARY(/, div) SHIM_BINARY(%, remainder)
SHIM_BINARY(==, eq) SHIM_BINARY(!=, ne) SHIM_BINARY(<, lt) SHIM_BINARY(<=, le) SHIM_BINARY(>, gt) SHIM_BINARY(>=, ge)
SHIM_BINARY(&, bitwise_and) SHIM_BINARY(|, bitwise_or) SHIM_BINARY(^, bitwise_xor)
    // clang-format on
    inline Tensor
    operator+(const Scalar& a, const Tensor& b) {
  return b.add(a);
}
inline Tensor operator*(const Scalar& a, const Tensor& b) { return b.mul(a); }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return b.neg().add(a); }
inline Tensor operator/(const Scalar& a, const Tensor& b) { return b.reciprocal().mul(a); }
inline Tensor operator<(const Scalar& a, const Tensor& b) { return b.gt(a); }
inline Tensor operator<=(const Scalar& a, const Tensor& b) { return b.ge(a); }
inline Tensor operator>(const Scalar& a, const Tensor& b) { return b.lt(a); }
inline Tensor operator>=(const Scalar& a, const Tensor& b) { return b.le(a); }
inline Tensor operator==(const Scalar& a, const Tensor& b) { return b.eq(a); }
inline Tensor operator!=(const Scalar& a, const Tensor& b) { return b.ne(a); }

namespace indexing {
constexpr std::nullopt_t None = std::nullopt;
struct EllipsisIndexType {};
constexpr EllipsisIndexType Ellipsis{};
struct Slice {
  Slice(std::optional<int64_t> from = {}, std::optional<int64_t> to = {}, std::optional<int64_t> by = {})
      : start(from), stop(to), step(by.value_or(1)) {}
  std::optional<int64_t> start, stop;
  int64_t step;
};
struct TensorIndex {
  enum Kind { none, ellipsis, integer, boolean, slice, tensor } kind;
  int64_t number = 0;
  Slice range;
  Tensor values;
  TensorIndex(std::nullopt_t) : kind(none) {}
  TensorIndex(EllipsisIndexType) : kind(ellipsis) {}
  TensorIndex(const char* text) : kind(ellipsis) {
    TORCH_CHECK_VALUE(
        std::strcmp(text, "...") == 0, "Expected \"...\" to represent an ellipsis index, but got \"", text, "\"");
  }
  template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  TensorIndex(T i) : kind(integer), number(int64_t(i)) {}
  template <class T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0> TensorIndex(T b) : kind(boolean), number(b) {}
  TensorIndex(Slice s) : kind(slice), range(s) {}
  TensorIndex(Tensor t) : kind(tensor), values(std::move(t)) {}
};

// Views for numbers, slices and new dimensions; what tensors index is left in `rest`.
inline Tensor viewed(Tensor self, ArrayRef<TensorIndex> indices, c10::List<std::optional<Tensor>>& rest, bool* any) {
  int64_t named = 0, at = 0;
  for (auto& i : indices)
    named += i.kind == TensorIndex::tensor && (i.values.scalar_type() == kBool || i.values.scalar_type() == kByte)
                 ? i.values.dim()
                 : i.kind != TensorIndex::none && i.kind != TensorIndex::ellipsis && i.kind != TensorIndex::boolean;
  TORCH_CHECK_INDEX(named <= self.dim(), "too many indices for tensor of dimension ", self.dim());
  const int64_t skipped = self.dim() - named;
  *any = false;
  auto pass = [&](int64_t n) {
    for (; n > 0; --n, ++at) rest.push_back(std::nullopt);
  };
  for (auto& i : indices) switch (i.kind) {
      case TensorIndex::none:
        self = self.unsqueeze(at);
        pass(1);
        break;
      case TensorIndex::ellipsis: pass(skipped); break;
      case TensorIndex::integer: self = self.select(at, i.number); break;
      case TensorIndex::slice:
        TORCH_CHECK_VALUE(i.range.step != 0, "step cannot be zero");
        self = self.slice(at, i.range.start, i.range.stop, i.range.step);
        pass(1);
        break;
      case TensorIndex::boolean:
        self = self.unsqueeze(at++);
        rest.push_back(at::full({1}, Scalar(i.number != 0), TensorOptions(kBool).device(self.device())));
        *any = true;
        break;
      case TensorIndex::tensor:
        rest.push_back(i.values);
        at += i.values.scalar_type() == kBool || i.values.scalar_type() == kByte ? i.values.dim() : 1;
        *any = true;
    }
  return self;
}
}  // namespace indexing

inline Tensor Tensor::index(ArrayRef<indexing::TensorIndex> indices) const {
  c10::List<std::optional<Tensor>> rest;
  bool any;
  Tensor view = indexing::viewed(*this, indices, rest, &any);
  return any ? at::index(view, rest) : view.is_same(*this) ? view.alias() : view;
}
inline Tensor Tensor::index(std::initializer_list<indexing::TensorIndex> indices) const {
  return index(ArrayRef<indexing::TensorIndex>(indices));
}
inline Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& v) const {
  c10::List<std::optional<Tensor>> rest;
  bool any;
  Tensor view = indexing::viewed(*this, indices, rest, &any);
  any ? void(at::index_put_(view, rest, v)) : void(view.copy_(v));
  return const_cast<Tensor&>(*this);
}
inline Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& v) const {
  return index_put_(ArrayRef<indexing::TensorIndex>(indices), v);
}
inline Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& v) const {
  return index_put_(ArrayRef<indexing::TensorIndex>(indices), at::full({}, v, options()));
}

}  // namespace at

// --- tensors over somebody's memory (the stable ABI's function), and of values ---------------------------------------
extern "C" int32_t torch_from_blob(void*, int64_t, const int64_t*, const int64_t*, int64_t, int32_t, int32_t, int32_t,
    ShimTensor**, int32_t, const uint8_t*, int64_t, void (*)(void*, void*), void*);

namespace at {
template <class F, std::enable_if_t<std::is_invocable_v<F, void*> || std::is_same_v<F, std::nullptr_t>, int> = 0>
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, F deleter, const TensorOptions& options = {},
    std::optional<Device> target_device = std::nullopt) {
  void (*drop)(void*, void*) = nullptr;
  std::function<void(void*)>* kept = nullptr;
  if constexpr (!std::is_same_v<F, std::nullptr_t>) {
    kept = new std::function<void(void*)>(std::move(deleter));
    drop = [](void* memory, void* f) {
      (*static_cast<std::function<void(void*)>*>(f))(memory);
      delete static_cast<std::function<void(void*)>*>(f);
    };
  }
  ShimTensor* made = nullptr;
  const Device d = target_device ? *target_device : options.device();
  shim::check_stable(torch_from_blob(data, int64_t(sizes.size()), sizes.data(), strides.data(), 0,
      int32_t(options.dtype().toScalarType()), int32_t(d.type()), d.index(), &made, 0, nullptr, 0, drop, kept));
  Tensor t = Tensor::shim_adopt(made);
  if (options.requires_grad()) t.set_requires_grad(true);
  return t;
}
inline std::vector<int64_t> contiguous_strides(IntArrayRef sizes) {
  std::vector<int64_t> s(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0; step *= std::max<int64_t>(sizes[i], 1)) s[i] = step;
  return s;
}
inline Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {}) {
  return from_blob(data, sizes, contiguous_strides(sizes), nullptr, options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {}) {
  return from_blob(data, sizes, strides, nullptr, options);
}
template <class F, std::enable_if_t<std::is_invocable_v<F, void*>, int> = 0>
Tensor from_blob(void* data, IntArrayRef sizes, F deleter, const TensorOptions& options = {},
    std::optional<Device> target_device = std::nullopt) {
  return from_blob(data, sizes, contiguous_strides(sizes), std::move(deleter), options, target_device);
}
template <class T> Tensor tensor(ArrayRef<T> values, const TensorOptions& options = {}) {
  Tensor t =
      from_blob(const_cast<T*>(values.data()), {int64_t(values.size())}, TensorOptions(CppTypeToScalarType<T>::value))
          .clone();
  const bool real = std::is_floating_point_v<T>;
  const ScalarType whole = std::is_same_v<T, bool> ? kBool : kLong;  // without a dtype, as Python's numbers
  t = t.to(options.has_dtype() || real ? options.dtype().toScalarType() : whole);
  if (options.has_device()) t = t.to(options.device());
  return options.requires_grad() ? t.set_requires_grad(true) : t;
}
template <class T> Tensor tensor(std::initializer_list<T> v, const TensorOptions& o = {}) {
  return tensor(ArrayRef<T>(v), o);
}
template <class T> Tensor tensor(const std::vector<T>& v, const TensorOptions& o = {}) {
  return tensor(ArrayRef<T>(v), o);
}
template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows, const TensorOptions& o = {}) {
  std::vector<T> all;
  for (auto& row : rows) {
    TORCH_CHECK(row.size() == rows.begin()->size(), "Expected all sub-lists to have sizes: ", rows.begin()->size(),
        " (e.g. the first one), but got sub-list with sizes: ", row.size());
    all.insert(all.end(), row.begin(), row.end());
  }
  const auto n = int64_t(rows.size());
  Tensor made = tensor(ArrayRef<T>(all), o.requires_grad(false)).reshape({n, n ? int64_t(rows.begin()->size()) : 0});
  return o.requires_grad() ? made.set_requires_grad(true) : made;
}
template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0> Tensor tensor(T v, const TensorOptions& o = {}) {
  const ScalarType t = std::is_floating_point_v<T> ? o.dtype().toScalarType() : std::is_same_v<T, bool> ? kBool : kLong;
  Tensor made = at::full({}, Scalar(v), o.has_dtype() ? o : o.dtype(t));
  return o.requires_grad() ? made.set_requires_grad(true) : made;
}
inline Tensor scalar_tensor_of(const Scalar& s, Device d = kCPU) {
  return at::full({}, s, TensorOptions(s.type()).device(d));
}
inline std::ostream& print(std::ostream& out, const Tensor& t) {
  if (!t.defined()) return out << "[ Tensor (undefined) ]";
  return out << shim::python<std::string>("printed", t, t.type().toString());
}
inline std::ostream& operator<<(std::ostream& out, const Tensor& t) { return print(out, t); }
inline int64_t maybe_wrap_dim(int64_t d, int64_t n, bool wrap_scalar = true) {
  const int64_t most = std::max<int64_t>(n, wrap_scalar ? 1 : 0);
  TORCH_CHECK_INDEX(d >= -most && d < most, "Dimension out of range (expected to be in range of [", -most, ", ",
      most - 1, "], but got ", d, ")");
  return d < 0 ? d + most : d;
}
inline std::vector<int64_t> infer_size(IntArrayRef a, IntArrayRef b) {
  const size_t n = std::max(a.size(), b.size());
  std::vector<int64_t> r(n);
  for (size_t i = 0; i < n; ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    TORCH_CHECK(x == y || x == 1 || y == 1, "The size of tensor a (", x, ") must match the size of tensor b (", y,
        ") at non-singleton dimension ", n - 1 - i);
    r[n - 1 - i] = x == 1 ? y : x;
  }
  return r;
}
}  // namespace at
