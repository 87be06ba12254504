#pragma once
// The tensor: shared storage seen through sizes, strides and an offset. No Python in here.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/device.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/recycled.h"
#include "core/refcount.h"
#include "core/storage.h"

namespace shim {

using Dims = std::vector<int64_t>;
using IntArrayRef = std::span<const int64_t>;
constexpr int kInlineDims = 5;
constexpr int kMaxDims = 64;

struct AutogradMeta;  // autograd/autograd.h
class TensorImpl;
using Tensor = Ref<TensorImpl>;

enum class MemoryFormat : int8_t { contiguous = 0, preserve = 1, channels_last = 2, channels_last_3d = 3 };

extern constinit thread_local uint8_t
    gradient_transforms;  // how many function transforms that differentiate run on this thread, nested
bool creating_inference_tensors() noexcept;  // this thread is in inference mode (autograd/)

class TensorImpl final : public RefCounted, public Recycled<TensorImpl> {
 public:
  struct Geometry {    // of a tensor that there was
    IntArrayRef dims;  // sizes, then strides
    int64_t offset, numel;
    bool contiguous;
  };
  TensorImpl(Ref<Storage> storage, DType dtype, IntArrayRef sizes, IntArrayRef strides, int64_t offset);
  TensorImpl(Ref<Storage> storage, DType dtype, const Geometry&);
  ~TensorImpl() override;

  // Geometry. Sizes and strides lie in C++ memory that stays valid while the tensor's geometry is unchanged.
  int dim() const noexcept { return ndim_; }
  const int64_t* sizes_data() const noexcept { return ndim_ <= kInlineDims ? inline_ : heap_.get(); }
  const int64_t* strides_data() const noexcept { return sizes_data() + ndim_; }
  IntArrayRef sizes() const noexcept { return {sizes_data(), size_t(ndim_)}; }
  IntArrayRef strides() const noexcept { return {strides_data(), size_t(ndim_)}; }
  int64_t size(int64_t d) const;  // negative d wraps; IndexError text as PyTorch's
  int64_t stride(int64_t d) const;
  int64_t numel() const noexcept { return numel_; }
  int64_t storage_offset() const noexcept { return offset_; }
  bool is_contiguous() const noexcept { return contiguous_; }
  bool is_contiguous(MemoryFormat) const;
  void set_geometry(IntArrayRef sizes, IntArrayRef strides, int64_t offset);  // what set_() and resize_() do

  DType dtype() const noexcept { return dtype_; }
  Device device() const noexcept { return device_; }
  size_t itemsize() const noexcept { return shim::itemsize(dtype_); }
  const Ref<Storage>& storage() const noexcept { return storage_; }
  void set_storage(Ref<Storage> s) {
    storage_ = std::move(s);
    device_ = storage_->device();
  }
  void set_dtype(DType t) noexcept { dtype_ = t; }  // only for view(dtype) and .data
  // Where its memory is, to read or write it: null for meta and for empty storage. Throws where the storage holds less than the tensor reaches.
  void* data() const {
    char* p = static_cast<char*>(storage_->whole());
    return __builtin_expect(p != nullptr, 1) ? p + offset_ * int64_t(itemsize()) : checked_address();
  }
  template <class T> T* data_as() const { return static_cast<T*>(data()); }
  void* address() const {  // the same unchecked, for who only asks where it is
    char* p = static_cast<char*>(storage_->data());
    return p ? p + offset_ * int64_t(itemsize()) : nullptr;
  }
  void* checked_address() const;  // of a storage that has no memory, or less than it had

  // In-place writes. Views and detach() share the counter of their base; `.data` gets one of its own.
  uint32_t version() const noexcept { return own_version_ ? own_version_->load() : storage_->version().load(); }
  void bump_version() noexcept {
    own_version_ ? ++*own_version_ : ++storage_->version();
    storage_->changed();
  }
  std::shared_ptr<std::atomic<uint32_t>>& own_version() noexcept { return own_version_; }
  void keep_version() {
    if (!own_version_) own_version_ = storage_->share_version();
  }  // before its storage is another's: its views count on with it

  // Autograd. Null until something about gradients is set.
  AutogradMeta* autograd() const noexcept { return autograd_; }
  AutogradMeta& ensure_autograd();      // defined in autograd/
  bool requires_grad() const noexcept;  // a leaf that wants a gradient, or has a grad_fn

  // The Python object, if one exists; borrowed unless keeps_object() (then the tensor keeps its object's state alive).
  void* pyobj = nullptr;
  bool is_inference;  // made in inference mode; views of a normal tensor are normal
  // The values are the conjugate, the negative, of what memory holds (core/math_bits.h).
  bool is_conj = false, is_neg = false;
  bool has_math_bits() const noexcept { return is_conj | is_neg; }
  bool wrapped_number = false;  // a Python number seen as a 0-d tensor, for promotion
  uint8_t made_in =
      gradient_transforms;   // what that was when it was made: a transform's function may not write to older ones
  uint8_t asks_handler = 0;  // which questions a wrapper's __torch_dispatch__ answers (python/wrapper.h)

 private:
  void destroy() override { delete this; }
  Ref<Storage> storage_;
  int64_t numel_ = 0, offset_ = 0;
  DType dtype_;
  Device device_;
  uint8_t ndim_ = 0;
  bool contiguous_ = true;
  int64_t inline_[2 * kInlineDims];  // sizes, then strides
  std::unique_ptr<int64_t[]> heap_;
  std::shared_ptr<std::atomic<uint32_t>> own_version_;
  AutogradMeta* autograd_ = nullptr;
};

// --- creation (core/tensor.cpp) -------------------------------------------------------------------------------------
Tensor empty(IntArrayRef sizes, DType, Device, bool pinned = false, MemoryFormat = MemoryFormat::contiguous);
Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, DType, Device, bool pinned = false);
std::string bracketed(IntArrayRef);  // [2, 3], as error texts print sizes and strides
Dims contiguous_strides(IntArrayRef sizes);
Dims dense_strides(IntArrayRef sizes,
    std::span<const Dims> operands);  // what an operator over operands of these strides (0: broadcast) lays out
MemoryFormat suggest_memory_format(
    const TensorImpl&);  // the format that the strides tell of; contiguous where they don't
MemoryFormat common_memory_format(
    std::span<const TensorImpl* const>);  // what that tells of all of them; contiguous where they differ
Dims channels_last_strides(IntArrayRef sizes);
// It counts as a number among tensors of another device.
inline bool is_cpu_scalar(const TensorImpl& t) { return t.device().is_cpu() && t.dim() == 0; }
int64_t product(IntArrayRef);
size_t storage_bytes(
    IntArrayRef sizes, IntArrayRef strides, size_t itemsize);  // smallest storage that holds the geometry
// Whether it has each byte of a storage of so many, from the first on.
bool fills_storage(IntArrayRef sizes, IntArrayRef strides, size_t itemsize, size_t nbytes);
int64_t wrap_dim(
    int64_t dim, int64_t ndim);  // "Dimension out of range (expected to be in range of [-2, 1], but got 2)"
Dims broadcast_shapes(IntArrayRef a,
    IntArrayRef b);  // "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"
Dims infer_size(IntArrayRef shape, int64_t numel);  // resolves -1: "shape '[2, -1]' is invalid for input of size 5"

inline bool has_data(const TensorImpl& t) {  // false: of a wrapper subclass, which has a device but no memory
  return t.storage()->has_memory() || t.numel() == 0 || t.storage()->nbytes() == 0 || t.device().is_meta();
}

// --- views (core/views.cpp): share storage, no autograd; the caller records history ---------------------------------
Tensor alias(const TensorImpl&);  // same storage and geometry, fresh autograd state
Tensor as_strided(const TensorImpl&, IntArrayRef sizes, IntArrayRef strides, int64_t offset);
Tensor view(const TensorImpl&, IntArrayRef shape);  // RuntimeError text of PyTorch where strides forbid it
bool try_view_strides(IntArrayRef sizes, IntArrayRef strides, IntArrayRef new_sizes, Dims& out);
Tensor view_dtype(const TensorImpl&, DType);
Tensor transpose(const TensorImpl&, int64_t d0, int64_t d1);
Tensor permute(const TensorImpl&, IntArrayRef dims);
Tensor expand(const TensorImpl&, IntArrayRef sizes);
Tensor squeeze(const TensorImpl&);
Tensor squeeze(const TensorImpl&, IntArrayRef dims);
Tensor unsqueeze(const TensorImpl&, int64_t dim);
Tensor select(const TensorImpl&, int64_t dim, int64_t index);
Tensor slice(
    const TensorImpl&, int64_t dim, int64_t start, int64_t end, int64_t step);  // ends already defaulted by the caller
Tensor narrow(const TensorImpl&, int64_t dim, int64_t start, int64_t length);
Tensor unfold(const TensorImpl&, int64_t dim, int64_t size, int64_t step);
Tensor diagonal(const TensorImpl&, int64_t offset, int64_t d1, int64_t d2);
Tensor view_as_real(const TensorImpl&);
Tensor view_as_complex(const TensorImpl&);

}  // namespace shim
