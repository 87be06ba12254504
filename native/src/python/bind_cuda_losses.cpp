// Losses and embedding_bag on CUDA. Null where no kernel fits: the record's body runs.
#include <algorithm>

#include "autograd/autograd.h"
#include "cuda/ctc_loss.h"
#include "cuda/embedding_bag.h"
#include "cuda/pointwise_loss.h"
#include "cuda/class_loss.h"
#include "python/native_cuda.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

// nll_loss(self, target, weight, reduction, ignore_index) -> (loss, total_weight)
PyObject* native_nll(Operator&, PyObject* const* args, size_t n) {
  int64_t reduction, ignored;
  if (n != 5 || !on_cuda(args[0]) || !on_cuda(args[1]) || !on_cuda_or_none(args[2]) ||
      !integer_of(args[3], &reduction) || !integer_of(args[4], &ignored))
    return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor total;
    const Tensor r = cuda::nll_loss(
        Tensor(unwrap(args[0])), Tensor(unwrap(args[1])), tensor_or_none(args[2]), int(reduction), ignored, &total);
    return r ? tuple_of({r, total}) : nullptr;
  });
}

// nll_loss_nd, its loss alone, where no history is kept and nothing is out of the ordinary
PyObject* native_nll_whole(Operator& op, PyObject* const* args, size_t n) {
  if (n != 5 || !on_cuda(args[0]) || !on_cuda(args[1]) || !on_cuda_or_none(args[2]) || history(args, n)) return nullptr;
  const TensorImpl &x = *unwrap(args[0]), &target = *unwrap(args[1]);
  if (x.dim() < 2 || target.dim() != x.dim() - 1 || target.dtype() != DType::i64 || target.sizes()[0] != x.sizes()[0] ||
      x.has_math_bits())
    return nullptr;
  if (!std::equal(x.sizes().begin() + 2, x.sizes().end(), target.sizes().begin() + 1)) return nullptr;
  return first_of(native_nll(op, args, n));
}

// nll_loss_backward(grad_output, target, weight, total_weight, sizes, reduction, ignore_index)
PyObject* native_nll_backward(Operator&, PyObject* const* args, size_t n) {
  int64_t reduction, ignored;
  if (n != 7 || !on_cuda(args[0]) || !on_cuda(args[1]) || !on_cuda_or_none(args[2]) || !on_cuda(args[3]) ||
      !integer_of(args[5], &reduction) || !integer_of(args[6], &ignored))
    return nullptr;
  return guarded([&]() -> PyObject* {
    Dims sizes;
    if (!dims_of(args[4], &sizes)) return nullptr;
    return wrapped(cuda::nll_loss_backward(Tensor(unwrap(args[0])), Tensor(unwrap(args[1])), tensor_or_none(args[2]),
        Tensor(unwrap(args[3])), sizes, int(reduction), ignored));
  });
}

// multi_margin_loss([grad_output,] self, target, weight, p, margin, reduction)
template <bool Backward> PyObject* native_margin(Operator&, PyObject* const* args, size_t n) {
  int64_t p, reduction;
  if (n != (Backward ? 7 : 6) || (Backward && !on_cuda(args[0]))) return nullptr;
  PyObject* const* a = args + Backward;
  if (!on_cuda(a[0]) || !on_cuda(a[1]) || !on_cuda_or_none(a[2]) || !integer_of(a[3], &p) || !PyFloat_Check(a[4]) ||
      !integer_of(a[5], &reduction))
    return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(a[0])), target(unwrap(a[1])), weight = tensor_or_none(a[2]);
    const double margin = PyFloat_AS_DOUBLE(a[4]);
    return wrapped(Backward ? cuda::margin_loss_backward(
                                  Tensor(unwrap(args[0])), x, target, weight, int(p), margin, int(reduction))
                            : cuda::margin_loss(x, target, weight, int(p), margin, int(reduction)));
  });
}

// multilabel_margin_loss([grad_output,] self, target, reduction)
template <bool Backward> PyObject* native_multilabel(Operator&, PyObject* const* args, size_t n) {
  int64_t reduction;
  if (n != (Backward ? 4 : 3) || !on_cuda(args[0]) || !on_cuda(args[1]) || (Backward && !on_cuda(args[2])) ||
      !integer_of(args[n - 1], &reduction))
    return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[Backward])), target(unwrap(args[Backward + 1]));
    return wrapped(Backward ? cuda::multilabel_loss_backward(Tensor(unwrap(args[0])), x, target, int(reduction))
                            : cuda::multilabel_loss(x, target, int(reduction)));
  });
}

// embedding_bags(weight, indices, offsets, per_sample_weights, mode, closed, padding) -> (out, bag_of, counts, most)
PyObject* native_bags(Operator&, PyObject* const* args, size_t n) {
  int64_t mode, padding;
  if (n != 7 || !on_cuda(args[0]) || !on_cuda(args[1]) || !on_cuda(args[2]) || !on_cuda_or_none(args[3]) ||
      !integer_of(args[4], &mode) || !integer_of(args[6], &padding))
    return nullptr;
  return guarded([&]() -> PyObject* {
    cuda::Bags r = cuda::embedding_bags(Tensor(unwrap(args[0])), Tensor(unwrap(args[1])), Tensor(unwrap(args[2])),
        tensor_or_none(args[3]), int(mode), args[5] == Py_True, padding);
    if (!r.out) return nullptr;
    if (!r.most) r.most = empty(Dims{0}, DType::i64, r.out->device());
    return tuple_of({r.out, r.bag_of, r.counts, r.most});
  });
}

// embedding_bags_backward(grad_output, indices, bag_of, counts, per_sample_weights, rows, mean, padding)
PyObject* native_bags_backward(Operator&, PyObject* const* args, size_t n) {
  int64_t rows, padding;
  if (n != 8 || !on_cuda(args[0]) || !on_cuda(args[1]) || !on_cuda(args[2]) || !on_cuda(args[3]) ||
      !on_cuda_or_none(args[4]) || !integer_of(args[5], &rows) || !integer_of(args[7], &padding))
    return nullptr;
  return guarded([&]() -> PyObject* {
    return wrapped(cuda::embedding_bags_backward(Tensor(unwrap(args[0])), Tensor(unwrap(args[1])),
        Tensor(unwrap(args[2])), Tensor(unwrap(args[3])), tensor_or_none(args[4]), rows, args[6] == Py_True, padding));
  });
}

// embedding_bags_samples(grad_output, weight, indices, bag_of, padding)
PyObject* native_bags_samples(Operator&, PyObject* const* args, size_t n) {
  int64_t padding;
  if (n != 5 || !on_cuda(args[0]) || !on_cuda(args[1]) || !on_cuda(args[2]) || !on_cuda(args[3]) ||
      !integer_of(args[4], &padding))
    return nullptr;
  return guarded([&]() -> PyObject* {
    return wrapped(cuda::embedding_bags_samples(
        Tensor(unwrap(args[0])), Tensor(unwrap(args[1])), Tensor(unwrap(args[2])), Tensor(unwrap(args[3])), padding));
  });
}

// ctc_alignments(log_probs, targets, input_lengths, target_lengths, blank) -> (losses, alpha)
PyObject* native_ctc(Operator&, PyObject* const* args, size_t n) {
  int64_t blank;
  if (n != 5 || !integer_of(args[4], &blank)) return nullptr;
  for (int i = 0; i < 4; ++i)
    if (!on_cuda(args[i])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor alpha;
    const Tensor r = cuda::ctc_loss(Tensor(unwrap(args[0])), Tensor(unwrap(args[1])), Tensor(unwrap(args[2])),
        Tensor(unwrap(args[3])), blank, &alpha);
    return r ? tuple_of({r, alpha}) : nullptr;
  });
}

// ctc_alignments_backward(grad_output, log_probs, targets, input_lengths, target_lengths, losses, alpha, blank)
PyObject* native_ctc_backward(Operator&, PyObject* const* args, size_t n) {
  int64_t blank;
  if (n != 8 || !integer_of(args[7], &blank)) return nullptr;
  for (int i = 0; i < 7; ++i)
    if (!on_cuda(args[i])) return nullptr;
  return guarded([&]() -> PyObject* {
    const auto at = [&](int i) { return Tensor(unwrap(args[i])); };
    return wrapped(cuda::ctc_loss_backward(at(0), at(1), at(2), at(3), at(4), at(5), at(6), blank));
  });
}

constexpr const char* kLosses[] = {"mse", "l1", "smooth_l1", "huber", "bce", "bce_with_logits"};
int loss_of(PyObject* o) {
  for (int i = 0; i < 6; ++i)
    if (PyUnicode_Check(o) && PyUnicode_CompareWithASCIIString(o, kLosses[i]) == 0) return i;
  return -1;
}

// pointwise_loss(self, target, name, mean, setting)
PyObject* native_pointwise_loss(Operator&, PyObject* const* args, size_t n) {
  if (n != 5 || !on_cuda(args[0]) || !on_cuda(args[1]) || loss_of(args[2]) < 0 || !PyFloat_Check(args[4]))
    return nullptr;
  return guarded([&]() -> PyObject* {
    return wrapped(cuda::pointwise_loss(cuda::PointwiseLoss(loss_of(args[2])), Tensor(unwrap(args[0])),
        Tensor(unwrap(args[1])), args[3] == Py_True, PyFloat_AS_DOUBLE(args[4])));
  });
}

// pointwise_loss_backward(grad_output, self, target, name, mean, setting)
PyObject* native_pointwise_loss_backward(Operator&, PyObject* const* args, size_t n) {
  if (n != 6 || !on_cuda(args[0]) || !on_cuda(args[1]) || !on_cuda(args[2]) || loss_of(args[3]) < 0 ||
      !PyFloat_Check(args[5]))
    return nullptr;
  return guarded([&]() -> PyObject* {
    return wrapped(cuda::pointwise_loss_backward(cuda::PointwiseLoss(loss_of(args[3])), Tensor(unwrap(args[0])),
        Tensor(unwrap(args[1])), Tensor(unwrap(args[2])), args[4] == Py_True, PyFloat_AS_DOUBLE(args[5])));
  });
}

}  // namespace

void register_cuda_losses() {
  register_native("ctc_alignments", native_ctc);
  register_native("ctc_alignments_backward", native_ctc_backward);
  register_native("embedding_bags", native_bags);
  register_native("embedding_bags_backward", native_bags_backward);
  register_native("embedding_bags_samples", native_bags_samples);
  register_native("nll_loss", native_nll);
  register_native("nll_loss_whole", native_nll_whole);
  register_native("nll_loss_class_backward", native_nll_backward);
  register_native("multi_margin_loss_class", native_margin<false>);
  register_native("multi_margin_loss_class_backward", native_margin<true>);
  register_native("multilabel_margin_loss_class", native_multilabel<false>);
  register_native("multilabel_margin_loss_class_backward", native_multilabel<true>);
  register_native("pointwise_loss", native_pointwise_loss);
  register_native("pointwise_loss_backward", native_pointwise_loss_backward);
}

}  // namespace shim
