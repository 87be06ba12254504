#pragma once
// TensorOptions: what a factory is told of dtype, layout, device and pinned memory.
#include <shim/generator.h>

namespace shim {

inline ShimCell none_cell() { return {SHIM_NONE, 0, {0}, 0}; }
inline ShimCell number_cell(uint32_t tag, int64_t i, uint32_t n = 0) { return {tag, n, {i}, 0}; }
inline ShimCell pointer_cell(uint32_t tag, const void* p, size_t n = 0) {
  ShimCell c{tag, uint32_t(n), {0}, 0};
  c.p = p;
  return c;
}
inline ShimCell cell(c10::ScalarType t) { return number_cell(SHIM_DTYPE, int64_t(t)); }
inline ShimCell cell(const c10::Device& d) {
  return number_cell(SHIM_DEVICE, int64_t(d.type()), uint32_t(int32_t(d.index())));
}
inline ShimCell cell(c10::Layout l) { return number_cell(SHIM_LAYOUT, int64_t(l)); }
inline ShimCell cell(c10::MemoryFormat f) { return number_cell(SHIM_MEMORY_FORMAT, int64_t(f)); }
inline ShimCell cell(int64_t v) { return number_cell(SHIM_INT, v); }
inline ShimCell cell(bool v) { return number_cell(SHIM_BOOL, v); }
inline ShimCell cell(double v) {
  ShimCell c{SHIM_DOUBLE, 0, {0}, 0};
  c.d = v;
  return c;
}
inline ShimCell cell(const c10::Scalar& s) { return s.cell(); }
inline ShimCell cell(std::string_view s) { return pointer_cell(SHIM_STRING, s.data(), s.size()); }
inline ShimCell cell(const c10::Generator& g) { return g.cell(); }
inline ShimCell cell(c10::IntArrayRef a) { return pointer_cell(SHIM_INTS, a.data(), a.size()); }
inline ShimCell cell(c10::ArrayRef<double> a) { return pointer_cell(SHIM_DOUBLES, a.data(), a.size()); }
inline ShimCell cell(c10::ArrayRef<c10::Scalar> a) { return pointer_cell(SHIM_LIST, a.data(), a.size()); }
inline ShimCell cell(const c10::OptionalIntArrayRef& a) { return a ? cell(*a) : none_cell(); }
template <size_t N> ShimCell cell(const std::array<bool, N>& a) { return pointer_cell(SHIM_BOOLS, a.data(), N); }
template <class T> ShimCell cell(const std::optional<T>& v) { return v ? cell(*v) : none_cell(); }

}  // namespace shim

namespace c10 {

class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType t) : dtype_(t) {}
  TensorOptions(TypeMeta t) : dtype_(t.toScalarType()) {}
  TensorOptions(Device d) : device_(d) {}
  TensorOptions(const char* device) : device_(Device(std::string(device))) {}
  TensorOptions(DeviceType d) : device_(Device(d)) {}
  TensorOptions(Layout l) : layout_(l) {}
  TensorOptions(MemoryFormat f) : format_(f) {}
  TensorOptions dtype(std::optional<ScalarType> t) const { return with(&TensorOptions::dtype_, t); }
  TensorOptions dtype(ScalarType t) const { return with(&TensorOptions::dtype_, std::optional<ScalarType>(t)); }
  TensorOptions dtype(TypeMeta t) const { return dtype(t.toScalarType()); }
  template <class T> TensorOptions dtype() const { return dtype(CppTypeToScalarType<T>::value); }
  TensorOptions device(std::optional<Device> d) const { return with(&TensorOptions::device_, d); }
  TensorOptions device(Device d) const { return with(&TensorOptions::device_, std::optional<Device>(d)); }
  TensorOptions device(DeviceType t, DeviceIndex i = -1) const { return device(Device(t, i)); }
  TensorOptions device_index(DeviceIndex i) const { return device(Device(DeviceType::CUDA, i)); }
  TensorOptions layout(std::optional<Layout> l) const { return with(&TensorOptions::layout_, l); }
  TensorOptions pinned_memory(std::optional<bool> p) const { return with(&TensorOptions::pinned_, p); }
  TensorOptions requires_grad(std::optional<bool> r) const { return with(&TensorOptions::requires_grad_, r); }
  TensorOptions memory_format(std::optional<MemoryFormat> f) const { return with(&TensorOptions::format_, f); }
  TypeMeta dtype() const { return TypeMeta(dtype_ ? *dtype_ : ScalarType(shim_cxx_default_dtype(-1))); }
  Device device() const { return device_.value_or(Device(kCPU)); }
  Layout layout() const { return layout_.value_or(kStrided); }
  bool pinned_memory() const { return pinned_.value_or(false); }
  bool requires_grad() const { return requires_grad_.value_or(false); }
  bool has_dtype() const { return dtype_.has_value(); }
  bool has_layout() const { return layout_.has_value(); }
  bool has_requires_grad() const { return requires_grad_.has_value(); }
  bool has_pinned_memory() const { return pinned_.has_value(); }
  bool has_memory_format() const { return format_.has_value(); }
  std::optional<Layout> layout_opt() const { return layout_; }
  std::optional<bool> pinned_memory_opt() const { return pinned_; }
  std::optional<bool> requires_grad_opt() const { return requires_grad_; }
  TensorOptions merge_in(const TensorOptions& o) const {  // what the other says goes first
    TensorOptions r = *this;
    if (o.dtype_) r.dtype_ = o.dtype_;
    if (o.device_) r.device_ = o.device_;
    if (o.layout_) r.layout_ = o.layout_;
    if (o.pinned_) r.pinned_ = o.pinned_;
    if (o.requires_grad_) r.requires_grad_ = o.requires_grad_;
    if (o.format_) r.format_ = o.format_;
    return r;
  }
  bool has_device() const { return device_.has_value(); }
  std::optional<MemoryFormat> memory_format_opt() const { return format_; }
  std::optional<ScalarType> dtype_opt() const { return dtype_; }
  std::optional<Device> device_opt() const { return device_; }
  bool is_cuda() const { return device().is_cuda(); }
  ShimCell dtype_cell() const { return shim::cell(dtype_); }
  ShimCell device_cell() const { return shim::cell(device_); }
  ShimCell layout_cell() const { return shim::cell(layout_); }
  ShimCell pin_memory_cell() const { return shim::cell(pinned_); }

 private:
  template <class M, class V> TensorOptions with(M member, const V& v) const {
    TensorOptions o = *this;
    o.*member = v;
    return o;
  }
  std::optional<ScalarType> dtype_;
  std::optional<Device> device_;
  std::optional<Layout> layout_;
  std::optional<bool> pinned_, requires_grad_;
  std::optional<MemoryFormat> format_;
};
inline std::ostream& operator<<(std::ostream& out, const TensorOptions& o) {
  auto told = [&](const char* name, const auto& value, bool said) {
    out << name << "=" << value << (said ? "" : " (default)");
  };
  told("TensorOptions(dtype", o.dtype(), o.has_dtype());
  told(", device", o.device(), o.has_device());
  told(", layout", o.layout(), o.has_layout());
  told(", requires_grad", o.requires_grad() ? "true" : "false", o.has_requires_grad());
  told(", pinned_memory", o.pinned_memory() ? "true" : "false", o.has_pinned_memory());
  out << ", memory_format=";
  return (o.has_memory_format() ? out << *o.memory_format_opt() : out << "(nullopt)") << ")";
}
inline TensorOptions dtype(ScalarType t) { return TensorOptions(t); }
inline TensorOptions dtype(TypeMeta t) { return TensorOptions(t); }
template <class T> TensorOptions dtype() { return TensorOptions(CppTypeToScalarType<T>::value); }
inline TensorOptions device(Device d) { return TensorOptions(d); }
inline TensorOptions layout(Layout l) { return TensorOptions(l); }
inline TensorOptions requires_grad(bool r = true) { return TensorOptions().requires_grad(r); }
inline TensorOptions pinned_memory(bool p) { return TensorOptions().pinned_memory(p); }

// What x.type() gives: it compares, prints, and makes options.
class DeprecatedTypeProperties {
 public:
  DeprecatedTypeProperties(ScalarType t, Device d) : type_(t), device_(d) {}
  operator TensorOptions() const { return TensorOptions(type_).device(device_); }
  ScalarType scalarType() const { return type_; }
  DeviceType device_type() const { return device_.type(); }
  bool is_cuda() const { return device_.is_cuda(); }
  std::string toString() const {
    return std::string(device_.is_cuda() ? "CUDA" : "CPU") + c10::toString(type_) + "Type";
  }
  bool operator==(const DeprecatedTypeProperties& o) const {
    return type_ == o.type_ && device_.type() == o.device_.type();
  }
  bool operator!=(const DeprecatedTypeProperties& o) const { return !(*this == o); }

 private:
  ScalarType type_;
  Device device_;
};
inline std::ostream& operator<<(std::ostream& out, const DeprecatedTypeProperties& t) { return out << t.toString(); }

}  // namespace c10
