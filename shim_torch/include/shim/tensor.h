#pragma once
// at::Tensor: one counted pointer. Its operators' methods are generated (shim/methods.inc).
#include <shim/accessor.h>
#include <shim/owned.h>
#include <shim/stream.h>

namespace torch {
namespace autograd {
struct Node;
}
}  // namespace torch
namespace at {
class Tensor;
}
namespace c10 {
using TensorList = ArrayRef<at::Tensor>;
}
namespace at {
namespace indexing {
struct TensorIndex;
}
using TensorBase = Tensor;

struct Storage;

class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& o) : p_(o.p_) {
    if (p_) shim_cxx_retain(p_);
  }
  Tensor(Tensor&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  ~Tensor() { reset(); }
  static Tensor shim_adopt(ShimTensor* owned) {
    Tensor t;
    t.p_ = owned;
    return t;
  }
  ShimTensor* shim_handle() const { return p_; }
  ShimTensor* unsafeGetTensorImpl() const { return p_; }
  Tensor& operator=(const Tensor& o) & {
    Tensor copy(o);
    std::swap(p_, copy.p_);
    return *this;
  }
  Tensor& operator=(Tensor&& o) & noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  Tensor& operator=(const Scalar& v) &&;  // x[i] = y writes
  Tensor& operator=(const Tensor& o) &&;
  Tensor& operator=(Tensor&& o) && { return std::move(*this) = static_cast<const Tensor&>(o); }
  void reset() {
    if (p_) shim_cxx_drop(std::exchange(p_, nullptr));
  }
  bool defined() const { return p_ != nullptr; }
  bool is_same(const Tensor& o) const { return p_ == o.p_; }
  int64_t use_count() const { return shim_cxx_fact(p_, SHIM_USES, 0); }

  ShimView shim_view() const {
    static const int64_t none = 0, one = 1;
    ShimView v{&none, &one, 1, 0, 0, 0, int32_t(ScalarType::Undefined), 0, -1};
    if (!p_) return v;
    shim::check(shim_cxx_view(p_, &v));
    return v;
  }
  int64_t dim() const { return shim_view().dim; }
  int64_t ndimension() const { return dim(); }
  int64_t numel() const { return shim_view().numel; }
  IntArrayRef sizes() const {
    const ShimView v = shim_view();
    return {v.sizes, size_t(v.dim)};
  }
  IntArrayRef sym_sizes() const { return sizes(); }
  IntArrayRef strides() const {
    const ShimView v = shim_view();
    return {v.strides, size_t(v.dim)};
  }
  int64_t size(int64_t d) const { return in_range(sizes(), d); }
  int64_t sym_size(int64_t d) const { return size(d); }
  int64_t sym_numel() const { return numel(); }
  int64_t stride(int64_t d) const { return in_range(strides(), d); }
  int64_t storage_offset() const { return shim_view().offset; }
  int64_t element_size() const { return shim_view().itemsize; }
  size_t itemsize() const { return size_t(element_size()); }
  size_t nbytes() const { return size_t(numel()) * itemsize(); }
  ScalarType scalar_type() const { return ScalarType(shim_view().dtype); }
  caffe2::TypeMeta dtype() const { return caffe2::TypeMeta(scalar_type()); }
  Device device() const {
    const ShimView v = shim_view();
    return {DeviceType(v.device_type), DeviceIndex(v.device_index)};
  }
  int64_t get_device() const { return device().index(); }
  DeprecatedTypeProperties type() const { return {scalar_type(), device()}; }
  TensorOptions options() const { return TensorOptions(scalar_type()).device(device()).layout(layout()); }
  Layout layout() const { return Layout(fact(SHIM_LAYOUT_OF)); }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_meta() const { return device().is_meta(); }
  bool is_xpu() const { return false; }
  bool is_mps() const { return false; }
  bool is_hip() const { return false; }
  bool is_sparse() const { return layout() == kSparse; }
  bool is_conj() const;
  bool is_neg() const;
  bool is_inference() const;
  bool is_same_size(const Tensor& o) const { return sizes() == o.sizes(); }
  bool is_quantized() const { return false; }
  bool is_complex() const { return isComplexType(scalar_type()); }
  bool is_floating_point() const { return isFloatingType(scalar_type()); }
  bool is_signed() const { return isSignedType(scalar_type()); }
  std::string toString() const;
  Storage storage() const;
  bool is_alias_of(const Tensor& o) const;
  bool is_contiguous(MemoryFormat f = MemoryFormat::Contiguous) const {
    return fact(SHIM_IS_CONTIGUOUS, int64_t(f)) != 0;
  }
  bool is_non_overlapping_and_dense() const;
  MemoryFormat suggest_memory_format() const {
    return dim() == 4 && !is_contiguous() && is_contiguous(MemoryFormat::ChannelsLast) ? MemoryFormat::ChannelsLast
                                                                                       : MemoryFormat::Contiguous;
  }
  bool is_pinned() const { return fact(SHIM_IS_PINNED) != 0; }
  bool has_storage() const { return defined(); }
  bool has_names() const { return false; }
  Tensor contiguous(MemoryFormat f = MemoryFormat::Contiguous) const;
  c10::MaybeOwned<Tensor> expect_contiguous(MemoryFormat f = MemoryFormat::Contiguous) const;

  void* data_ptr() const {
    TORCH_CHECK(p_, "Cannot access data pointer of Tensor that doesn't have storage")
    int failed;
    void* p = shim_cxx_data(p_, &failed);
    shim::check(failed);
    return p;
  }
  const void* const_data_ptr() const { return data_ptr(); }
  void* mutable_data_ptr() const { return data_ptr(); }
  template <class T> T* data_ptr() const {
    using Plain = std::remove_const_t<T>;
    constexpr ScalarType wanted = CppTypeToScalarType<Plain>::value;
    TORCH_CHECK(scalar_type() == wanted, "expected scalar type ", c10::toString(wanted), " but found ",
        c10::toString(scalar_type()));
    return static_cast<T*>(data_ptr());
  }
  template <class T> T* mutable_data_ptr() const { return data_ptr<T>(); }
  template <class T> const T* const_data_ptr() const { return data_ptr<const std::remove_const_t<T>>(); }
  template <class T> T* data() const { return data_ptr<T>(); }

  template <class T, size_t N> TensorAccessor<T, N> accessor() const& {
    static_assert(N > 0, "accessor is used for indexing tensor, for scalars use *data_ptr<T>()");
    TORCH_CHECK(dim() == int64_t(N), "TensorAccessor expected ", N, " dims but tensor has ", dim());
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  template <class T, size_t N> TensorAccessor<T, N> accessor() && = delete;
  template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = int64_t>
  GenericPackedTensorAccessor<T, N, P, I> generic_packed_accessor() const {
    TORCH_CHECK(dim() == int64_t(N), "TensorAccessor expected ", N, " dims but tensor has ", dim());
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  template <class T, size_t N, template <class> class P = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, P> packed_accessor32() const {
    TORCH_CHECK(numel() <= int64_t(std::numeric_limits<int32_t>::max()),
        "numel needs to be smaller than int32_t max; otherwise, please use packed_accessor64");
    return generic_packed_accessor<T, N, P, int32_t>();
  }
  template <class T, size_t N, template <class> class P = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, P> packed_accessor64() const {
    return generic_packed_accessor<T, N, P, int64_t>();
  }
  template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = int64_t>
  GenericPackedTensorAccessor<T, N, P, I> packed_accessor() const {
    return generic_packed_accessor<T, N, P, I>();
  }

  Scalar item() const {
    ShimCell c;
    shim::check(shim_cxx_item(p_, &c));
    return Scalar(c);
  }
  template <class T> T item() const { return item().to<T>(); }

  Tensor operator[](int64_t i) const;
  Tensor operator[](const Scalar& i) const { return (*this)[i.toLong()]; }
  Tensor operator[](const Tensor& i) const { return (*this)[i.item().toLong()]; }
  Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& v) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& v) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& v) const;
  Tensor operator~() const;
  Tensor operator-() const;
  Tensor& operator+=(const Tensor& o) const;
  Tensor& operator+=(const Scalar& o) const;
  Tensor& operator-=(const Tensor& o) const;
  Tensor& operator-=(const Scalar& o) const;
  Tensor& operator*=(const Tensor& o) const;
  Tensor& operator*=(const Scalar& o) const;
  Tensor& operator/=(const Tensor& o) const;
  Tensor& operator/=(const Scalar& o) const;
  Tensor toType(ScalarType t) const;
  Tensor to(caffe2::TypeMeta t, bool non_blocking = false, bool copy = false) const;
  Tensor cpu() const;
  Tensor cuda() const;
  void record_stream(Stream s) const;

  bool requires_grad() const { return fact(SHIM_REQUIRES_GRAD) != 0; }
  bool is_leaf() const { return fact(SHIM_IS_LEAF) != 0; }
  uint32_t _version() const { return uint32_t(fact(SHIM_VERSION)); }
  const Tensor& set_requires_grad(bool on) const {
    fact(SHIM_SET_REQUIRES_GRAD, on);
    return *this;
  }
  const Tensor& requires_grad_(bool on = true) const { return set_requires_grad(on); }
  Tensor grad() const { return attribute("grad"); }
  struct Grad;
  Grad mutable_grad() const;
  void retain_grad() const;
  bool retains_grad() const;
  std::shared_ptr<torch::autograd::Node> grad_fn() const;
  template <class F> unsigned register_hook(F&& hook) const;
  void set_data(const Tensor& o) const;
  int64_t output_nr() const;
  void set_grad(const Tensor& g) const;
  Tensor data() const { return attribute("data"); }
  Tensor variable_data() const { return attribute("data"); }
  Tensor tensor_data() const { return attribute("data"); }
  void backward() const;
  void backward(const Tensor& gradient, std::optional<bool> retain_graph = {}, bool create_graph = false,
      const std::optional<ArrayRef<Tensor>>& inputs = {}) const;

#include <shim/methods.inc>
  Tensor& set_(const Storage& s, int64_t offset, IntArrayRef sizes, IntArrayRef strides) const;
  Tensor std(int dim) const { return std(IntArrayRef{int64_t(dim)}, true, false); }  // an int is no bool
  Tensor var(int dim) const { return var(IntArrayRef{int64_t(dim)}, true, false); }

 private:
  int64_t fact(int what, int64_t value = 0) const {
    const int64_t r = shim_cxx_fact(p_, what, value);
    if (r == -1) shim::throw_last();
    return r;
  }
  Tensor attribute(const char* name) const;
  static int64_t in_range(IntArrayRef a, int64_t d) {
    const auto n = int64_t(a.size());
    TORCH_CHECK_INDEX(n > 0 || (d >= -1 && d <= 0), "Dimension specified as ", d, " but tensor has no dimensions");
    TORCH_CHECK_INDEX(d >= -n && d < n, "Dimension out of range (expected to be in range of [", -n, ", ", n - 1,
        "], but got ", d, ")");
    return a[size_t(d < 0 ? d + n : d)];
  }
  ShimTensor* p_ = nullptr;
};
static_assert(sizeof(Tensor) == sizeof(void*), "an array of tensors is one of handles");

}  // namespace at
namespace c10 {
using at::Tensor;
}
namespace torch {
using at::Tensor;
}
