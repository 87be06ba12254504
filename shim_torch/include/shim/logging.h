#pragma once
// LOG, CHECK and their like, as PyTorch has them where it is built without glog: INFO is silent, a failed CHECK ends the process,
// a failed TORCH_CHECK_EQ is an error. More text may be streamed into each.
#include <cstdlib>
#include <ctime>
#include <shim/errors.h>

namespace shim {

enum class Severity { INFO, WARNING, ERROR, FATAL };
enum class AtEnd { PRINT, ABORT, THROW };

class Message {
 public:
  Message(Severity severity, AtEnd end, const char* file, int line)
      : severity_(severity), end_(end), file_(file), line_(line) {}
  Message(const Message&) = delete;
  ~Message() noexcept(false) {
    if (end_ == AtEnd::THROW) throw_kind(SHIM_RUNTIME, text_.str().c_str());
    if (severity_ == Severity::INFO) return;
    std::cerr << "[" + head() + "] " + text_.str() + "\n" << std::flush;
    if (end_ == AtEnd::ABORT) std::abort();
  }
  std::ostream& stream() { return text_; }

 private:
  std::string head() const {
    timespec now;
    tm day;
    char text[64];
    timespec_get(&now, TIME_UTC);
    localtime_r(&now.tv_sec, &day);
    text[strftime(text, sizeof text, "%m%d %H:%M:%S", &day)] = 0;
    const std::string_view file(file_);
    return c10::str("IWEF"[int(severity_)], text, '.', now.tv_nsec, ' ', file.substr(file.rfind('/') + 1), ':', line_);
  }

  Severity severity_;
  AtEnd end_;
  const char* file_;
  int line_;
  std::ostringstream text_;
};
struct Nothing {  // makes a stream the other branch of a `?:` whose first is void
  void operator&(std::ostream&) const {}
};

}  // namespace shim

#define SHIM_MESSAGE(severity, end) \
  ::shim::Message(::shim::Severity::severity, ::shim::AtEnd::end, __FILE__, __LINE__).stream()
#define SHIM_UNLESS(condition, message) C10_LIKELY(condition) ? (void)0 : ::shim::Nothing() & message
#define SHIM_END_INFO PRINT
#define SHIM_END_WARNING PRINT
#define SHIM_END_ERROR PRINT
#define SHIM_END_FATAL ABORT
#define LOG(severity) SHIM_MESSAGE(severity, SHIM_END_##severity)
#define LOG_IF(severity, condition) SHIM_UNLESS(!(condition), LOG(severity))
#define VLOG(level) LOG_IF(INFO, false)
#define CHECK(condition) SHIM_UNLESS(condition, LOG(FATAL) << "Check failed: " #condition " ")
#ifdef NDEBUG
#define DCHECK(condition) \
  while (false) CHECK(condition)
#else
#define DCHECK(condition) CHECK(condition)
#endif
#define SHIM_CHECK_PAIR(a, symbol, b)                  \
  SHIM_UNLESS((a)symbol(b), SHIM_MESSAGE(FATAL, THROW) \
                                << "Check failed: " #a " " #symbol " " #b " (" << (a) << " vs. " << (b) << "). ")
#define TORCH_CHECK_EQ(a, b) SHIM_CHECK_PAIR(a, ==, b)
#define TORCH_CHECK_NE(a, b) SHIM_CHECK_PAIR(a, !=, b)
#define TORCH_CHECK_LE(a, b) SHIM_CHECK_PAIR(a, <=, b)
#define TORCH_CHECK_LT(a, b) SHIM_CHECK_PAIR(a, <, b)
#define TORCH_CHECK_GE(a, b) SHIM_CHECK_PAIR(a, >=, b)
#define TORCH_CHECK_GT(a, b) SHIM_CHECK_PAIR(a, >, b)
