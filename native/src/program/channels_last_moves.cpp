#include <algorithm>

#include "program/image_layouts.h"

namespace shim::program {
namespace {

Step copying_step(const TensorRef& to, const TensorRef& from, int32_t line) {
  static Operator* copy = find_operator("aten::copy_", "");
  return {copy, {{to}, {from}, {false}}, {to}, line};
}

TensorRef whole_of(const Image& i, int32_t storage, Device device) {
  TensorRef r;
  r.storage = storage;
  r.dtype = i.dtype;
  r.device = device;
  r.sizes = i.sizes;
  r.strides = contiguous_strides(i.sizes);
  return r;
}

// The bias as a step of its own, which the group after the convolution takes; none: there is none.
std::optional<Step> bias_apart(Step& convolution) {
  const TensorRef* given = tensor(convolution, 2);
  const TensorRef& y = convolution.results[0];
  if (!given || given->sizes.size() != 1 || given->dtype != y.dtype) return {};
  static Operator* add = find_operator("aten::add_", "Tensor");
  TensorRef bias = *given;
  bias.sizes = {bias.sizes[0], 1, 1};
  bias.strides = {bias.strides[0], 0, 0};
  convolution.args[2] = {};
  return Step{add, {{y}, {bias}, {int64_t{1}}}, {y}, convolution.line};
}

}  // namespace

int32_t ImageLayouts::storage_like(const TensorRef& r, StorageSlot::Origin origin) {
  s_.storages.push_back({origin, {}, r.device, size_t(r.numel()) * itemsize(r.dtype), false});
  return int32_t(s_.storages.size() - 1);
}

// What somebody sees afterwards has another memory within the program, from which it is copied once it was written.
void ImageLayouts::move_images() {
  std::vector<int32_t> inside(images_.size());
  std::vector<size_t> last_write(images_.size());
  for (size_t i = 0; i < images_.size(); ++i) {
    inside[i] = int32_t(i);
    if (images_[i].sizes.empty() || !first(i).last || !s_.storages[i].outlives) continue;
    inside[i] = storage_like(whole_of(images_[i], int32_t(i), device_), StorageSlot::made);
  }
  for (size_t k = 0; k < s_.steps.size(); ++k) {
    Step& step = s_.steps[k];
    for (const TensorRef& r : step.results)
      if (r.storage >= 0) last_write[size_t(r.storage)] = k;
    each_of(step, [&](TensorRef& r) {
      const Image* alike = image(&r);
      if (!alike || !alike->last) return;
      images_[size_t(r.storage)].move(r);
      r.storage = inside[size_t(r.storage)];
    });
  }
  for (size_t i = 0; i < images_.size(); ++i) {
    if (inside[i] == int32_t(i)) continue;
    const TensorRef to = whole_of(images_[i], int32_t(i), device_);
    TensorRef from = to;
    images_[i].move(from);
    from.storage = inside[i];
    added_.push_back({last_write[i] + 1, copying_step(to, from, s_.steps[last_write[i]].line)});
  }
}

// An image from outside, which all convolutions that read it have converted once.
void ImageLayouts::enter(size_t step, TensorRef& x) {
  if (s_.storages[size_t(x.storage)].origin == StorageSlot::made || written_[size_t(x.storage)] || !has_places(x.sizes))
    return;
  TensorRef to = x;
  to.strides = channels_last_strides(x.sizes);
  to.offset = 0;
  if (lies_as(x, to.strides)) return;
  for (Added& a : added_)
    if (std::get<TensorRef>(a.step.args[1].is) == x) {
      to.storage = a.step.results[0].storage;
      x = to;
      return;
    }
  to.storage = storage_like(x, StorageSlot::made);
  added_.push_back({step, copying_step(to, x, s_.steps[step].line)});
  x = to;
}

void ImageLayouts::give_copy(TensorRef& weight) {
  if (s_.storages[size_t(weight.storage)].origin == StorageSlot::made || written_[size_t(weight.storage)]) return;
  TensorRef to = weight;
  to.strides = channels_last_strides(weight.sizes);
  if (lies_as(weight, to.strides)) {
    weight = to;
    return;
  }
  to.offset = 0;
  for (const KeptCopy& c : s_.copies)
    if (c.from == weight) {
      weight = c.to;
      return;
    }
  to.storage = storage_like(weight, StorageSlot::copy);
  s_.copies.push_back({weight, to});
  weight = to;
}

void ImageLayouts::give_copies() {
  for (size_t k = 0; k < chosen_.size(); ++k) {
    if (!chosen_[k]) continue;
    enter(k, *tensor(s_.steps[k], 0));
    give_copy(*tensor(s_.steps[k], 1));
  }
  std::ranges::stable_sort(added_, {}, &Added::before);
  std::vector<Step> steps;
  auto next = added_.begin();
  for (size_t k = 0; k <= chosen_.size(); ++k) {
    for (; next != added_.end() && next->before == k; ++next) steps.push_back(std::move(next->step));
    if (k == chosen_.size()) break;
    std::optional<Step> bias = chosen_[k] ? bias_apart(s_.steps[k]) : std::nullopt;
    steps.push_back(std::move(s_.steps[k]));
    if (bias) steps.push_back(std::move(*bias));
  }
  s_.steps = std::move(steps);
}

}  // namespace shim::program
