// The module's functions over lists of CUDA tensors (kernels/cuda_foreach.h); None and False: there is no kernel.
#include "kernels/cuda_foreach.h"

#include "python/module_function.h"
#include "python/native_ops.h"

namespace shim {
namespace {

std::optional<module_call::Tuple> each(
    std::string_view op, bool in_place, const Value& self, const Value& others, const Value& numbers) {
  auto made = cuda_each(op, in_place, self, others, numbers);
  if (!made) return {};
  return module_call::Tuple{std::move(*made)};
}

PyMethodDef cuda_many_functions[] = {function<&each>("cuda_each"), function<&cuda_norms>("cuda_norms"), {}};

}  // namespace

int bind_cuda_foreach(PyObject* module) { return PyModule_AddFunctions(module, cuda_many_functions); }

}  // namespace shim
