#pragma once
// How channels_last.cpp finds which images of a program lie with channels last, and channels_last_moves.cpp has them lie so.
#include <optional>

#include "program/step.h"

namespace shim::program {

enum class ImageRole : uint8_t { other, pointwise, convolution, keeps, reads };

template <class F> void each_of(Step& step, F&& visit) {
  for (Value& v : step.args) each_tensor(v, visit);
  for (TensorRef& r : step.results)
    if (r.storage >= 0) visit(r);
}

// Dims of one element have any stride.
inline bool lies_as(const TensorRef& r, const Dims& strides) {
  for (size_t d = 0; d < r.sizes.size(); ++d)
    if (r.sizes[d] != 1 && r.strides[d] != strides[d]) return false;
  return true;
}
// Whether the order of channels and places is one: they lie otherwise with channels last.
inline bool has_places(const Dims& sizes) {
  return sizes.size() == 4 && product(sizes) && sizes[1] > 1 && sizes[2] * sizes[3] > 1;
}

// The memory of one image, or of several as one: refs to it are the whole or parts that were cut out of it.
struct Image {
  Dims sizes;  // none: it is no image that may lie otherwise
  DType dtype = DType::undefined;
  size_t with = 0;  // one of those that it lies like; its own number: of all of these the first
  int sides = 0;    // of convolutions, of all that lie like it
  bool last = false;

  bool holds(const TensorRef& r) const {
    if (r.dtype != dtype || r.sizes.size() != 4 || r.is_conj || r.is_neg) return false;
    const Dims strides = contiguous_strides(sizes);
    int64_t rest = r.offset;
    for (size_t d = 0; d < 4; rest %= strides[d++])
      if (rest / strides[d] + r.sizes[d] > sizes[d]) return false;
    return lies_as(r, strides);
  }
  // The same elements with channels last.
  void move(TensorRef& r) const {
    const Dims from = contiguous_strides(sizes), to = channels_last_strides(sizes);
    int64_t at = 0;
    for (size_t d = 0; d < 4; r.offset %= from[d++]) at += r.offset / from[d] * to[d];
    r.offset = at;
    r.strides = to;
  }
};

class ImageLayouts {
 public:
  ImageLayouts(Steps& steps, bool on_cpu) : s_(steps), on_cpu_(on_cpu), images_(steps.storages.size()) {}
  void run();

 private:
  ImageRole role_of(Step&);
  bool convolves(Step&);
  void find_images();
  void find_pairs();
  bool choose();
  void move_images();
  void give_copies();
  void enter(size_t step, TensorRef& x);
  void give_copy(TensorRef& weight);
  int32_t storage_like(const TensorRef&, StorageSlot::Origin);
  Image* image(const TensorRef* r) {
    return r && r->storage >= 0 && !images_[size_t(r->storage)].sizes.empty() ? &first(size_t(r->storage)) : nullptr;
  }
  Image& first(size_t storage) {
    while (images_[storage].with != storage) storage = images_[storage].with;
    return images_[storage];
  }

  Steps& s_;
  bool on_cpu_;
  Device device_;
  std::vector<ImageRole> roles_;
  std::vector<Image> images_;  // by storage
  std::vector<bool> written_;
  std::vector<bool> chosen_;  // convolutions
  struct Added {
    size_t before;  // this step
    Step step;
  };
  std::vector<Added> added_;
};

}  // namespace shim::program
