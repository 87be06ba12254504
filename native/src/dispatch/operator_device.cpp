#include "dispatch/operator_device.h"

#include <span>

#include "autograd/autograd.h"

namespace shim {
namespace {

bool is_there(Device d) { return d.is_cuda() && d.index < cuda::device_count(); }

// Not of a tensor whose memory is not where it says.
bool is_on_gpu(const TensorImpl& t) { return is_there(t.device()) && !SubclassOps::is_special(t); }

}  // namespace

void OperatorDevice::enter(const Value* args, size_t n) {
  int device = -1;
  any_tensor(args, n, [&](TensorImpl& t) { return is_on_gpu(t) && (device = t.device().index, true); });
  for (const Value& v : std::span(args, n))
    if (device < 0 && v.tag == Value::device && is_there(v.where)) device = v.where.index;
  if (device >= 0) current_.emplace(device);
}

}  // namespace shim
