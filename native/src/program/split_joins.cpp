// What is computed of a join of equal pieces is computed piece by piece, as is what pieces were cut from: rotary places turn halves of a
// head around, and one kernel does it, with nothing in between in memory.
#include <algorithm>
#include <map>
#include <set>

#include "program/program.h"

namespace shim::program {
namespace {

constexpr size_t kMostMembers = 12;

struct Use {
  size_t step;
  const TensorRef* ref;
};

// Who uses the storages of steps.
struct Uses {
  std::vector<std::vector<Use>> of;  // their readers
  std::vector<size_t> maker;         // the only step that writes to it; the number of steps: none is
  explicit Uses(const Steps& s) : of(s.storages.size()), maker(s.storages.size(), s.steps.size()) {
    std::vector<bool> met(s.storages.size());
    const auto write = [&](int32_t storage, size_t step) {
      size_t& by = maker[size_t(storage)];
      by = !met[size_t(storage)] || by == step ? step : s.steps.size();
      met[size_t(storage)] = true;
    };
    for (size_t i = 0; i < s.steps.size(); ++i) {
      const Step& step = s.steps[i];
      for (size_t a = 0; a < step.args.size(); ++a)
        each_tensor(step.args[a], [&](const TensorRef& r) {
          of[size_t(r.storage)].push_back({i, &r});
          if (writes(step, a)) write(r.storage, i);
        });
      for (const TensorRef& r : step.results)
        if (r.storage >= 0) write(r.storage, i);
    }
  }
};

class SplitJoin {
 public:
  SplitJoin(Steps& steps, const Uses& uses, size_t join) : s_(steps), uses_(uses), join_(join) {}
  bool find();
  void replace();

 private:
  bool begins();
  bool pointwise(size_t step) const;
  const std::vector<Use>& uses(int32_t storage) const { return uses_.of[size_t(storage)]; }
  size_t maker(int32_t storage) const { return uses_.maker[size_t(storage)]; }
  int piece_of(const TensorRef& ref, const TensorRef& whole) const;  // which; -1: it is none
  TensorRef narrowed(const TensorRef&, size_t piece) const;
  bool grow();
  bool split(size_t step) const;  // whether its readers would all do with pieces
  bool needs_whole(int32_t storage, const TensorRef& whole) const;

  Steps& s_;
  const Uses& uses_;
  size_t join_, d_ = 0, count_ = 0;
  TensorRef whole_;
  std::vector<TensorRef> given_;  // the pieces
  std::set<size_t> members_;      // steps that are done piece by piece
  struct Made {
    TensorRef whole;
    std::vector<TensorRef> pieces;
    bool by_pieces = false;  // somebody reads them who is no member
    bool whole_too = false;  // it is needed as such too
  };
  void emit(const Step&, Made&, std::vector<Step>& to);
  void copies(const TensorRef& whole, int32_t line, std::vector<Step>& to) const;
  TensorRef standing_for(const TensorRef&) const;
  void put_standing(Value&) const;
  std::map<int32_t, Made> made_;  // by members and the join
};

bool SplitJoin::begins() {
  const Step& step = s_.steps[join_];
  if (step.apart || step.op->schema.ns != "aten" || step.op->schema.name != "cat" || step.op->out ||
      step.args.size() != 2)
    return false;
  const auto* list = std::get_if<List>(&step.args[0].is);
  const auto* dim = std::get_if<int64_t>(&step.args[1].is);
  if (!list || !dim || list->size() < 2 || list->size() > 4) return false;
  whole_ = step.results[0];
  d_ = size_t(*dim < 0 ? *dim + int64_t(whole_.sizes.size()) : *dim);
  count_ = list->size();
  if (maker(whole_.storage) != join_) return false;
  for (const Value& v : *list) {
    const auto* piece = std::get_if<TensorRef>(&v.is);
    Dims sizes = whole_.sizes;
    sizes[d_] /= int64_t(count_);
    if (!piece || piece->dtype != whole_.dtype || piece->sizes != sizes || piece->is_neg || piece->is_conj)
      return false;
    given_.push_back(*piece);
  }
  return true;
}

// Whether it computes each element of a whole by itself.
bool SplitJoin::pointwise(size_t index) const {
  const Step& step = s_.steps[index];
  if (!step.op->pointwise || step.results.size() != 1 || step.results[0].sizes != whole_.sizes) return false;
  const int32_t made = step.results[0].storage;
  if (made < 0 || s_.storages[size_t(made)].origin != StorageSlot::made || maker(made) != index) return false;
  for (size_t i = 0; i < step.args.size(); ++i)
    if (writes(step, i) || std::holds_alternative<List>(step.args[i].is)) return false;
  Group trial;
  return begin_group(trial, s_, step);
}

int SplitJoin::piece_of(const TensorRef& ref, const TensorRef& whole) const {
  for (size_t k = 0; k < count_; ++k) {
    TensorRef piece = narrowed(whole, k);
    piece.wrapped_number = ref.wrapped_number;
    if (ref == piece) return int(k);
  }
  return -1;
}

TensorRef SplitJoin::narrowed(const TensorRef& r, size_t piece) const {
  const size_t before = whole_.sizes.size() - r.sizes.size();
  TensorRef n = r;
  if (d_ < before || r.sizes[d_ - before] == 1) return n;
  n.sizes[d_ - before] /= int64_t(count_);
  n.offset += int64_t(piece) * n.sizes[d_ - before] * n.strides[d_ - before];
  return n;
}

bool SplitJoin::split(size_t index) const {
  const TensorRef& made = s_.steps[index].results[0];
  if (s_.storages[size_t(made.storage)].outlives) return false;
  return std::ranges::all_of(uses(made.storage),
      [&](const Use& u) { return members_.contains(u.step) ? *u.ref == made : piece_of(*u.ref, made) >= 0; });
}

// Who reads wholes, who makes what they read, and what pieces are of.
bool SplitJoin::grow() {
  const size_t before = members_.size();
  std::vector<TensorRef> wholes = {whole_};
  for (size_t m : members_) wholes.push_back(s_.steps[m].results[0]);
  for (const TensorRef& whole : wholes)
    for (const Use& u : uses(whole.storage))
      if (*u.ref == whole && u.step > join_ && pointwise(u.step)) members_.insert(u.step);
  std::set<int32_t> read;
  const auto reads = [&](size_t step) {
    for (const Value& v : s_.steps[step].args) each_tensor(v, [&](const TensorRef& r) { read.insert(r.storage); });
  };
  for (size_t m : members_) reads(m);
  for (const TensorRef& piece : given_) {
    read.insert(piece.storage);
    if (const size_t by = maker(piece.storage); by < join_ && s_.steps[by].op->pointwise) reads(by);
  }
  for (int32_t storage : read)
    if (const size_t by = maker(storage); by < s_.steps.size() && by != join_ && pointwise(by) && split(by))
      members_.insert(by);
  return members_.size() > before && members_.size() <= kMostMembers;
}

bool SplitJoin::find() {
  if (!begins()) return false;
  while (grow()) continue;
  if (members_.empty() || members_.size() > kMostMembers || *members_.rbegin() < join_) return false;
  for (const TensorRef& piece : given_)  // members read them later than the join did
    for (size_t i = join_ + 1; i <= *members_.rbegin(); ++i)
      if (changes(s_.steps[i], piece.storage)) return false;
  return true;
}

bool SplitJoin::needs_whole(int32_t storage, const TensorRef& whole) const {
  if (s_.storages[size_t(storage)].outlives) return true;
  return !std::ranges::all_of(uses(storage),
      [&](const Use& u) { return members_.contains(u.step) ? *u.ref == whole : piece_of(*u.ref, whole) >= 0; });
}

void SplitJoin::copies(const TensorRef& whole, int32_t line, std::vector<Step>& to) const {
  static Operator* copy = find_operator("aten::copy_", "");
  for (size_t k = 0; k < count_; ++k) {
    const TensorRef place = narrowed(whole, k);
    to.push_back({copy, {{place}, {made_.at(whole.storage).pieces[k]}, {false}}, {place}, line});
  }
}

void SplitJoin::emit(const Step& step, Made& made, std::vector<Step>& to) {
  for (size_t k = 0; k < count_; ++k) {
    Step part = step;
    for (Value& v : part.args)
      if (auto* r = std::get_if<TensorRef>(&v.is)) {
        const auto known = made_.find(r->storage);
        *r = known != made_.end() && *r == known->second.whole ? known->second.pieces[k] : narrowed(*r, k);
      }
    TensorRef& piece = part.results[0];
    piece = narrowed(made.whole, 0);
    piece.storage = int32_t(s_.storages.size());
    piece.offset = 0;
    piece.strides = contiguous_strides(piece.sizes);
    StorageSlot slot{StorageSlot::made, {}, piece.device, size_t(piece.numel()) * itemsize(piece.dtype)};
    slot.rounded = made.by_pieces;
    s_.storages.push_back(std::move(slot));
    made.pieces.push_back(piece);
    to.push_back(std::move(part));
  }
}

// What stands for a piece of a whole that is not there.
void SplitJoin::put_standing(Value& v) const {
  if (auto* list = std::get_if<List>(&v.is))
    for (Value& i : *list) put_standing(i);
  else if (auto* r = std::get_if<TensorRef>(&v.is))
    *r = standing_for(*r);
}

TensorRef SplitJoin::standing_for(const TensorRef& r) const {
  const auto known = made_.find(r.storage);
  if (known == made_.end() || known->second.whole_too) return r;
  return known->second.pieces[size_t(piece_of(r, known->second.whole))];
}

void SplitJoin::replace() {
  for (const TensorRef& piece : given_)
    if (s_.storages[size_t(piece.storage)].origin == StorageSlot::made)
      s_.storages[size_t(piece.storage)].rounded = true;
  const auto note = [&](const TensorRef& whole) {
    const auto other = [&](const Use& u) { return !members_.contains(u.step); };
    made_[whole.storage] = {
        whole, {}, std::ranges::any_of(uses(whole.storage), other), needs_whole(whole.storage, whole)};
  };
  note(whole_);
  for (size_t m : members_) note(s_.steps[m].results[0]);
  std::vector<Step> before = std::move(s_.steps), all;
  for (size_t i = 0; i < before.size(); ++i) {
    Step& step = before[i];
    if (i != join_ && !members_.contains(i)) {
      for (Value& v : step.args) put_standing(v);
      all.push_back(std::move(step));
      continue;
    }
    Made& made = made_.at(step.results[0].storage);
    if (i == join_)
      for (const TensorRef& piece : given_) made.pieces.push_back(standing_for(piece));
    else
      emit(step, made, all);
    if (made.whole_too) copies(made.whole, step.line, all);
  }
  s_.steps = std::move(all);
}

}  // namespace

void split_joins(Steps& s) {
  std::optional<Uses> uses;
  for (size_t i = 0; i < s.steps.size(); ++i) {
    if (s.steps[i].op->schema.name != "cat") continue;
    if (!uses) uses.emplace(s);
    SplitJoin join(s, *uses, i);
    if (!join.find()) continue;
    join.replace();
    uses.reset();
  }
}

}  // namespace shim::program
