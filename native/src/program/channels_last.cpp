#include "program/channels_last.h"

#include <algorithm>

#include "cuda/cudnn.h"
#include "program/group.h"
#include "program/image_layouts.h"

namespace shim::program {

using Role = ImageRole;

namespace {

// Channels that cuDNN's kernels for tensor cores take at once.
int64_t unit_of(DType t) { return t == DType::f32 ? 4 : 8; }

// As measured on an H200: of what is left out cuDNN makes padded copies, or has slow kernels.
bool is_fast(int64_t from, int64_t to, int64_t groups, int64_t taps, int64_t unit) {
  const int64_t each = from / groups;
  const bool even = (each % unit == 0 || (each > 1 && each <= 4)) && to % unit == 0;
  return even || (from == groups && groups > 1) || (taps > 1 && each >= 8 && to / groups >= 8);
}

}  // namespace

// Whether it is a convolution that is faster so: in float32 by tensor cores, or in half precision.
bool ImageLayouts::convolves(Step& step) {
  const TensorRef *x = tensor(step, 0), *weight = tensor(step, 1);
  const auto* groups = std::get_if<int64_t>(&step.args[8].is);
  if (!x || !weight || !groups) return false;
  const TensorRef& y = step.results[0];
  if (x->sizes.size() != 4 || weight->sizes.size() != 4 || y.sizes.size() != 4 || !y.numel()) return false;
  if (x->device != y.device || weight->device != y.device || weight->dtype != x->dtype) return false;
  const int64_t taps = weight->sizes[2] * weight->sizes[3];
  if (!is_fast(x->sizes[1], y.sizes[1], *groups, taps, unit_of(x->dtype))) return false;
  if (on_cpu_) return y.device.is_cpu();
  if (!y.device.is_cuda() || !cudnn::settings().enabled) return false;
  return x->dtype == DType::f16 || x->dtype == DType::bf16 || (x->dtype == DType::f32 && cudnn::settings().allow_tf32);
}

Role ImageLayouts::role_of(Step& step) {
  const std::string_view told = step.op->traits->channels_last ? step.op->traits->channels_last : "";
  if (step.apart || step.op->out || step.results.empty()) return Role::other;
  if (told == "convolution") return step.args.size() == 9 && convolves(step) ? Role::convolution : Role::other;
  if (told == "kept") return Role::keeps;
  if (told == "read") return Role::reads;
  Group trial;
  return begin_group(trial, s_, step) && !trial.rows ? Role::pointwise : Role::other;
}

// Memory that only such operators touch, as an image or as parts of one.
void ImageLayouts::find_images() {
  for (size_t i = 0; i < images_.size(); ++i) images_[i].with = i;
  const auto is_made = [&](const TensorRef& r) {
    const StorageSlot& slot = s_.storages[size_t(r.storage)];
    return slot.origin == StorageSlot::made && slot.device == device_;
  };
  for (Step& step : s_.steps)
    each_of(step, [&](TensorRef& r) {
      Image& i = images_[size_t(r.storage)];
      if (i.sizes.empty() && is_made(r) && has_places(r.sizes) && r.offset == 0 &&
          lies_as(r, contiguous_strides(r.sizes)) &&
          size_t(r.numel()) * itemsize(r.dtype) == s_.storages[size_t(r.storage)].nbytes)
        i.sizes = r.sizes, i.dtype = r.dtype;
    });
  for (size_t k = 0; k < s_.steps.size(); ++k) {
    Step& step = s_.steps[k];
    each_of(step, [&](TensorRef& r) {
      Image& i = images_[size_t(r.storage)];
      if (!i.sizes.empty() && (roles_[k] == Role::other || !i.holds(r))) i.sizes.clear();
    });
    if (roles_[k] == Role::reads)
      for (const TensorRef& r : step.results)
        if (r.storage >= 0) images_[size_t(r.storage)].sizes.clear();
  }
}

// Which images lie alike: all that one operator reads and writes, but for convolutions and what only reads.
void ImageLayouts::find_pairs() {
  for (size_t k = 0; k < s_.steps.size(); ++k) {
    Image* together = nullptr;
    if (roles_[k] == Role::pointwise || roles_[k] == Role::keeps)
      each_of(s_.steps[k], [&](TensorRef& r) {
        Image* i = image(&r);
        if (i && together && i != together) i->with = together->with, together->sides += i->sides;
        if (i && !together) together = i;
      });
    if (roles_[k] != Role::convolution) continue;
    for (TensorRef* r : {tensor(s_.steps[k], 0), &s_.steps[k].results[0]})
      if (Image* i = image(r)) ++i->sides;
  }
}

// Images between two convolutions, and what else these read and write, as do those that lie so anyway. False: there are none.
bool ImageLayouts::choose() {
  chosen_.resize(s_.steps.size());
  for (size_t k = 0; k < s_.steps.size(); ++k)
    if (roles_[k] == Role::convolution)
      for (TensorRef* r : {tensor(s_.steps[k], 0), &s_.steps[k].results[0]}) {
        if (Image* i = image(r); i && i->sides > 1) i->last = chosen_[k] = true;
        if (has_places(r->sizes) && lies_as(*r, channels_last_strides(r->sizes))) chosen_[k] = true;
      }
  for (size_t k = 0; k < s_.steps.size(); ++k)
    if (chosen_[k])
      for (TensorRef* r : {tensor(s_.steps[k], 0), tensor(s_.steps[k], 1), &s_.steps[k].results[0]})
        if (Image* i = image(r)) i->last = true;
  return std::ranges::find(chosen_, true) != chosen_.end();
}

void ImageLayouts::run() {
  written_.resize(s_.storages.size());
  std::optional<Device> at;
  for (Step& step : s_.steps) {
    roles_.push_back(role_of(step));
    const Device where = step.results.empty() ? Device{} : step.results[0].device;
    if (roles_.back() == Role::convolution && at && *at != where) return;  // of one device
    if (roles_.back() == Role::convolution) at = where;
    each_written(step, [&](int32_t s) { written_[size_t(s)] = true; });
  }
  if (!at) return;
  device_ = *at;
  find_images();
  find_pairs();
  if (!choose()) return;
  move_images();
  give_copies();
}

void put_channels_last(Steps& s, bool on_cpu) {
  const auto told = [](const Step& step, std::string_view what) {
    return step.op->traits->channels_last && step.op->traits->channels_last == what;
  };
  const auto any = [&](std::string_view what) {
    return std::ranges::any_of(s.steps, [&](const Step& step) { return told(step, what); });
  };
  if (any("convolution") && !any("gradient")) ImageLayouts(s, on_cpu).run();
}

}  // namespace shim::program
