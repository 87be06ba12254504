#pragma once
// What torch.profiler is told: calls of operators and nodes of backward, with when they began and ended.
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace shim {

struct LoggedCall {
  std::string name;
  uint64_t thread = 0;         // as threading.get_ident() says
  int64_t begin = 0, end = 0;  // nanoseconds, as time.perf_counter_ns() counts them
  std::vector<std::vector<int64_t>>
      shapes;  // of the arguments, empty for what is no tensor; only where they are asked for
};

class CallLog {
 public:
  static inline std::atomic<bool> on = false, shapes = false;  // calls ask once each
  static void start(bool with_shapes);
  static std::vector<LoggedCall> stop();  // what ended since
};

// A call from its construction to its end, noted also where it ends by an exception.
class LogCall {
 public:
  explicit LogCall(std::string name);
  ~LogCall();
  LogCall(const LogCall&) = delete;
  LogCall& operator=(const LogCall&) = delete;
  LoggedCall call;
};

}  // namespace shim
