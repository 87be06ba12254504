// What is computed of a join of equal pieces is computed piece by piece, as is what pieces were cut from: rotary places turn halves of a
// head around, and one kernel does it, with nothing in between in memory.
#include <algorithm>
#include <map>
#include <set>

#include "program/program.h"

namespace shim::program {
namespace {

constexpr size_t kMostMembers = 12;

class SplitJoin {
 public:
  SplitJoin(Steps& steps, size_t join) : s_(steps), join_(join) {}
  bool find();
  void replace();

 private:
  struct Use {
    size_t step;
    TensorRef ref;
  };
  bool begins();
  bool pointwise(size_t step) const;
  std::vector<Use> uses(int32_t storage) const;
  size_t maker(int32_t storage) const;  // the only step that writes to it; none: the number of steps
  int piece_of(const TensorRef& ref, const TensorRef& whole) const;  // which; -1: it is none
  TensorRef narrowed(const TensorRef&, size_t piece) const;
  bool grow();
  bool split(size_t step) const;  // whether its readers would all do with pieces
  bool needs_whole(int32_t storage, const TensorRef& whole) const;
  void emit(const Step&, bool rounded, std::vector<Step>& to);
  TensorRef standing_for(const TensorRef&) const;
  void put_standing(Value&) const;
  void copies(const TensorRef& whole, std::vector<Step>& to) const;

  Steps& s_;
  size_t join_, d_ = 0, count_ = 0;
  TensorRef whole_;
  std::vector<TensorRef> given_;  // the pieces
  std::set<size_t> members_;      // steps that are done piece by piece
  std::map<int32_t, std::vector<TensorRef>> pieces_;
  std::set<int32_t> whole_too_;  // of these, what is needed as a whole too
};

bool SplitJoin::begins() {
  const Step& step = s_.steps[join_];
  if (step.op->schema.ns != "aten" || step.op->schema.name != "cat" || step.op->out || step.args.size() != 2)
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

std::vector<SplitJoin::Use> SplitJoin::uses(int32_t storage) const {
  std::vector<Use> all;
  for (size_t i = 0; i < s_.steps.size(); ++i)
    for (const Value& v : s_.steps[i].args)
      each_tensor(v, [&](const TensorRef& r) {
        if (r.storage == storage) all.push_back({i, r});
      });
  return all;
}

size_t SplitJoin::maker(int32_t storage) const {
  size_t found = s_.steps.size(), times = 0;
  for (size_t i = 0; i < s_.steps.size(); ++i)
    if (changes(s_.steps[i], storage)) found = i, ++times;
  return times == 1 ? found : s_.steps.size();
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
      [&](const Use& u) { return members_.contains(u.step) ? u.ref == made : piece_of(u.ref, made) >= 0; });
}

// Who reads wholes, who makes what they read, and what pieces are of.
bool SplitJoin::grow() {
  const size_t before = members_.size();
  std::vector<TensorRef> wholes = {whole_};
  for (size_t m : members_) wholes.push_back(s_.steps[m].results[0]);
  for (const TensorRef& whole : wholes)
    for (const Use& u : uses(whole.storage))
      if (u.ref == whole && u.step > join_ && pointwise(u.step)) members_.insert(u.step);
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
      [&](const Use& u) { return members_.contains(u.step) ? u.ref == whole : piece_of(u.ref, whole) >= 0; });
}

void SplitJoin::copies(const TensorRef& whole, std::vector<Step>& to) const {
  static Operator* copy = find_operator("aten::copy_", "");
  for (size_t k = 0; k < count_; ++k) {
    const TensorRef place = narrowed(whole, k);
    to.push_back({copy, {{place}, {pieces_.at(whole.storage)[k]}, {false}}, {place}, s_.steps[join_].line});
  }
}

void SplitJoin::emit(const Step& step, bool rounded, std::vector<Step>& to) {
  const TensorRef& whole = step.results[0];
  std::vector<TensorRef> made;
  for (size_t k = 0; k < count_; ++k) {
    Step part = step;
    for (Value& v : part.args)
      if (auto* r = std::get_if<TensorRef>(&v.is)) {
        const auto known = pieces_.find(r->storage);
        *r = known != pieces_.end() && r->sizes == whole.sizes ? known->second[k] : narrowed(*r, k);
      }
    TensorRef& piece = part.results[0];
    piece = narrowed(whole, 0);
    piece.storage = int32_t(s_.storages.size());
    piece.offset = 0;
    piece.strides = contiguous_strides(piece.sizes);
    StorageSlot slot{StorageSlot::made, {}, piece.device, size_t(piece.numel()) * itemsize(piece.dtype)};
    slot.rounded = rounded;
    s_.storages.push_back(std::move(slot));
    made.push_back(piece);
    to.push_back(std::move(part));
  }
  pieces_.emplace(whole.storage, std::move(made));
}

// What stands for a piece of a whole that is not there.
TensorRef SplitJoin::standing_for(const TensorRef& r) const {
  const auto known = pieces_.find(r.storage);
  if (known == pieces_.end() || whole_too_.contains(r.storage)) return r;
  return known->second[size_t(piece_of(r, s_.steps[maker(r.storage)].results[0]))];
}

void SplitJoin::put_standing(Value& v) const {
  if (auto* list = std::get_if<List>(&v.is))
    for (Value& i : *list) put_standing(i);
  else if (auto* r = std::get_if<TensorRef>(&v.is))
    *r = standing_for(*r);
}

void SplitJoin::replace() {
  std::vector<Step> all;
  for (const TensorRef& piece : given_)
    if (s_.storages[size_t(piece.storage)].origin == StorageSlot::made)
      s_.storages[size_t(piece.storage)].rounded = true;
  for (size_t m : members_)
    if (const TensorRef& made = s_.steps[m].results[0]; needs_whole(made.storage, made))
      whole_too_.insert(made.storage);
  if (needs_whole(whole_.storage, whole_)) whole_too_.insert(whole_.storage);
  for (size_t i = 0; i < s_.steps.size(); ++i) {
    Step step = s_.steps[i];
    if (i == join_) {
      for (TensorRef& piece : given_) piece = standing_for(piece);
      pieces_.emplace(whole_.storage, given_);
    } else if (members_.contains(i)) {
      const auto by_pieces = [&](const Use& u) { return !members_.contains(u.step); };
      emit(step, std::ranges::any_of(uses(step.results[0].storage), by_pieces), all);
    } else {
      for (Value& v : step.args) put_standing(v);
      all.push_back(std::move(step));
      continue;
    }
    if (whole_too_.contains(step.results[0].storage)) copies(step.results[0], all);
  }
  s_.steps = std::move(all);
}

}  // namespace

void split_joins(Steps& s) {
  for (size_t i = 0; i < s.steps.size(); ++i)
    if (SplitJoin join(s, i); join.find()) join.replace();
}

}  // namespace shim::program
