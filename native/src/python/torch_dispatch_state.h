#pragma once
// Between the files of the __torch_dispatch__ protocol.
#include <vector>

#include "autograd/recording.h"
#include "python/protocol.h"
#include "python/torch_dispatch.h"

namespace shim::torch_dispatch {

extern size_t modes_on;  // of all threads; the GIL guards it
extern bool classes_seen;
extern Protocol protocol;
extern PyObject* rules;           // {"ns::op.overload": {class: function}}, torch.library.register_torch_dispatch
std::vector<PyObject*>& modes();  // of this thread, the innermost last; owned
bool has_handler(PyTypeObject*);
PyObject* helper(const char* name);  // of shim_torch._impl.transforms.torch_dispatch
void refresh();                      // after modes_on or classes_seen changed
void ask_handlers(Operator&, const Value* args, size_t n, Result&);

}  // namespace shim::torch_dispatch
