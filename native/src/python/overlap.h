// Writes whose place in memory overlaps itself or what is read: refused with PyTorch's texts.
#pragma once

#include <string>

#include "python/object.h"

namespace shim {

// `target` is about to be written by the operator `name` (without the trailing underscore of in-place variants).
void check_own_places(const TensorImpl& target, const std::string& name);

// The same, and that none of the `n` arguments shares a part of the target's memory.
void check_overlap(const TensorImpl& target, const std::string& name, PyObject* const* args, size_t n);

// For operators that write to their first argument (copy_, normal_): nothing for any other operator.
void check_first_argument(const std::string& name, PyObject* const* args, size_t n);

}  // namespace shim
