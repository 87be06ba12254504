#include "cuda/ctc_loss.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

const Family ctc_loss_family{"ctc_loss"};

CUfunction ctc_loss_kernel(const char* entry, DType t, int device) {
  return find_kernel(ctc_loss_family, entry, key_of(int(t)), device, [&] {
    return std::vector<std::string>{
        std::string("ELEMENT=") + element_type(t), std::string("C=") + compute_type(t), "V=1"};
  });
}

struct Sizes {
  int64_t steps, batch, classes, most, blank;
};

Outcome<Sizes> sizes_of(
    const Tensor& log_p, const Tensor& targets, const Tensor& inputs, const Tensor& lengths, int64_t blank) {
  const DType t = log_p->dtype();
  if (!kernels_ready()) return NotMine{"no NVRTC"};
  if (t != DType::f32 && t != DType::f64) return NotMine{"a dtype without a CUDA kernel"};
  if (log_p->dim() != 3 || targets->dim() != 2 || inputs->dim() != 1 || lengths->dim() != 1)
    return NotMine{"another number of dims"};
  if (!log_p->numel()) return NotMine{"no elements"};
  const IntArrayRef of = log_p->sizes();
  const Sizes z{of[0], of[1], of[2], targets->sizes()[1], blank};
  for (const Tensor* each : {&targets, &inputs, &lengths}) {
    if ((*each)->dtype() != DType::i64) return NotMine{"targets or lengths that are no int64"};
    if ((*each)->device() != log_p->device()) return NotMine{"targets or lengths of another device"};
    if ((*each)->sizes()[0] != z.batch) return NotMine{"targets or lengths of another batch"};
    if (!(*each)->is_contiguous()) return NotMine{"targets or lengths that are not contiguous"};
  }
  if (z.batch > kMostBlocks || z.steps > kMostRows) return NotMine{"more steps than a grid has blocks for"};
  return z;
}

int threads_of(const Sizes& z) { return threads_for(2 * z.most + 1); }

}  // namespace

Outcome<std::tuple<Tensor, Tensor>> ctc_loss(
    const Tensor& given, const Tensor& targets, const Tensor& inputs, const Tensor& lengths, int64_t blank) {
  Outcome<Sizes> sizes = sizes_of(given, targets, inputs, lengths, blank);
  if (!sizes) return sizes.why();
  Sizes& z = *sizes;
  const DType t = given->dtype();
  const int device = given->device().index;
  const CUfunction f = ctc_loss_kernel("alignments", t, device);
  if (!f) return NotMine{"a kernel that could not be compiled"};
  const Tensor log_p = contiguous(given), loss = empty(Dims{z.batch}, t, given->device()),
               alpha = empty(Dims{z.batch, z.steps, 2 * z.most + 1}, t, given->device());
  const void *p = log_p->data(), *labels = targets->data(), *heard = inputs->data(), *said = lengths->data();
  void *ways = alpha->data(), *to = loss->data();
  void* arguments[] = {&p, &labels, &heard, &said, &ways, &to, &z};
  launch(f, z.batch, 1, threads_of(z), 1, arguments, device);
  return std::tuple{loss, alpha};
}

Outcome<Tensor> ctc_loss_backward(const Tensor& given_g, const Tensor& given, const Tensor& targets,
    const Tensor& inputs, const Tensor& lengths, const Tensor& loss, const Tensor& alpha, int64_t blank) {
  Outcome<Sizes> sizes = sizes_of(given, targets, inputs, lengths, blank);
  if (!sizes) return sizes.why();
  Sizes& z = *sizes;
  const DType t = given->dtype();
  if (given_g->dtype() != t || loss->dtype() != t || alpha->dtype() != t) return NotMine{"tensors of several dtypes"};
  if (given_g->numel() != z.batch || loss->numel() != z.batch || alpha->numel() != z.batch * z.steps * (2 * z.most + 1))
    return NotMine{"losses of other alignments"};
  if (!alpha->is_contiguous() || !loss->is_contiguous()) return NotMine{"losses that are not contiguous"};
  const int device = given->device().index;
  const CUfunction back = ctc_loss_kernel("alignments_back", t, device),
                   f = ctc_loss_kernel("alignment_slopes", t, device);
  if (!back || !f) return NotMine{"a kernel that could not be compiled"};
  const Tensor log_p = contiguous(given), g = contiguous(given_g), beta = empty(alpha->sizes(), t, given->device()),
               out = empty(given->sizes(), t, given->device());
  const void *p = log_p->data(), *labels = targets->data(), *heard = inputs->data(), *said = lengths->data(),
             *slopes = g->data(), *from = alpha->data(), *losses = loss->data();
  void *ways = beta->data(), *to = out->data();
  void* first[] = {&p, &labels, &heard, &said, &ways, &z};
  launch(back, z.batch, 1, threads_of(z), 1, first, device);
  void* second[] = {&slopes, &p, &labels, &heard, &said, &from, &ways, &losses, &to, &z};
  launch(f, z.batch, z.steps, std::min(threads_for(std::max(z.classes, 2 * z.most + 1)), 256), 1, second, device);
  return out;
}

}  // namespace shim::cuda
