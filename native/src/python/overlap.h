// Writes whose place in memory overlaps itself or what is read: refused with PyTorch's texts.
#pragma once

#include "python/object.h"

namespace shim {

// `target` is about to be written by the operator `f` or its in-place or out= variant.
void check_own_places(const TensorImpl& target, const Operator& f);

// The same, and that none of the `n` arguments shares a part of the target's memory.
void check_overlap(const TensorImpl& target, const Operator& f, PyObject* const* args, size_t n);

}  // namespace shim
