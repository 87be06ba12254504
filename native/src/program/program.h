#pragma once
// Recorded operators as a few kernels and calls, with their memory planned.
#include <memory>
#include <optional>
#include <set>

#include "program/group_on_cuda.h"
#include "program/kept_copies.h"
#include "program/run_group.h"

namespace shim::program {

struct Item {                  // of a program, in the order in which they run
  std::optional<Group> group;  // none: a step as it was recorded
  size_t step = 0;
  std::set<int32_t> reads, writes;  // storages
  std::unique_ptr<CpuGroup> on_cpu;
  std::unique_ptr<CpuRows> on_rows;
  std::unique_ptr<GroupOnCuda> on_cuda;
  std::vector<int32_t> first_written;  // temporaries that a step writes to as an argument, which have no memory yet
  std::vector<int32_t> last_read;      // storages that are let go after it
  bool gives = false;                  // what it makes outlives the program, or a part of that does
};

std::vector<size_t> steps_of(const Item&);
void touch(const Steps&, Item&);                                // says what its steps read and write
bool meet(const std::set<int32_t>&, const std::set<int32_t>&);  // whether a storage is in both

// Memory of temporaries that a program's groups make: parts of one block, used again when what was there is no longer read.
struct Arena {
  struct Part {
    int32_t storage;
    size_t offset, bytes, first, last;  // of the items that use it
  };
  std::vector<Part> parts;
  size_t bytes = 0;
};

void join_epilogues(Steps&);      // epilogues.cpp
void split_joins(Steps&);         // split_joins.cpp
void take_joins_apart(Steps&);    // joins.cpp
void read_narrow_scores(Steps&);  // narrow_scores.cpp

class Program : public RefCounted {
 public:
  // `channels_last_on_cpu`: convolutions of the CPU as those of CUDA (channels_last.h), for tests.
  explicit Program(Steps, bool channels_last_on_cpu = false);
  // The caller fills in the inputs' storages; the storages that outlive the call are made. Needs the interpreter's lock.
  void run(Storages, std::span<const Scalar> parameters);
  // The same in two parts, of which the second may be captured. The first says whether a capture from before is void.
  bool renew_copies(Storages given) { return copies_->renew(given); }
  void run_renewed(Storages given, std::span<const Scalar> parameters) { run_items(given, parameters, false); }
  std::string source() const;  // a line for each kernel and call
  const Steps& steps() const { return steps_; }
  // The step that runs by itself, or that failed; null: none.
  const Step* running() const { return running_; }
  const std::vector<Item>& items() const { return items_; }
  const Arena& arena() const { return arena_; }
  size_t most_live() const { return most_live_; }  // bytes of what it makes, where most are there
  uint64_t apart() const {
    return apart_;
  }  // how often a group's operators ran one by one, as its kernel could not be had

 private:
  void form_groups();
  void join_late();
  void remove_dead();
  void plan_memory();
  void compile_ahead();
  void run_items(Storages given, std::span<const Scalar> parameters, bool copies_anew);
  void run_group(const Item&, Storages, std::span<const Scalar> parameters);

  size_t given_;  // how many storages callers know: the others are the program's own
  Steps steps_;
  std::unique_ptr<KeptCopies> copies_;
  std::vector<Item> items_;
  Arena arena_;
  Device arena_device_;
  size_t most_live_ = 0;
  uint64_t apart_ = 0;
  const Step* running_ = nullptr;
};

// What the CUDA compiler says of the groups' kernels, a text a group that CUDA has all functors for.
std::vector<std::string> compile_groups(Program&, int architecture);

}  // namespace shim::program
