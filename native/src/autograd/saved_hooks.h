#pragma once
// Pack and unpack hooks of saved tensors: functions of the interpreter, default ones (a stack of this thread) and those of one tensor.
#include <optional>
#include <string>
#include <utility>

#include "autograd/autograd.h"

namespace shim::saved_hooks {

// Packs it now; RuntimeError where it has hooks, is None or was freed.
void pack(SavedTensor&, void* pack, void* unpack);

void push(void* pack, void* unpack);
void pop();
std::optional<std::pair<void*, void*>> top();  // lent
size_t pushed();
void restore(size_t pushed);  // takes off what was pushed since

void disable(std::string_view why, std::optional<bool> fail_if_set);
void enable();
std::optional<std::string> why_disabled();

}  // namespace shim::saved_hooks
