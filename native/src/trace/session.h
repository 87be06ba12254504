#pragma once
// One call of a compiled function: operators that its tree knows are deferred until somebody asks for memory that they read or write.
// Everything here happens with the interpreter's lock. Calls are deferred on the thread of the session; another thread that asks for memory
// of what is deferred runs it, or waits for who does. While it runs, the lock is kept where other threads are: they would meet arguments that
// are yet to be written. Python may let go of it all the same, in a body or a backend's graph: calls of operators and reads of values wait then.
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "trace/checks.h"
#include "trace/node.h"

namespace shim::trace {

struct Break {  // somebody asked for values
  std::string reason, file;
  int line = 0;
  size_t operators = 0;  // that had run or were deferred before
};

enum class Asks : uint8_t {
  values,
  number,
  shape
};  // a number: item(), int(), float(); a shape that depends on values

struct Because {  // an operator ran at once; a null one is torch.compile, which left something out
  const Operator* op;
  const char* why;  // lives for as long as the process
  auto operator<=>(const Because&) const = default;
};

struct Totals {  // of calls that were quiet, until somebody asks
  size_t calls = 0, whole = 0, deferred = 0, at_once = 0, runs = 0, programs = 0, backwards = 0;
  std::map<Because, size_t> reasons;
  size_t replayed = 0;
  std::map<std::string, size_t> graphs;  // how other programs ran that may be CUDA graphs: of all calls
};
inline Totals told;

class Session {
 public:
  explicit Session(Tree& tree, bool watch);
  ~Session();
  Session(const Session&) = delete;

  Tree& tree() const { return tree_; }
  TreeNode* at() const { return at_; }
  bool following() const { return following_; }  // the tree; else operators run at once, and nothing is learned
  void leave_tree() { following_ = false; }
  TreeNode* add(std::shared_ptr<TreeNode>);  // behind the node that it is at
  bool on_this_thread() const { return thread_ == std::this_thread::get_id(); }
  bool others_go_on = false;  // while what is deferred runs
  bool runs_elsewhere() const { return flushing_ && flusher_ != std::this_thread::get_id(); }
  bool same_modes() const {
    return (default_dtype_ == default_dtype() || !looks_at(Check::modes)) && current_device_ == device_of_factories();
  }
  static int device_of_factories();  // of CUDA, that a device without a number is

  // Memory.
  bool knows(const Storage& s) const { return s.trace_session == number_; }
  uint32_t slots() const { return slots_; }
  void name(Storage& s, uint32_t slot) { s.trace_session = number_, s.trace_slot = slot; }
  void unname(Storage& s) { s.trace_session = 0; }

  struct Deferred {
    TreeNode* node;
    size_t first;  // of its numbers, among those of all that is deferred
    std::shared_ptr<TreeNode> held;
  };

  // Goes to a node whose operator is deferred. One that its tree does not keep lives as long as it is deferred.
  void defer(TreeNode&, std::span<TensorImpl* const> inputs, std::span<const Scalar> parameters,
      std::shared_ptr<TreeNode> held = {});
  // A result of what was deferred last.
  Tensor result(const TensorSpec& r) const { return r.over(now_->storages[r.slot]); }
  // The same of operators that were deferred once, one after the other, with memory that none of them makes.
  struct Given {
    Ref<Storage> storage;
    uint32_t slot;
    bool fresh;
  };
  void defer_path(std::span<const Deferred>, std::span<const Scalar> numbers, std::span<const Given>);
  std::span<const Deferred> path() const { return now_->path; }
  std::span<const Scalar> numbers() const { return now_->numbers; }
  const Ref<Storage>& held(uint32_t slot) const { return now_->storages[slot]; }
  // The same where the operator ran.
  void went(TreeNode&, std::span<const Tensor> results);
  bool any_deferred() const { return !now_->path.empty(); }
  bool any_deferred_on_cuda() const { return device_ >= 0; }
  // Runs what is deferred.
  void flush();
  // Of the first call, in which operators that the tree does not know are deferred (trace/foreseen.h): runs them one after the other, for
  // the next call has a longer program, and defers no more of them. Of other calls nothing.
  void run_foreseen();
  enum First : uint8_t { no, small, foreseen, over } first;  // nothing is known of the function; small: so far
  bool foresees() const { return first == foreseen; }
  void flush_last();  // at the end of the call
  // Somebody asks for hidden memory. `reason`: what is known of who.
  void asked(const Storage*, const char* reason, Asks = Asks::values);
  // Memory of what ran is watched between operators: whoever asks for it breaks the graph.
  void unwatch();              // while one runs
  void watch(const Storage&);  // from now on
  void rewatch();

  std::vector<Break> breaks;
  bool watching = false;
  size_t deferred = 0, learned = 0, resized = 0, at_once = 0, aliased = 0, flushes = 0, programs = 0, backwards = 0;
  bool planned = false;  // a program was made
  const Together* ran_as =
      nullptr;  // what the last stretch ran as, if it is kept, and the slots of its program's storages
  const std::vector<uint32_t>* ran_slots = nullptr;
  // Whether there is nothing to tell of the call but what is added to `told`.
  bool quiet() const {
    const bool explained = watching && !breaks_forbidden;
    return !explained && !planned && !learned && !resized && breaks.empty() && following_;
  }
  void tell() const;
  std::vector<Because> reasons;

  // Set by src/python. While an exception that the node's operator threw is handled: throws it again, with the line that called it.
  static void (*failed)(const TreeNode&);
  static Break (*who_asks)(const char* reason);
  static bool (*no_break)(Asks);          // by a setting of torch._dynamo.config: the graph goes on
  static void (*on_break)(const Break&);  // of one that allows none; throws
  bool breaks_forbidden = false;          // but for numbers, and shapes that depend on values, as PyTorch has it
  bool learns = true;                     // what is on no known way; else it runs as it is from there on
  std::optional<std::string> refusal;     // with which it is refused
  void missed(const Operator&, const Break& at) const;  // throws, if it is
  bool apart = false;  // a function runs that is not to be compiled: its operators are deferred, and stay operators
  bool may_run_apart() const {
    return following_ && learns && !refusal && !tree_.backend && !tree_.apart_varies && !tree_.full();
  }
  // Kernels of torch.library that run: what they do with values is theirs, no break of the graph.
  int inside_operators = 0;
  // Bodies that run of operators which are made of others and give tensors: values that they look at are theirs too.
  int inside_bodies = 0;

 private:
  struct Watched {
    Ref<Storage> storage;
    void* memory;
    bool now;
  };
  struct Hidden {  // it is among the storages of what is deferred
    Storage* storage;
    void* memory;
  };
  struct Lists {
    std::vector<Deferred> path;
    std::vector<Scalar> numbers;
    std::vector<Ref<Storage>> storages;  // by slot, while something deferred uses them
    std::vector<Hidden> hidden;
    void clear();
  };
  static Lists lists_[2];  // whose room is the next session's too: there is one at a time
  void show_all();
  void go_on(Deferred);
  void run_part();
  void split_path() const;
  void go_to(int device);  // of CUDA: what is deferred runs where it would have run when it was called
  void run_path();
  // Runs what is deferred as one; false: it runs operator by operator. The storages that are still pending are filled.
  bool run_together(std::span<const Deferred>, std::span<const Scalar> numbers, std::vector<Ref<Storage>>& storages);
  void hold(const Ref<Storage>&, uint32_t slot);
  void run(const Deferred&, std::span<const Scalar> numbers, std::vector<Ref<Storage>>& storages);
  void store(const TensorSpec&, const Tensor& made, std::vector<Ref<Storage>>& storages);
  Tree& tree_;
  TreeNode* at_;
  uint32_t number_, slots_ = 0;
  bool following_ = true, flushing_ = false, one_by_one_ = false;
  std::thread::id thread_ = std::this_thread::get_id(), flusher_;
  DType default_dtype_ = default_dtype();
  int current_device_ = device_of_factories();
  size_t before_reads_ = 0;                          // how many operators there were until values were read
  int device_ = -1;                                  // of CUDA, of what is deferred
  void* stream_ = nullptr;                           // that was current then
  Lists *now_ = &lists_[0], *running_ = &lists_[1];  // what is deferred; what flush() runs
  std::vector<Ref<Storage>> no_longer_watched();
  // While what is deferred runs: the memory that it makes is not watched, for whoever watches it would keep it, and have it planned as
  // something that others still want. Afterwards it is, where they do.
  class NotWatched {
   public:
    NotWatched(Session&, const std::vector<Ref<Storage>>& storages);
    NotWatched(const NotWatched&) = delete;
    ~NotWatched();
    void no_longer_used(uint32_t slot) const;

   private:
    void watch_again(uint32_t slot) const;
    Session& session_;
    const std::vector<Ref<Storage>>& storages_;
    std::vector<uint32_t> slots_;
  };
  std::vector<Watched> watched_;  // also what is shown at the moment
};

Session* current();
void set_current(Session*);
inline bool runs_whole = false;  // a call that is known whole (trace/whole.h), which has no session
bool may_trace();                // no compiled function runs, in no thread
void wait_for_others();          // until no other thread runs what is deferred
void run_for_others();           // by a thread that is not the session's

}  // namespace shim::trace
