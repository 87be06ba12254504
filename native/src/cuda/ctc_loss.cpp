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

bool sizes_of(
    const Tensor& log_p, const Tensor& targets, const Tensor& inputs, const Tensor& lengths, int64_t blank, Sizes* z) {
  const DType t = log_p->dtype();
  if (!kernels_ready() || (t != DType::f32 && t != DType::f64) || log_p->dim() != 3 || targets->dim() != 2 ||
      !log_p->numel())
    return false;
  const IntArrayRef of = log_p->sizes();
  *z = {of[0], of[1], of[2], targets->sizes()[1], blank};
  for (const Tensor* each : {&targets, &inputs, &lengths})
    if ((*each)->dtype() != DType::i64 || (*each)->device() != log_p->device() || (*each)->sizes()[0] != z->batch ||
        !(*each)->is_contiguous())
      return false;
  return inputs->dim() == 1 && lengths->dim() == 1 && z->batch <= kMostBlocks && z->steps <= kMostRows;
}

int threads_of(const Sizes& z) { return threads_for(2 * z.most + 1); }

}  // namespace

Tensor ctc_loss(const Tensor& given, const Tensor& targets, const Tensor& inputs, const Tensor& lengths, int64_t blank,
    Tensor* alpha) {
  Sizes z;
  if (!sizes_of(given, targets, inputs, lengths, blank, &z)) return {};
  const DType t = given->dtype();
  const int device = given->device().index;
  const CUfunction f = ctc_loss_kernel("alignments", t, device);
  if (!f) return {};
  const Tensor log_p = contiguous(given), loss = empty(Dims{z.batch}, t, given->device());
  *alpha = empty(Dims{z.batch, z.steps, 2 * z.most + 1}, t, given->device());
  const void *p = log_p->data(), *labels = targets->data(), *heard = inputs->data(), *said = lengths->data();
  void *ways = (*alpha)->data(), *to = loss->data();
  void* arguments[] = {&p, &labels, &heard, &said, &ways, &to, &z};
  launch(f, z.batch, 1, threads_of(z), 1, arguments, device);
  return loss;
}

Tensor ctc_loss_backward(const Tensor& given_g, const Tensor& given, const Tensor& targets, const Tensor& inputs,
    const Tensor& lengths, const Tensor& loss, const Tensor& alpha, int64_t blank) {
  Sizes z;
  const DType t = given->dtype();
  if (!sizes_of(given, targets, inputs, lengths, blank, &z) || given_g->dtype() != t || given_g->numel() != z.batch ||
      loss->numel() != z.batch || loss->dtype() != t)
    return {};
  if (alpha->dtype() != t || alpha->numel() != z.batch * z.steps * (2 * z.most + 1) || !alpha->is_contiguous() ||
      !loss->is_contiguous())
    return {};
  const int device = given->device().index;
  const CUfunction back = ctc_loss_kernel("alignments_back", t, device),
                   f = ctc_loss_kernel("alignment_slopes", t, device);
  if (!back || !f) return {};
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
