#pragma once
// Copies of what programs read and do not write, in another order of memory: they stay from run to run while their inputs do not change.
#include <vector>

#include "program/step.h"

namespace shim::program {

class SharedCopy;  // by all programs that want the same of a storage

class KeptCopies {
 public:
  explicit KeptCopies(const std::vector<KeptCopy>&);
  KeptCopies(const KeptCopies&) = delete;
  ~KeptCopies();
  bool on_cuda() const { return !all_.empty() && all_[0].to.device.is_cuda(); }
  // Before a run and outside of its capture: makes those again whose input is another or holds something else. Whether a capture from
  // before is void: another stream may read what it reads, or an input changes so often that its copy is made within runs from now on.
  bool renew(Storages given);
  // To a run: their memory. `anew`: all are made within it, of what its inputs hold when it is executed.
  void give(Storages all, bool anew) const;

 private:
  struct Kept {
    TensorRef from, to;
    Ref<SharedCopy> copy;
    Ref<Storage> memory;   // of the copy, as runs get it
    uint64_t renewed = 0;  // how often
    bool within = false;
  };
  void find(Kept&, Storage& input);
  std::vector<Kept> all_;
  uint64_t runs_ = 0;
};

}  // namespace shim::program
