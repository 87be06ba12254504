#pragma once
// Calls of a compiled function that are known whole (trace/whole.h), by their arguments.
#include <optional>
#include <string>

#include "core/held_object.h"
#include "trace/whole.h"

namespace shim::trace {

// What a call brings, objects of the interpreter: its arguments, the tensors that the function reads beside them, and the names of the last
// arguments, a list of texts, or null.
struct CallObjects {
  std::span<void* const> arguments, tensors;
  void* names;
};

// Set by the binding.
struct ObjectQuestions {
  TensorImpl* (*bare_tensor)(void*) = nullptr;  // null: none, or one that has a class or attributes of its own
  bool (*is_constant)(void*) = nullptr;         // whether it is the same for ever, and of no class of its own
};
inline ObjectQuestions object_questions;

class KnownCalls {
 public:
  bool empty() const { return known_.empty(); }
  void forget() { known_.clear(); }
  // Whether the call is like a known one: then its results.
  bool run(const CallObjects&, std::vector<Tensor>& results, bool* tuple);

  // What is looked at of a call that is no known one.
  struct Attempt {
    std::vector<void*> arguments;  // lent; null for tensors
    void* names = nullptr;
    std::vector<std::string> names_texts;
    std::vector<TensorImpl*> tensors;
    std::vector<TensorSpec> specs;  // and versions, before the call
    std::vector<uint32_t> versions;
    std::unique_ptr<Whole> whole;
    bool tuple = false;
  };
  bool may_learn();  // counts the call, of which it is asked; the first learns, the second plans
  void failed() { ++attempts_; }
  std::optional<Attempt> attempt(const CallObjects&) const;
  void look(Attempt&, const Session&, std::span<void* const> results, bool tuple);  // before what was deferred runs
  void keep(Attempt&&, const Session&);

 private:
  struct Known {
    std::vector<Ref<HeldObject>> arguments;  // null for tensors
    Ref<HeldObject> names;
    std::vector<std::string> names_texts;
    std::unique_ptr<Whole> whole;
    bool tuple;
    bool takes(const CallObjects&, std::vector<TensorImpl*>& tensors) const;
    bool has_names(void*) const;
  };
  static constexpr size_t kMostKnown = 8;
  static constexpr int kMostAttempts = 16, kCallsBefore = 3;
  int calls_ = 0, attempts_ = 0;
  std::vector<Known> known_;
  std::vector<TensorImpl*> tensors_;  // of the call that is looked at; it keeps its room
};

// Whether nothing is on that sees operators, or gives them other arguments.
bool plain_here();

}  // namespace shim::trace
