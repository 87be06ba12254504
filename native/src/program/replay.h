#pragma once
// A program as one CUDA graph: mode "reduce-overhead". The graph reads inputs where they were when it was captured; those that are
// elsewhere from call to call are copied to a place of their own, or from there, if the program fills them. What it gives lies in its memory,
// which the next replay writes again.
// Operators that renew numbers (ops/traits.h) give it theirs before each replay, and may have tensors on the CPU: counts of steps.
#include <memory>

#include "cuda/graph_numbers.h"
#include "program/program.h"
#include "program/stream_capture.h"

namespace shim::program {

class Replay : public RefCounted {
 public:
  // Before the capture kernels are compiled, algorithms of libraries measured at their third use, and inputs seen to move or not: in
  // `calls_before`, and in the eager call that the program was learned from, if there was one.
  explicit Replay(Ref<Program>, Ref<GraphMemory> = make<GraphMemory>(), int calls_before = 2);
  // As Program::run. The results of the run before are void then: their memory is asked for in vain, a RuntimeError.
  void run(Storages, std::span<const Scalar> parameters);

  // Memory that the run gave is in another storage now, which the next run makes void in its place.
  void handed(const Storage* given, Ref<Storage> to);
  // How the last call ran: "replayed", "captured", "plain", or why not as a graph.
  std::string_view last_was() const { return why_not_.empty() ? last_was_ : why_not_; }
  bool replayed() const { return last_was_.data() == kReplayed.data(); }

  struct Counts {
    uint64_t plain = 0, captured = 0, replayed = 0, copied = 0;  // calls; of `copied`, inputs
  };
  const Counts& counts() const { return counts_; }
  const Ref<GraphMemory>& memory() const { return memory_; }
  bool awaited() const;  // a backward pass is to come that reads what the last run gave
  const std::string& why_not() const { return why_not_; }  // why calls run without a graph; empty: they do not
  const Program& program() const { return *program_; }

 private:
  struct Input {
    int32_t storage;
    void* address = nullptr;  // where it was in the call before
    bool written = false;     // by the program
    bool filled = false;      // all of it, before anybody reads it
    bool moves = false;       // it was elsewhere once
    Ref<Storage> own;         // the graph's place for one that moves
  };
  void look_at_steps();
  bool fits(Storages) const;
  bool same_numbers(std::span<const Scalar> parameters) const;
  uint64_t kernels_of_renewing() const;
  void renew(Storages, std::span<const Scalar> parameters);
  void look_at(Storages);
  void capture(Storages, std::span<const Scalar> parameters);
  void replay(Storages);
  void make_stale();
  void run_plain(Storages, std::span<const Scalar> parameters);
  void give_up(std::string why);

  Ref<Program> program_;
  Device device_;
  std::vector<Input> inputs_;
  std::vector<int32_t> constants_;
  std::vector<int32_t> changed_;    // storages of inputs and constants, once for each write
  std::vector<Scalar> parameters_;  // of the graph
  std::vector<bool> fixed_;         // which of them are others for another graph alone
  std::vector<size_t> renewing_;    // the steps whose numbers are renewed
  std::vector<int32_t> on_cpu_;     // inputs that these read and write
  std::unique_ptr<cuda::GraphNumbers> numbers_;
  Ref<GraphMemory> memory_;
  Ref<CapturedGraph> graph_;
  std::vector<std::pair<int32_t, Ref<Storage>>> kept_;  // what the graph gives, as it was captured
  std::vector<Ref<Storage>> given_;                     // by the last run
  Counts counts_;
  std::string why_not_;
  int calls_ = 0, calls_before_;
  uint64_t settings_ = 0;  // of libraries, as they were at the capture
  static constexpr std::string_view kReplayed = "replayed";
  std::string_view last_was_;
};

}  // namespace shim::program
