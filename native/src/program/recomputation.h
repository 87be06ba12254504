#pragma once
// How recompute.h is done: what is worth it (recompute_choice.cpp), and the change of steps and items (recompute.cpp).
#include <map>

#include "program/live.h"
#include "program/recompute.h"

namespace shim::program {

constexpr size_t kNever = size_t(-1);

// What a value is made of again.
struct Again {
  std::vector<size_t> steps;       // in their order
  std::map<int32_t, bool> values;  // that these make; whether they are read as memory holds them
  std::set<int32_t> from;          // what is read
  std::set<int32_t> narrow;        // of that, what its own group computed on with more digits than memory holds
  size_t kept = 0;                 // bytes of it that stay longer
};

class Recomputation {
 public:
  Recomputation(Steps& steps, std::vector<Item>& items) : s_(steps), items_(items) {}
  void run();

 private:
  struct Candidate {
    int32_t storage;
    size_t reader;  // the first item behind the peak
    Again again;
  };
  void look();
  std::vector<int32_t> kept_at_the_peak() const;
  std::optional<Candidate> candidate(int32_t storage) const;
  bool make_again(int32_t storage, size_t shape_of, size_t reader, Again&) const;
  size_t kept_for(int32_t storage, size_t maker, size_t reader) const;
  bool worth(const Candidate&, bool alone) const;
  bool apply(const Candidate&);
  int32_t repeat(const Candidate&, std::vector<size_t>& steps);
  bool into_group(size_t at, std::span<const size_t> steps);
  bool round(const std::set<int32_t>& storages);
  bool behind_group(const Candidate&, std::span<const size_t> steps);
  bool move_behind(std::span<const size_t> moved, size_t at);
  bool reads_it(size_t item, int32_t storage) const;
  size_t bytes(int32_t s) const { return s_.storages[size_t(s)].nbytes; }

  Steps& s_;
  std::vector<Item>& items_;
  Live live_;
  std::vector<size_t> item_of_;               // of each step
  std::vector<std::vector<size_t>> written_;  // the items that write to a storage
  std::vector<size_t> maker_;  // the one step that makes it; kNever: there are others, or it writes to an argument
  std::set<int32_t> refused_;
};

}  // namespace shim::program
