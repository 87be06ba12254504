// Losses on the CPU where no history is kept.
#include "autograd/autograd.h"
#include "cpu/ctc_loss.h"
#include "cpu/losses.h"
#include "cpu/row_gradients.h"
#include "python/native_cpu.h"

namespace shim {
namespace {

bool mean_of(PyObject* o, Mean* mean) {
  const long value = PyLong_CheckExact(o) ? PyLong_AsLong(o) : -1;
  *mean = Mean(value);
  return value >= 0 && value <= 2;
}

bool plain(PyObject* o) { return on_cpu(o) && !unwrap(o)->has_math_bits() && is_plain(Tensor(unwrap(o))); }

// nll_loss(self, target, weight, reduction, ignore_index)
PyObject* native_nll_loss(Operator&, PyObject* const* args, size_t n) {
  Mean mean;
  if (n != 5 || !plain(args[0]) || !plain(args[1]) || !(args[2] == Py_None || plain(args[2])) || history(args, n) ||
      !mean_of(args[3], &mean) || !PyLong_Check(args[4]))
    return nullptr;
  const long long ignored = PyLong_AsLongLong(args[4]);
  return guarded([&] {
    return wrapped(nll_loss(Tensor(unwrap(args[0])), Tensor(unwrap(args[1])), tensor_or_none(args[2]), mean, ignored));
  });
}

// (self, target, reduction), (self, target, reduction, number above 0)
PyObject* native_formula_loss(Operator& op, PyObject* const* args, size_t n) {
  const auto& f = *static_cast<const PointwiseFormula*>(op.native_cpu_data);
  Mean mean;
  if (int(n) != 3 + f.numbers || !plain(args[0]) || !plain(args[1]) || history(args, n) || !mean_of(args[2], &mean))
    return nullptr;
  if (n == 4 && !(PyFloat_Check(args[3]) && PyFloat_AS_DOUBLE(args[3]) > 0)) return nullptr;
  const double number = n == 4 ? PyFloat_AS_DOUBLE(args[3]) : 0;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0])), target(unwrap(args[1]));
    if (mean != Mean::none)
      return wrapped(
          unlocked(x->numel(), [&] { return formula_loss(f, x, target, n == 4 ? &number : nullptr, mean); }));
    if (x->dtype() != target->dtype()) return nullptr;
    const TensorOrScalar inputs[3] = {{x.get(), {}}, {target.get(), {}}, {nullptr, Scalar{Scalar::Float, 0, number}}};
    return wrapped(unlocked(x->numel(), [&] { return run_formula(f, {inputs, n - 1}); }));
  });
}

// _binary_cross_entropy_each(self, target)
PyObject* native_bce(Operator&, PyObject* const* args, size_t n) {
  static const PointwiseFormula& f = *pointwise_formula("bce_each");
  if (n != 2 || !on_cpu(args[0]) || !on_cpu(args[1])) return nullptr;
  const Tensor x(unwrap(args[0])), target(unwrap(args[1]));
  if (x->dtype() != target->dtype()) return nullptr;
  const TensorOrScalar inputs[2] = {{x.get(), {}}, {target.get(), {}}};
  return guarded([&] {
    return wrapped(unlocked(
        x->numel(), [&] { return chances_only(x) && chances_only(target) ? run_formula(f, inputs) : Tensor{}; }));
  });
}

// cross_entropy_loss(self, target, weight, reduction, ignore_index, label_smoothing), where no history is kept
PyObject* native_cross_entropy_loss(Operator&, PyObject* const* args, size_t n) {
  Mean mean;
  if (n != 6 || !plain(args[0]) || !plain(args[1]) || !(args[2] == Py_None || plain(args[2])) || history(args, n) ||
      !mean_of(args[3], &mean) || !PyLong_Check(args[4]))
    return nullptr;
  if (!PyFloat_Check(args[5]) || PyFloat_AS_DOUBLE(args[5]) != 0) return nullptr;
  const Tensor x(unwrap(args[0])), target(unwrap(args[1])), weight = tensor_or_none(args[2]);
  if (x->dim() != 2 || !x->numel() || target->dim() != 1 || target->dtype() != DType::i64 ||
      target->sizes()[0] != x->sizes()[0])
    return nullptr;
  if (weight && (weight->dtype() != x->dtype() || weight->dim() != 1 || weight->sizes()[0] != x->sizes()[1]))
    return nullptr;
  const long long ignored = PyLong_AsLongLong(args[4]);
  CrossEntropy parts;
  return guarded([&] {
    return wrapped(unlocked(
        x->numel(), [&] { return cross_entropy(contiguous(x), target, weight, int(mean), ignored, false, &parts); }));
  });
}

// ctc_alignments(log_probs, targets, input_lengths, target_lengths, blank) -> (losses, alpha)
PyObject* native_ctc(Operator&, PyObject* const* args, size_t n) {
  int64_t blank;
  if (n != 5 || !std::all_of(args, args + 4, on_cpu) || !integer_of(args[4], &blank)) return nullptr;
  return guarded([&]() -> PyObject* {
    const auto at = [&](int i) { return Tensor(unwrap(args[i])); };
    Tensor alpha;
    const Tensor losses = unlocked(at(0)->numel(), [&] { return ctc_loss(at(0), at(1), at(2), at(3), blank, &alpha); });
    return losses ? tuple_of({losses, alpha}) : nullptr;
  });
}

// ctc_alignments_backward(grad_output, log_probs, targets, input_lengths, target_lengths, losses, alpha, blank)
PyObject* native_ctc_backward(Operator&, PyObject* const* args, size_t n) {
  int64_t blank;
  if (n != 8 || !std::all_of(args, args + 7, on_cpu) || !integer_of(args[7], &blank)) return nullptr;
  return guarded([&] {
    const auto at = [&](int i) { return Tensor(unwrap(args[i])); };
    return wrapped(unlocked(
        at(1)->numel(), [&] { return ctc_loss_backward(at(0), at(1), at(2), at(3), at(4), at(5), at(6), blank); }));
  });
}

}  // namespace

void register_cpu_losses() {
  register_native_cpu("bce_each", native_bce);
  register_native_cpu("ctc_alignments", native_ctc);
  register_native_cpu("ctc_alignments_backward", native_ctc_backward);
  register_native_cpu("cross_entropy_loss", native_cross_entropy_loss);
  register_native_cpu("nll_loss_whole", native_nll_loss);
  for (const char* name : {"squared_error", "absolute_error", "smooth_l1", "huber"})
    register_native_cpu((std::string(name) + "_loss").c_str(), native_formula_loss,
        const_cast<PointwiseFormula*>(pointwise_formula(name)));
}

}  // namespace shim
