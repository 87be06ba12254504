#pragma once
// Says on a terminal what the program waits for: kernels that are compiled, libraries that are loaded.
#include <chrono>
#include <memory>
#include <string>

namespace shim {

// From its second second on, a piece of work stands in a line on stderr, until it ends. Nothing is written where stderr is no
// terminal. A thread of its own writes, so that it is seen while the caller compiles, or loads and holds Python's lock.
class SlowWork {
 public:
  // `waited`: how long other work of the kind has kept the program waiting just before.
  explicit SlowWork(std::string what, std::chrono::steady_clock::duration waited = {});
  ~SlowWork();
  SlowWork(const SlowWork&) = delete;
  SlowWork& operator=(const SlowWork&) = delete;
  void say(std::string what);

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace shim
