#include "trace/known_backward.h"

#include <algorithm>

#include "autograd/nodes.h"

namespace shim::trace {

namespace {

constexpr size_t kMostKnown = 4;   // behind one node
constexpr int64_t kOfSession = 1;  // references to memory that was there: by its slot

class Reader final : public GraphReader {
 public:
  explicit Reader(Session& s) : session_(s), next_(s.slots()), seen_(s.slots()) {}
  ~Reader() override { forget(); }
  struct Met {
    Ref<Storage> storage;
    uint32_t slot;  // kUnknown: the path has not met it
    uint32_t version;
  };
  static constexpr uint32_t kUnknown = ~0u;
  std::vector<Met> memories;
  // What the path has not met has numbers behind its own while the graph is read.
  void forget() {
    for (size_t i : unknown_) session_.unname(*memories[i].storage);
    unknown_.clear();
  }

 private:
  bool memory(const Ref<Storage>& s) override {
    const bool named = session_.knows(*s), known = named && s->trace_slot < seen_.size();
    if (!named) {
      if (!s->may_hide()) return false;
      unknown_.push_back(memories.size());
      session_.name(*s, next_++);
    }
    word(s->trace_slot);
    if (known ? !seen_[s->trace_slot] : !named)
      memories.push_back({s, known ? s->trace_slot : kUnknown, s->version().load()});
    if (known) seen_[s->trace_slot] = true;
    return true;
  }
  Session& session_;
  uint32_t next_;
  std::vector<bool> seen_;
  std::vector<size_t> unknown_;
};

// What a pass that has run did; none: it did what a path does not tell.
class Learner {
 public:
  Learner(Session& s, const Reader& r)
      : session_(s),
        reader_(r),
        start_(s.at()),
        first_(s.path().size()),
        numbers_(s.numbers().size()),
        slots_(s.slots()),
        flushes_(s.flushes),
        at_once_(s.at_once - s.aliased),
        resized_(s.resized),
        breaks_(s.breaks.size()) {
    for (const AccumulateGrad* leaf : r.leaves()) before_.push_back(gradient_of(*leaf));
  }

  std::shared_ptr<KnownBackward> learned() {
    const bool whole = session_.following() && session_.flushes == flushes_ &&
                       session_.at_once - session_.aliased == at_once_ && session_.resized == resized_ &&
                       session_.breaks.size() == breaks_ && deferred_all();
    return whole && memories() && leaves() ? made_ : nullptr;
  }

 private:
  static TensorImpl* gradient_of(const AccumulateGrad& leaf) {
    const AutogradMeta* m = leaf.variable()->autograd();
    return m ? m->grad.get() : nullptr;
  }

  bool deferred_all() {
    const auto path = session_.path().subspan(first_);
    if (std::ranges::any_of(path, [](const Session::Deferred& d) { return d.node->stands_for || d.held; }))
      return false;
    made_->path.assign(path.begin(), path.end());
    made_->numbers.assign(session_.numbers().begin() + int64_t(numbers_), session_.numbers().end());
    for (Session::Deferred& d : made_->path) d.first -= numbers_;
    return !path.empty() && path.back().node == session_.at() && session_.at()->depth - start_->depth == path.size();
  }

  bool memories() {
    for (const Session::Deferred& d : made_->path)
      for (const TensorSpec& s : d.node->inputs)
        if (!memory(s) && !(&s == &d.node->inputs[0] && empty_memory(d))) return false;
    for (uint32_t i = 0; i < reader_.memories.size(); ++i) {
      const Reader::Met& m = reader_.memories[i];  // written to without an operator of the path?
      const bool written = m.storage->version().load() != m.version;
      if (written && std::ranges::find(made_->memories, i, &KnownBackward::Memory::number) == made_->memories.end())
        return false;
    }
    return true;
  }

  bool given(uint32_t slot) const {
    return std::ranges::find(made_->memories, slot, &KnownBackward::Memory::slot) != made_->memories.end();
  }

  bool memory(const TensorSpec& s) {
    if (s.slot >= slots_ && !s.fresh) return true;  // the path's own, or met before
    if (given(s.slot)) return true;
    for (uint32_t i = 0; i < reader_.memories.size(); ++i) {
      const Reader::Met& m = reader_.memories[i];
      const bool this_one =
          s.fresh ? m.slot == Reader::kUnknown && session_.knows(*m.storage) && m.storage->trace_slot == s.slot
                  : m.slot == s.slot;
      if (!this_one) continue;
      made_->memories.push_back({i, s.slot, s.fresh, m.storage->version().load() - m.version});
      return true;
    }
    return false;
  }

  // Memory that came without an operator: nobody reads what was in it before the path writes to all of it.
  bool empty_memory(const Session::Deferred& d) {
    const TensorSpec& s = d.node->inputs[0];
    const std::string& name = d.node->op->schema.name;
    if (!s.fresh || d.node->form != Results::none || (name != "zero_" && name != "fill_" && name != "copy_"))
      return false;
    const bool whole = fills_storage(s.sizes(), s.strides(), itemsize(s.dtype), s.nbytes);
    if (!whole || d.node->inputs.size() > 2 || (d.node->inputs.size() == 2 && d.node->inputs[1].fresh)) return false;
    made_->empty.push_back({s.slot, s.nbytes, s.device});
    return true;
  }

  bool leaves() {
    for (size_t i = 0; i < before_.size(); ++i) {
      const AccumulateGrad& leaf = *reader_.leaves()[i];
      const TensorImpl* now = gradient_of(leaf);
      KnownBackward::Leaf& l = made_->leaves.emplace_back();
      if (now == before_[i]) continue;
      if (!now || !session_.knows(*now->storage()) || now->requires_grad()) return false;
      l.gradient = KnownBackward::Leaf::made;
      l.spec = TensorSpec::of(*now);
      l.spec.slot = now->storage()->trace_slot;
      if (l.spec.slot < slots_ || given(l.spec.slot)) return false;
      l.version = now->storage()->version().load();
    }
    return std::ranges::all_of(made_->empty, [&](const KnownBackward::Empty& e) {
      const auto of_leaf = [&](const KnownBackward::Leaf& l) {
        return l.gradient == KnownBackward::Leaf::made && l.spec.slot == e.slot;
      };
      return session_.held(e.slot)->use_count() == kOfSession + std::ranges::count_if(made_->leaves, of_leaf);
    });
  }

  Session& session_;
  const Reader& reader_;
  const TreeNode* start_;
  size_t first_, numbers_;
  uint32_t slots_;
  size_t flushes_, at_once_, resized_, breaks_;
  std::vector<TensorImpl*> before_;
  std::shared_ptr<KnownBackward> made_ = std::make_shared<KnownBackward>();
};

void repeat(Session& session, const KnownBackward& known, const Reader& reader) {
  std::vector<Session::Given> given;
  for (const KnownBackward::Memory& m : known.memories)
    given.push_back({reader.memories[m.number].storage, m.slot, m.fresh});
  for (const KnownBackward::Empty& e : known.empty) given.push_back({allocate(e.nbytes, e.device), e.slot, true});
  session.defer_path(known.path, known.numbers, given);
  ++session.backwards;
  for (const KnownBackward::Memory& m : known.memories)
    if (m.writes) reader.memories[m.number].storage->version() += m.writes;
  for (size_t i = 0; i < known.leaves.size(); ++i) {
    const KnownBackward::Leaf& l = known.leaves[i];
    if (l.gradient == KnownBackward::Leaf::kept) continue;
    const Ref<Storage>& storage = session.held(l.spec.slot);
    storage->version() = l.version;
    reader.leaves()[i]->variable()->ensure_autograd().grad = l.spec.over(storage);
  }
  for (size_t i = 0; i < known.released.size(); ++i)
    if (known.released[i]) reader.nodes()[i]->release_saved();
}

}  // namespace

void backward_pass(Session& session, const std::vector<Edge>& roots, const Grads& gradients, bool retain_graph,
    std::span<const uint64_t> state, const std::function<void()>& run) {
  // Where nothing is known of what follows, its operators run: there is no path to learn, and a reader would keep all that was saved.
  if (session.at()->next.empty() && !session.tree().backend) return run();
  Reader reader(session);
  for (uint64_t word : state) reader.word(word);
  reader.word(retain_graph);
  const bool readable = session.following() && reader.read(roots, gradients);
  reader.forget();
  if (!readable) return run();
  auto& all = session.at()->backwards;
  for (const auto& known : all)
    if (known->words == reader.words()) return repeat(session, *known, reader);
  Learner learner(session, reader);
  run();
  if (std::shared_ptr<KnownBackward> made = learner.learned()) {
    made->words = reader.words();
    for (const Node* n : reader.nodes()) made->released.push_back(n->released());
    if (all.size() == kMostKnown) all.pop_back();
    all.insert(all.begin(), std::move(made));
  }
}

}  // namespace shim::trace
