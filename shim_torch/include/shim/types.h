#pragma once
// Element types, devices, layouts, numbers and TensorOptions. The numbers are PyTorch's.
#include <shim/complex.h>

namespace c10 {

// clang-format off: one type a place
#define SHIM_TYPES(_)                                                                                                    \
  _(uint8_t, Byte, 0) _(int8_t, Char, 1) _(int16_t, Short, 2) _(int, Int, 3) _(int64_t, Long, 4) _(Half, Half, 5)        \
  _(float, Float, 6) _(double, Double, 7) _(complex<Half>, ComplexHalf, 8) _(complex<float>, ComplexFloat, 9)            \
  _(complex<double>, ComplexDouble, 10) _(bool, Bool, 11) _(BFloat16, BFloat16, 15)
#define SHIM_WIDE_TYPES(_) _(uint16_t, UInt16, 27) _(uint32_t, UInt32, 28) _(uint64_t, UInt64, 29)
#define SHIM_NARROW_FLOATS(_) \
  _(Float8_e5m2, 23)          \
  _(Float8_e4m3fn, 24)        \
  _(Float8_e5m2fnuz, 25) _(Float8_e4m3fnuz, 26) _(QInt8, 12) _(QUInt8, 13) _(QInt32, 14) _(Float8_e8m0fnu, 44)
// clang-format on

enum class ScalarType : int8_t {
#define SHIM_ROW(type, name, number) name = number,
  SHIM_TYPES(SHIM_ROW) SHIM_WIDE_TYPES(SHIM_ROW)
#undef SHIM_ROW
#define SHIM_ROW(name, number) name = number,
      SHIM_NARROW_FLOATS(SHIM_ROW)
#undef SHIM_ROW
          UInt1 = 30,  // those below are named by sources that list every type; there is no data of them here
  UInt2,
  UInt3,
  UInt4,
  UInt5,
  UInt6,
  UInt7,
  Int1,
  Int2,
  Int3,
  Int4,
  Int5,
  Int6,
  Int7,
  Float4_e2m1fn_x2 = 45,
  Undefined = 47,
  NumOptions = 48
};
#define SHIM_ROW(type, name, number) constexpr ScalarType k##name = ScalarType::name;
SHIM_TYPES(SHIM_ROW)
SHIM_WIDE_TYPES(SHIM_ROW)
#undef SHIM_ROW
#define SHIM_ROW(name, number) constexpr ScalarType k##name = ScalarType::name;
SHIM_NARROW_FLOATS(SHIM_ROW)
#undef SHIM_ROW
constexpr ScalarType kUInt8 = kByte, kInt8 = kChar, kInt16 = kShort, kInt32 = kInt, kInt64 = kLong, kFloat16 = kHalf,
                     kFloat32 = kFloat, kFloat64 = kDouble;

template <ScalarType> struct ScalarTypeToCPPType;
template <class T> struct CppTypeToScalarType;
#define SHIM_ROW(type_, name, number)                        \
  template <> struct ScalarTypeToCPPType<ScalarType::name> { \
    using type = type_;                                      \
  };                                                         \
  template <> struct CppTypeToScalarType<type_> : std::integral_constant<ScalarType, ScalarType::name> {};
SHIM_TYPES(SHIM_ROW)
SHIM_WIDE_TYPES(SHIM_ROW)
#undef SHIM_ROW
template <> struct CppTypeToScalarType<long long> : std::integral_constant<ScalarType, ScalarType::Long> {};
namespace impl {
template <ScalarType S> using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<S>::type;
}

inline ScalarType toUnderlying(ScalarType t) {  // what a quantized type's numbers are
  return t == kQInt8 ? kChar : t == kQUInt8 ? kByte : t == kQInt32 ? kInt : t;
}
inline const char* toString(ScalarType t) {
  switch (t) {
#define SHIM_ROW(type, name, number) \
  case ScalarType::name: return #name;
    SHIM_TYPES(SHIM_ROW)
    SHIM_WIDE_TYPES(SHIM_ROW)
#undef SHIM_ROW
#define SHIM_ROW(name, number) \
  case ScalarType::name: return #name;
    SHIM_NARROW_FLOATS(SHIM_ROW)
#undef SHIM_ROW
    default: return "Undefined";
  }
}
inline std::ostream& operator<<(std::ostream& out, ScalarType t) { return out << toString(t); }
inline size_t elementSize(ScalarType t) {
  switch (t) {
#define SHIM_ROW(type, name, number) \
  case ScalarType::name: return sizeof(type);
    SHIM_TYPES(SHIM_ROW)
    SHIM_WIDE_TYPES(SHIM_ROW)
#undef SHIM_ROW
    case ScalarType::QInt32: return 4;
    default: return 1;
  }
}
inline bool isComplexType(ScalarType t) { return t >= ScalarType::ComplexHalf && t <= ScalarType::ComplexDouble; }
inline bool isFloat8Type(ScalarType t) {
  return (t >= ScalarType::Float8_e5m2 && t <= ScalarType::Float8_e4m3fnuz) || t == ScalarType::Float8_e8m0fnu;
}
inline bool isFloatingType(ScalarType t) {
  return (t >= ScalarType::Half && t <= ScalarType::Double) || t == ScalarType::BFloat16 || isFloat8Type(t);
}
inline bool isIntegralType(ScalarType t, bool with_bool = false) {
  return (t >= ScalarType::Byte && t <= ScalarType::Long) || (t >= ScalarType::UInt16 && t <= ScalarType::UInt64) ||
         (with_bool && t == ScalarType::Bool);
}

inline bool isReducedFloatingType(ScalarType t) { return t == kHalf || t == kBFloat16 || isFloat8Type(t); }
inline bool isSignedType(ScalarType t) {
  return t != ScalarType::Byte && t != ScalarType::Bool && !(t >= ScalarType::UInt16 && t <= ScalarType::UInt64);
}
inline bool canCast(ScalarType from, ScalarType to) {  // what an in-place operator may write
  if (isComplexType(from) && !isComplexType(to)) return false;
  if (isFloatingType(from) && isIntegralType(to, false)) return false;
  return from == ScalarType::Bool || to != ScalarType::Bool;
}
inline ScalarType toComplexType(ScalarType t) {
  return t == kHalf ? kComplexHalf : t == kFloat ? kComplexFloat : t == kDouble ? kComplexDouble : t;
}
inline ScalarType toRealValueType(ScalarType t) {
  return t == kComplexHalf ? kHalf : t == kComplexFloat ? kFloat : t == kComplexDouble ? kDouble : t;
}
}  // namespace c10
namespace caffe2 {
class TypeMeta {  // compares with a ScalarType both ways, and does not become one
 public:
  constexpr TypeMeta() = default;
  constexpr explicit TypeMeta(c10::ScalarType t) : type_(t) {}
  static TypeMeta fromScalarType(c10::ScalarType t) { return TypeMeta(t); }
  template <class T> static TypeMeta Make() { return TypeMeta(c10::CppTypeToScalarType<T>::value); }
  constexpr c10::ScalarType toScalarType() const { return type_; }
  size_t itemsize() const { return c10::elementSize(type_); }
  std::string_view name() const { return c10::toString(type_); }
  bool isScalarType() const { return true; }
  bool isScalarType(c10::ScalarType t) const { return type_ == t; }
  template <class T> bool Match() const { return type_ == c10::CppTypeToScalarType<T>::value; }
  friend bool operator==(TypeMeta a, TypeMeta b) { return a.type_ == b.type_; }
  friend bool operator!=(TypeMeta a, TypeMeta b) { return a.type_ != b.type_; }
  friend bool operator==(TypeMeta a, c10::ScalarType b) { return a.type_ == b; }
  friend bool operator!=(TypeMeta a, c10::ScalarType b) { return a.type_ != b; }
  friend bool operator==(c10::ScalarType a, TypeMeta b) { return a == b.type_; }
  friend bool operator!=(c10::ScalarType a, TypeMeta b) { return a != b.type_; }
  friend std::ostream& operator<<(std::ostream& out, TypeMeta t) {
    switch (t.type_) {
      case c10::ScalarType::Half: return out << "c10::Half";
      case c10::ScalarType::BFloat16: return out << "c10::BFloat16";
      case c10::ScalarType::Float: return out << "float";
      case c10::ScalarType::Double: return out << "double";
      case c10::ScalarType::Int: return out << "int";
      case c10::ScalarType::Long: return out << "long int";
      case c10::ScalarType::Byte: return out << "unsigned char";
      case c10::ScalarType::Char: return out << "signed char";
      case c10::ScalarType::Short: return out << "short int";
      case c10::ScalarType::Bool: return out << "bool";
      case c10::ScalarType::ComplexHalf: return out << "c10::complex<c10::Half>";
      case c10::ScalarType::ComplexFloat: return out << "c10::complex<float>";
      case c10::ScalarType::ComplexDouble: return out << "c10::complex<double>";
      default: return out << c10::toString(t.type_);
    }
  }

 private:
  c10::ScalarType type_ = c10::ScalarType::Undefined;
};
}  // namespace caffe2
namespace c10 {
using caffe2::TypeMeta;
inline ScalarType typeMetaToScalarType(TypeMeta t) { return t.toScalarType(); }
inline TypeMeta scalarTypeToTypeMeta(ScalarType t) { return TypeMeta(t); }

// --- devices, layouts, memory formats ---------------------------------------------------------------------------------
enum class DeviceType : int8_t {
  CPU = 0,
  CUDA = 1,
  OPENCL = 4,
  HIP = 6,
  MAIA = 8,
  XLA = 9,
  XPU = 12,
  MPS = 13,
  Meta = 14,
  HPU = 15,
  MTIA = 19,
  PrivateUse1 = 20,
  COMPILE_TIME_MAX_DEVICE_TYPES = 21  // how many there are
};
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kMeta = DeviceType::Meta, kXPU = DeviceType::XPU,
                     kMPS = DeviceType::MPS, kHIP = DeviceType::HIP;
using DeviceIndex = int8_t;
inline std::string DeviceTypeName(DeviceType t, bool lower = false) {
  std::string s = t == DeviceType::CPU    ? "CPU"
                  : t == DeviceType::CUDA ? "CUDA"
                  : t == DeviceType::Meta ? "META"
                                          : "OTHER";
  if (lower) std::transform(s.begin(), s.end(), s.begin(), [](char c) { return char(std::tolower(c)); });
  return s;
}
inline std::ostream& operator<<(std::ostream& out, DeviceType t) { return out << DeviceTypeName(t, true); }
struct Device {
  Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
  Device(const std::string& text) : type_(DeviceType::CPU), index_(-1) {
    if (text == "cpu") return;
    ShimCell name{SHIM_STRING, uint32_t(text.size()), {0}, 0}, made{};
    name.p = text.data();
    shim::check(shim_cxx_python("device", &name, 1, &made));
    type_ = DeviceType(made.i);
    index_ = DeviceIndex(int32_t(made.n));
  }
  Device(const char* text) : Device(std::string(text)) {}
  DeviceType type() const { return type_; }
  DeviceIndex index() const { return index_; }
  bool has_index() const { return index_ >= 0; }
  void set_index(DeviceIndex i) { index_ = i; }
  bool is_cpu() const { return type_ == DeviceType::CPU; }
  bool is_cuda() const { return type_ == DeviceType::CUDA; }
  bool is_privateuseone() const { return type_ == DeviceType::PrivateUse1; }
  bool is_meta() const { return type_ == DeviceType::Meta; }
  bool is_mps() const { return false; }
  bool is_xpu() const { return false; }
  bool operator==(const Device& o) const { return type_ == o.type_ && index_ == o.index_; }
  bool operator!=(const Device& o) const { return !(*this == o); }
  std::string str() const {
    return DeviceTypeName(type_, true) + (index_ >= 0 ? ":" + std::to_string(int(index_)) : "");
  }

 private:
  DeviceType type_;
  DeviceIndex index_;
};
inline std::ostream& operator<<(std::ostream& out, const Device& d) { return out << d.str(); }
enum class Layout : int8_t { Strided, Sparse, SparseCsr, Mkldnn, SparseCsc, SparseBsr, SparseBsc, Jagged };
constexpr Layout kStrided = Layout::Strided, kSparse = Layout::Sparse, kSparseCsr = Layout::SparseCsr;
inline std::ostream& operator<<(std::ostream& out, Layout l) {
  return out << (l == kStrided ? "Strided" : l == kSparse ? "Sparse" : "SparseCsr");
}
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
inline std::ostream& operator<<(std::ostream& out, MemoryFormat f) {
  static const char* const names[] = {"Contiguous", "Preserve", "ChannelsLast", "ChannelsLast3d"};
  return out << names[int(f)];
}

}  // namespace c10

namespace at {
enum class Tag {  // torch.Tag's numbers
  core,
  cudagraph_unsafe,
  data_dependent_output,
  dynamic_output_shape,
  flexible_layout,
  generated,
  inplace,
  inplace_view,
  maybe_aliasing_or_mutating,
  needs_contiguous_strides,
  needs_exact_strides,
  needs_fixed_stride_order,
  nondeterministic_bitwise,
  nondeterministic_seeded,
  out,
  out_variant,
  pointwise,
  pt2_compliant_tag,
  reduction,
  view_copy
};
namespace Reduction {
enum Reduction { None, Mean, Sum, END };
}
}  // namespace at
