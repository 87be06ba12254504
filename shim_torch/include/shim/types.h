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
inline bool isFloatingType(ScalarType t) {
  return (t >= ScalarType::Half && t <= ScalarType::Double) || t == ScalarType::BFloat16 ||
         (t >= ScalarType::Float8_e5m2 && t <= ScalarType::Float8_e4m3fnuz) || t == ScalarType::Float8_e8m0fnu;
}
inline bool isIntegralType(ScalarType t, bool with_bool = false) {
  return (t >= ScalarType::Byte && t <= ScalarType::Long) || (t >= ScalarType::UInt16 && t <= ScalarType::UInt64) ||
         (with_bool && t == ScalarType::Bool);
}

namespace impl {}
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
      case c10::ScalarType::Long: return out << "long";
      case c10::ScalarType::Byte: return out << "unsigned char";
      case c10::ScalarType::Char: return out << "signed char";
      case c10::ScalarType::Short: return out << "short";
      case c10::ScalarType::Bool: return out << "bool";
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
  PrivateUse1 = 20
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
    const auto colon = text.find(':');
    const std::string name = text.substr(0, colon);
    TORCH_CHECK(name == "cpu" || name == "cuda" || name == "meta", "Invalid device string: '", text, "'");
    type_ = name == "cpu" ? DeviceType::CPU : name == "cuda" ? DeviceType::CUDA : DeviceType::Meta;
    if (colon != std::string::npos) index_ = DeviceIndex(std::stoi(text.substr(colon + 1)));
  }
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

// A number that keeps whether it is an int, a double, a bool or complex.
class Scalar {
 public:
  Scalar() : Scalar(int64_t(0)) {}
  template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0> Scalar(T v) {
    cell_ = {SHIM_INT, 0, {int64_t(v)}, 0};
  }
  template <class T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0> Scalar(T v) {
    cell_ = {SHIM_BOOL, 0, {int64_t(v)}, 0};
  }
  Scalar(double v) : Scalar(v, SHIM_DOUBLE) {}
  Scalar(float v) : Scalar(double(v)) {}
  Scalar(Half v) : Scalar(double(float(v))) {}
  Scalar(BFloat16 v) : Scalar(double(float(v))) {}
  template <class T> Scalar(complex<T> v) : Scalar(double(v.real_), SHIM_COMPLEX) { cell_.im = double(v.imag_); }
  template <class T> Scalar(std::complex<T> v) : Scalar(complex<T>(v)) {}
  explicit Scalar(const ShimCell& cell) : cell_(cell) {}
  bool isIntegral(bool with_bool) const { return cell_.tag == SHIM_INT || (with_bool && isBoolean()); }
  bool isFloatingPoint() const { return cell_.tag == SHIM_DOUBLE; }
  bool isComplex() const { return cell_.tag == SHIM_COMPLEX; }
  bool isBoolean() const { return cell_.tag == SHIM_BOOL; }
  template <class T> T to() const {
    if constexpr (std::is_constructible_v<std::complex<double>, T> && !std::is_convertible_v<T, double>)  // complex
      return T(typename T::value_type(real()), typename T::value_type(isComplex() ? cell_.im : 0));
    else if constexpr (std::is_same_v<T, bool>)
      return real() != 0;
    else {
      TORCH_CHECK(!isComplex() || cell_.im == 0, "value cannot be converted to type without overflow");
      return isFloatingPoint() || isComplex() ? T(cell_.d) : T(cell_.i);
    }
  }
  int64_t toLong() const { return to<int64_t>(); }
  int toInt() const { return to<int>(); }
  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  bool toBool() const { return to<bool>(); }
  Half toHalf() const { return Half(to<float>()); }
  ScalarType type() const {
    return isComplex() ? kComplexDouble : isFloatingPoint() ? kDouble : isBoolean() ? kBool : kLong;
  }
  Scalar operator-() const {
    ShimCell c = cell_;
    isFloatingPoint() || isComplex() ? void(c.d = -c.d) : void(c.i = -c.i);
    c.im = -c.im;
    return Scalar(c);
  }
  const ShimCell& cell() const { return cell_; }

 private:
  Scalar(double v, uint32_t tag) {
    cell_.tag = tag;
    cell_.n = 0;
    cell_.d = v;
    cell_.im = 0;
  }
  double real() const { return isFloatingPoint() || isComplex() ? cell_.d : double(cell_.i); }
  ShimCell cell_;
};
static_assert(sizeof(Scalar) == sizeof(ShimCell), "an array of Scalar is one of cells");
inline std::ostream& operator<<(std::ostream& out, const Scalar& s) {
  return s.isFloatingPoint() ? out << s.toDouble()
         : s.isBoolean()     ? out << (s.toBool() ? "true" : "false")
                             : out << s.toLong();
}

}  // namespace c10

namespace at {
namespace Reduction {
enum Reduction { None, Mean, Sum, END };
}
}  // namespace at
