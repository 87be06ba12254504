// Norms over channels by statistics that are given are pointwise, so a group takes them with what is around.
#include "program/expression.h"

namespace shim::program {
namespace {

// One number a channel (dim 1), seen as a tensor of the input's sizes.
TensorRef along_channels(TensorRef t, const Dims& sizes) {
  const int64_t stride = t.strides[0];
  t.sizes = sizes;
  t.strides = Dims(sizes.size(), 0);
  t.strides[1] = stride;
  return t;
}

}  // namespace

// (input - mean) / sqrt(variance + eps) * weight + bias, in the dtype that the kernel of its own computes in.
bool Expression::given_norm(const Step& step) {
  const auto tensor = [&](size_t i) { return std::get_if<TensorRef>(&step.args[i].is); };
  const auto* of_batch = std::get_if<bool>(&step.args[5].is);
  const TensorRef* x = tensor(0);
  if (!of_batch || *of_batch || !x || x->sizes.size() < 2 || !is_floating(x->dtype) || !ordinary(x->dtype))
    return false;
  const DType in = compute_dtype(x->dtype);
  const auto channels = [&](size_t i) { return as(read(along_channels(*tensor(i), x->sizes)), in); };
  const auto apply = [&](const PointwiseOp& op, auto... operands) {
    const Node n{op.name, op.at(in), in, in, DType::undefined, uint8_t(sizeof...(operands)), {operands...}};
    if (!n.cpu) refuse();
    return put(n).source;
  };
  for (size_t i : {1, 2, 3, 4})
    if (tensor(i) && (tensor(i)->sizes.size() != 1 || !is_floating(tensor(i)->dtype))) return false;
  if (!tensor(3) || !tensor(4)) return false;
  const PointwiseOp &plus = *binary_op("add"), &times = *binary_op("mul");
  const Source centred = apply(*binary_op("sub"), as(read(*x), in), channels(3));
  const Source wide = apply(plus, channels(4), number(step.args[6], in, DType::undefined));
  Source y = apply(times, centred, apply(*unary_op("rsqrt"), wide));
  if (tensor(1)) y = apply(times, y, channels(1));
  if (tensor(2)) y = apply(plus, y, channels(2));
  finish(step, {y, in}, x->dtype);
  return true;
}

}  // namespace shim::program
