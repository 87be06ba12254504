#pragma once
// Between the bound arguments of an operator's call and the values of a recorded step (program/step.h).
#include "program/recorder.h"
#include "python/values.h"

namespace shim {

// The arguments as values; throws for an object that no value stands for.
program::List values_of(program::Recorder&, PyObject* const* args, size_t n);
// The tensors of what an operator gave, lists' one by one.
void collect_tensors(PyObject* result, std::vector<Tensor>& into);

}  // namespace shim
