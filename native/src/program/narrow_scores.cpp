// Scores that are converted for a cross entropy are read as they are: neither they nor the chances that backward needs are kept in float32.
#include <algorithm>

#include "program/program.h"

namespace shim::program {
namespace {

constexpr size_t kNone = size_t(-1);

bool is(const Step& step, std::string_view ns, std::string_view name) {
  return !step.apart && step.op->schema.ns == ns && step.op->schema.name == name;
}
// The steps of a loss by their places.
struct Found {
  size_t loss = kNone, slope = kNone, narrowed = kNone;  // the gradient, and what converts it; none: nobody asks for it
  TensorRef scores;
};

class NarrowScores {
 public:
  explicit NarrowScores(Steps& steps) : s_(steps) {}
  bool find(size_t loss, Found&) const;
  void replace(const Found&, Operator* loss, Operator* slope);
  void put_in_place(size_t slope, Operator* put);
  bool over_scores(size_t slope, Operator* put);

 private:
  size_t only_writer(int32_t storage) const;
  std::vector<size_t> readers(int32_t storage) const;
  bool same_until(int32_t storage, size_t from, size_t to) const;
  bool find_backward(Found&) const;
  std::vector<Step> rest_of(const Step& zeros, const TensorRef& rows) const;
  TensorRef in_place_of_clone(const TensorRef&, size_t until) const;
  bool inner(int32_t s) const {
    return s_.storages[size_t(s)].origin == StorageSlot::made && !s_.storages[size_t(s)].outlives;
  }
  Steps& s_;
};

size_t NarrowScores::only_writer(int32_t storage) const {
  size_t found = kNone;
  for (size_t i = 0; i < s_.steps.size(); ++i) {
    if (!changes(s_.steps[i], storage)) continue;
    if (found != kNone) return kNone;
    found = i;
  }
  return found;
}

std::vector<size_t> NarrowScores::readers(int32_t storage) const {
  std::vector<size_t> all;
  for (size_t i = 0; i < s_.steps.size(); ++i)
    if (reads(s_.steps[i], storage)) all.push_back(i);
  return all;
}

bool NarrowScores::same_until(int32_t storage, size_t from, size_t to) const {
  for (size_t i = from + 1; i < to; ++i)
    if (changes(s_.steps[i], storage)) return false;
  return true;
}

// Where nothing but a gradient that is converted back asks for the chances.
bool NarrowScores::find_backward(Found& f) const {
  const int32_t chances = s_.steps[f.loss].results[1].storage;
  if (chances < 0) return true;
  if (!inner(chances)) return !s_.steps[f.loss].results[1].numel();
  const std::vector<size_t> by = readers(chances);
  if (by.empty()) return true;
  if (by.size() != 1 || !is(s_.steps[by[0]], "shim", "cross_entropy_backward")) return false;
  f.slope = by[0];
  const int32_t wide = s_.steps[f.slope].results[0].storage;
  const std::vector<size_t> then = readers(wide);
  if (!inner(wide) || then.size() != 1 || !is(s_.steps[then[0]], "aten", "_to_copy")) return false;
  f.narrowed = then[0];
  const Step &slope = s_.steps[f.slope], &narrowed = s_.steps[f.narrowed];
  const TensorRef& to = narrowed.results[0];
  if (to.dtype != f.scores.dtype || to.strides != contiguous_strides(to.sizes)) return false;
  if (!(*tensor(narrowed, 0) == slope.results[0])) return false;
  for (size_t argument : {0, 2, 3, 4}) {
    const TensorRef* r = tensor(slope, argument);
    if (!r || !same_until(r->storage, f.slope, f.narrowed)) return false;
  }
  return true;
}

// A copy of scores whose rows lie apart is not needed either.
TensorRef NarrowScores::in_place_of_clone(const TensorRef& scores, size_t until) const {
  const size_t at = only_writer(scores.storage);
  if (at == kNone || !is(s_.steps[at], "aten", "clone") || !inner(scores.storage)) return scores;
  const TensorRef &from = *tensor(s_.steps[at], 0), &made = s_.steps[at].results[0];
  const bool rows = from.sizes.size() == 3 && from.strides[2] == 1 && from.sizes[2] == scores.sizes.back() &&
                    from.dtype == scores.dtype && from.device == scores.device && from.numel() == scores.numel();
  const bool packed = made.strides == contiguous_strides(made.sizes) && scores.offset == made.offset;
  return rows && packed && !from.is_neg && same_until(from.storage, at, until) ? from : scores;
}

bool NarrowScores::find(size_t at, Found& f) const {
  const Step& loss = s_.steps[at];
  const TensorRef* wide = is(loss, "shim", "cross_entropy") ? tensor(loss, 0) : nullptr;
  if (!wide || !wide->device.is_cuda() || wide->dtype != DType::f32 || !inner(wide->storage)) return false;
  if (tensor(loss, 2) || !tensor(loss, 1) || loss.results.size() != 4) return false;
  const size_t converted = only_writer(wide->storage);
  if (converted == kNone || converted >= at || !is(s_.steps[converted], "aten", "_to_copy")) return false;
  const TensorRef* scores = tensor(s_.steps[converted], 0);
  const bool narrow = scores && (scores->dtype == DType::bf16 || scores->dtype == DType::f16);
  if (!narrow || scores->device != wide->device || scores->sizes != wide->sizes || scores->is_neg) return false;
  if (scores->strides != contiguous_strides(scores->sizes) || wide->strides != scores->strides) return false;
  f.loss = at;
  f.scores = *scores;
  if (!find_backward(f)) return false;
  const size_t until = f.narrowed == kNone ? at : f.narrowed;
  if (!same_until(scores->storage, converted, until)) return false;
  f.scores = in_place_of_clone(*scores, until);
  return true;
}

void NarrowScores::replace(const Found& f, Operator* op, Operator* backward) {
  Step& loss = s_.steps[f.loss];
  const int64_t rows = std::get<TensorRef>(loss.args[1].is).numel();
  TensorRef levels = loss.results[2];
  levels.storage = int32_t(s_.storages.size());
  levels.sizes = {rows, 2};
  levels.strides = {2, 1};
  levels.offset = 0;
  s_.storages.push_back({StorageSlot::made, {}, levels.device, size_t(rows) * 2 * itemsize(levels.dtype)});
  const List before = loss.args;
  loss.op = op;
  loss.args = {{f.scores}, before[1], before[3], before[4]};
  loss.results[1] = levels;
  if (f.slope == kNone) return;
  Step &slope = s_.steps[f.slope], &narrowed = s_.steps[f.narrowed];
  narrowed.op = backward;
  narrowed.line = slope.line;
  narrowed.args = {slope.args[0], {f.scores}, {levels}, slope.args[2], slope.args[3], slope.args[4], slope.args[5]};
  narrowed.results[0].sizes = f.scores.sizes;
  narrowed.results[0].strides = contiguous_strides(f.scores.sizes);
  s_.steps.erase(s_.steps.begin() + int64_t(f.slope));
}

// Zeros for what lies around rows (blocks, rows, classes) of contiguous blocks of more rows.
std::vector<Step> NarrowScores::rest_of(const Step& zeros, const TensorRef& rows) const {
  const int64_t stride = rows.strides[1], outer = rows.strides[0], before = rows.offset / stride;
  std::vector<Step> all;
  const auto put = [&](int64_t from, int64_t to) {
    if (from >= to) return;
    TensorRef part = rows;
    part.sizes[1] = to - from;
    part.offset = from * stride;
    Step step = zeros;
    step.args[0] = {part};
    step.results = {part};
    all.push_back(std::move(step));
  };
  put(0, before);
  put(before + rows.sizes[1], outer / stride);
  return all;
}

void rename(Steps& s, int32_t from, int32_t to) {
  for (Step& step : s.steps) {
    for (Value& v : step.args) rename(v, from, to);
    for (TensorRef& r : step.results)
      if (r.storage == from) r.storage = to;
  }
}

bool NarrowScores::over_scores(size_t at, Operator* put) {
  Step& step = s_.steps[at];
  const TensorRef made = step.results[0], scores = *tensor(step, 1);
  const auto whole = [&](const TensorRef& r) {
    return inner(r.storage) && r.strides == contiguous_strides(r.sizes) &&
           s_.storages[size_t(r.storage)].nbytes == size_t(r.numel()) * itemsize(r.dtype);
  };
  if (!whole(made) || !whole(scores)) return false;
  for (size_t i = at + 1; i < s_.steps.size(); ++i)
    if (changes(s_.steps[i], scores.storage)) return false;
  for (size_t i : readers(scores.storage))
    if (i > at) return false;
  step.op = put;
  step.args.insert(step.args.begin(), {scores});
  step.results = {scores};
  rename(s_, made.storage, scores.storage);
  return true;
}

// The gradient of scores that were a slice goes to its place among zeros right away: into the memory of the scores, if nobody needs
// these any more. `at`: the step that computes it.
void NarrowScores::put_in_place(size_t at, Operator* put) {
  const TensorRef made = s_.steps[at].results[0], scores = *tensor(s_.steps[at], 1);
  if (over_scores(at, put)) return;
  const std::vector<size_t> by = readers(made.storage);
  if (!inner(made.storage) || by.size() != 1 || !is(s_.steps[by[0]], "aten", "copy_")) return;
  const size_t copied = by[0];
  const TensorRef place = *tensor(s_.steps[copied], 0), *from = tensor(s_.steps[copied], 1);
  const int32_t zeroed = place.storage, given = scores.storage;
  const bool alike = place.sizes.size() == 3 && place.sizes == scores.sizes && place.strides == scores.strides &&
                     place.offset == scores.offset && place.dtype == scores.dtype && from &&
                     from->sizes == place.sizes && from->strides == made.strides && from->offset == made.offset &&
                     from->dtype == made.dtype;
  const int64_t columns = place.sizes.back();
  if (!alike || place.strides[1] != columns || place.strides[0] % columns || place.offset % columns) return;
  const size_t whole = size_t(place.sizes[0] * place.strides[0]) * itemsize(place.dtype);
  for (int32_t s : {zeroed, given})
    if (!inner(s) || s_.storages[size_t(s)].nbytes != whole) return;
  size_t zeros = kNone;
  for (size_t i = 0; i < s_.steps.size(); ++i) {
    const Step& step = s_.steps[i];
    if (i <= copied && changes(step, zeroed) && i != copied) {
      if (zeros != kNone || !fills(*step.op) ||
          tensor(step, 0)->numel() * int64_t(itemsize(place.dtype)) != int64_t(whole))
        return;
      zeros = i;
    }
    if (i > at && i != copied && changes(step, given)) return;
  }
  if (zeros == kNone) return;
  for (size_t i : readers(zeroed))
    if (i < copied && i != zeros) return;
  for (size_t i : readers(given))
    if (i > at) return;
  const Step slope = s_.steps[at];
  std::vector<Step> steps = rest_of(s_.steps[zeros], place);
  List args = {{place}};
  args.insert(args.end(), slope.args.begin(), slope.args.end());
  for (size_t argument : {0, 2, 3, 4, 5})
    if (const TensorRef* r = tensor(slope, argument); r && !same_until(r->storage, at, copied)) return;
  steps.push_back({put, std::move(args), {place}, slope.line});
  std::vector<Step> all;
  for (size_t i = 0; i < s_.steps.size(); ++i) {
    if (i == copied) std::ranges::move(steps, std::back_inserter(all));
    if (i != at && i != copied && i != zeros) all.push_back(std::move(s_.steps[i]));
  }
  s_.steps = std::move(all);
  rename(s_, zeroed, given);
}

}  // namespace

void read_narrow_scores(Steps& s) {
  Operator* loss = find_operator("shim::cross_entropy_scores", "");
  Operator* slope = find_operator("shim::cross_entropy_scores_backward", "");
  Operator* put = find_operator("shim::cross_entropy_scores_put_", "");
  for (size_t i = 0; loss && slope && put && i < s.steps.size(); ++i) {
    NarrowScores all(s);
    Found f;
    if (!all.find(i, f)) continue;
    all.replace(f, loss, slope);
    if (f.narrowed != kNone) all.put_in_place(f.narrowed - 1, put);
  }
}

}  // namespace shim::program
