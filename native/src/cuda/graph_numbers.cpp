#include "cuda/graph_numbers.h"

#include <cstring>

#include "core/error.h"

namespace shim::cuda {

GraphNumbers::GraphNumbers(int device, size_t launches)
    : device_(device), memory_(allocate(launches * kMostBytes, {DeviceType::cuda, int8_t(device)})) {}

const void* GraphNumbers::place(const void* numbers, size_t bytes, size_t tensors) {
  const size_t from = at_ * kMostBytes;
  CHECK(shim::Kind::Runtime, bytes <= kMostBytes && from + kMostBytes <= memory_->nbytes(),
      "a graph has too many numbers");
  if (renews_)
    CHECK(shim::Kind::Runtime, at_ < places_.size() && places_[at_].bytes == bytes && places_[at_].tensors == tensors,
        "an operator has other launches than at the capture");
  else
    places_.push_back({bytes, tensors}), host_.resize(from + kMostBytes);
  std::memcpy(host_.data() + from, numbers, bytes);
  ++at_;
  return static_cast<const std::byte*>(memory_->data()) + from;
}

size_t GraphNumbers::next_tensors() const {
  CHECK(shim::Kind::Runtime, at_ < places_.size(), "an operator has other launches than at the capture");
  return places_[at_].tensors;
}

void GraphNumbers::renew() {
  renews_ = true;
  at_ = 0;
}

void GraphNumbers::upload(CUstream stream) const {
  if (!places_.empty())
    copy_bytes(
        memory_->data(), host_.data(), (places_.size() - 1) * kMostBytes + places_.back().bytes, device_, stream);
}

}  // namespace shim::cuda
