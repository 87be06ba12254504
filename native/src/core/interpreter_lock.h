#pragma once
// The lock of the interpreter that called into the core. Kernels let go of it while they work, without knowing whose it is.

#include <utility>

namespace shim {

// Set by the binding when the module is loaded; null where no interpreter is there.
struct InterpreterLock {
  void* (*release)() = nullptr;       // null: this thread does not hold it
  void (*take)(void* was) = nullptr;  // what release() gave
  int (*hold)() = nullptr;            // for a thread that may not hold it yet; -1: the interpreter has ended
  void (*let_go)(int was) = nullptr;  // what hold() gave
};
inline InterpreterLock interpreter_lock;

// While one is there, what this thread calls keeps the lock.
class LockKept {
 public:
  explicit LockKept(bool kept) : was_(std::exchange(here, here || kept)) {}
  LockKept(const LockKept&) = delete;
  LockKept& operator=(const LockKept&) = delete;
  ~LockKept() { here = was_; }
  static inline constinit thread_local bool here = false;

 private:
  bool was_;
};

class Unlocked {
 public:
  Unlocked() : Unlocked(!LockKept::here) {}
  explicit Unlocked(bool now) : was_(interpreter_lock.release && now ? interpreter_lock.release() : nullptr) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() {
    if (was_) interpreter_lock.take(was_);
  }

 private:
  void* was_;
};

class Locked {
 public:
  Locked() : was_(interpreter_lock.hold ? interpreter_lock.hold() : -1) {}
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() {
    if (interpreter_lock.let_go) interpreter_lock.let_go(was_);
  }
  bool is_there() const { return was_ >= 0; }  // false: no interpreter, or it has ended

 private:
  int was_;
};

}  // namespace shim
