#include "python/operator_device.h"

#include "autograd/autograd.h"
#include "python/object.h"
#include "python/tensors_in.h"

namespace shim {
namespace {

// -1: a tensor that is on no GPU, or whose memory is not where it says.
int gpu_of(TensorImpl& t) {
  const Device d = t.device();
  return d.is_cuda() && d.index < cuda::device_count() && !SubclassOps::is_special(t) ? d.index : -1;
}

int gpu_of_tensors(PyObject* const* args, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    int found = -1;
    if (is_tensor(args[i])) {
      found = gpu_of(*unwrap(args[i]));
    } else if (PyList_Check(args[i]) || PyTuple_Check(args[i])) {
      each_tensor(args[i], [&](TensorImpl& t) { found = found < 0 ? gpu_of(t) : found; });
    }
    if (found >= 0) return found;
  }
  return -1;
}

int gpu_named(PyObject* const* args, size_t n) {
  for (size_t i = 0; i < n; ++i)
    if (is_device(args[i])) {
      const Device d = device_of(args[i]);
      if (d.is_cuda() && d.index < cuda::device_count()) return d.index;
    }
  return -1;
}

}  // namespace

void OperatorDevice::enter(PyObject* const* args, size_t n) {
  int device = gpu_of_tensors(args, n);
  if (device < 0) device = gpu_named(args, n);
  if (device >= 0) current_.emplace(device);
}

}  // namespace shim
