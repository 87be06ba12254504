#include "cuda/cudnn_rnn.h"

#include <algorithm>

namespace shim::cudnn {
namespace {

struct RnnArguments {
  int64_t weight_stride, mode, hidden, proj, layers;
  bool batch_first;
  double dropout;
  bool train, bidirectional;
  IntArrayRef batch_sizes;
  const OptionalTensor& dropout_state;
};
struct RnnLayers {
  Recurrent r;
  bool batch_first = false;
  Dims batch_sizes;
};

// For each layer and direction a stride of weights: two matrices, two biases where there are any, one projection where there is one.
bool has_biases(int64_t weight_stride, int64_t proj) { return weight_stride - (proj > 0) == 4; }

Outcome<RnnLayers> rnn_layers(const RnnArguments& a, const TensorImpl& x) {
  if (!x.dim()) return NotMine{"an input of no dims"};
  if (a.mode < 0 || a.mode > 3) return NotMine{"a mode that cuDNN lacks"};
  if (a.layers < 1 || a.layers > 4096) return NotMine{"no layers, or more than 4096"};
  RnnLayers l{.batch_first = a.batch_first && a.batch_sizes.empty(),
      .batch_sizes = Dims(a.batch_sizes.begin(), a.batch_sizes.end())};
  l.r = {.mode = int(a.mode),
      .input = x.sizes().back(),
      .hidden = a.hidden,
      .proj = a.proj,
      .layers = a.layers,
      .bidirectional = a.bidirectional,
      .biases = has_biases(a.weight_stride, a.proj),
      .dtype = x.dtype(),
      .device = x.device().index};
  if (!a.train || !(a.dropout > 0) || a.layers == 1) return l;
  const OptionalTensor& state = a.dropout_state;
  if (!state || !(takes(*state) || ((*state)->dtype() == DType::u8 && (*state)->numel())))
    return NotMine{"dropout without a state"};
  l.r.dropout = a.dropout;
  l.r.dropout_state = *state;
  return l;
}

Tensor steps_first(const Tensor& t, bool batch_first) { return contiguous(batch_first ? transpose(*t, 0, 1) : t); }
Tensor as_given(const Tensor& t, bool batch_first) { return batch_first ? transpose(*t, 0, 1) : t; }
Tensor state_of(const OptionalTensor& t) { return t ? contiguous(*t) : Tensor(); }

std::vector<Tensor> parts_of(const Tensor& buffer, const Layout& layout) {
  std::vector<Tensor> parts;
  for (const Part& p : layout.parts) parts.push_back(part_of(buffer, p));
  return parts;
}

constexpr NotMine kNoSuchLayers{"layers that cuDNN does not have"}, kNotFloats{"tensors that are no floats of CUDA"};

}  // namespace

void (*weights_copied)() = nullptr;

bool takes(const Tensor& t) {
  return t->device().is_cuda() && is_floating(t->dtype()) && t->itemsize() > 1 && t->numel() && !t->has_math_bits();
}
bool takes_weights(TensorList weights) { return !weights.empty() && std::ranges::all_of(weights, takes); }

Outcome<std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>> rnn(const Tensor& x, TensorList weights, int64_t stride,
    const OptionalTensor& weight_buf, const Tensor& hx, const OptionalTensor& cx, int64_t mode, int64_t hidden,
    int64_t proj, int64_t layers, bool batch_first, double dropout, bool train, bool bidirectional,
    IntArrayRef batch_sizes, const OptionalTensor& dropout_state) {
  if (!takes(x) || !takes(hx) || (cx && !takes(*cx))) return kNotFloats;
  auto described = rnn_layers(
      {stride, mode, hidden, proj, layers, batch_first, dropout, train, bidirectional, batch_sizes, dropout_state}, *x);
  if (!described) return described.why();
  const RnnLayers& l = *described;
  if (!takes_weights(weights)) return kNotFloats;
  const Layout* layout = layout_of(l.r);
  if (!layout) return kNoSuchLayers;
  bool copied = false;
  const bool given = weight_buf && (*weight_buf)->numel() == layout->elements && (*weight_buf)->is_contiguous() &&
                     (*weight_buf)->dtype() == l.r.dtype;
  const Tensor buffer = given ? *weight_buf : gathered(*layout, weights, &copied);
  if (!buffer || buffer->dtype() != l.r.dtype) return NotMine{"weights that do not fit the layers"};
  if (copied && weights_copied) weights_copied();
  const Rows rows{steps_first(x, l.batch_first), contiguous(hx), state_of(cx), l.batch_sizes};
  Run run;
  if (!recurrent(l.r, rows, buffer, train, &run)) return kNoSuchLayers;
  return std::tuple{as_given(run.y, l.batch_first), run.hy, run.cy ? run.cy : empty(Dims{0}, l.r.dtype, x->device()),
      run.reserve, buffer};
}

Outcome<std::tuple<Tensor, Tensor, Tensor, std::vector<Tensor>>> rnn_backward(const Tensor& x, Ignored, int64_t stride,
    const Tensor& buffer, const Tensor& hx, const OptionalTensor& cx, const Tensor& y, const OptionalTensor& grad_y,
    const OptionalTensor& grad_hy, const OptionalTensor& grad_cy, int64_t mode, int64_t hidden, int64_t proj,
    int64_t layers, bool batch_first, double dropout, bool train, bool bidirectional, IntArrayRef batch_sizes,
    const OptionalTensor& dropout_state, const Tensor& reserve, std::array<bool, 4> wanted) {
  if (!takes(x) || !takes(buffer) || !takes(hx) || !takes(y)) return kNotFloats;
  auto described = rnn_layers(
      {stride, mode, hidden, proj, layers, batch_first, dropout, train, bidirectional, batch_sizes, dropout_state}, *x);
  if (!described) return described.why();
  const RnnLayers& l = *described;
  const Layout* layout = layout_of(l.r);
  if (!layout) return kNoSuchLayers;
  const Rows rows{steps_first(x, l.batch_first), contiguous(hx), state_of(cx), l.batch_sizes};
  for (const OptionalTensor* g : {&grad_y, &grad_hy, &grad_cy})
    if (*g && (**g)->dtype() != l.r.dtype) return NotMine{"gradients of another dtype"};
  if (grad_y && !std::ranges::equal((*grad_y)->sizes(), y->sizes())) return NotMine{"gradients of other sizes"};
  const Tensor gy = grad_y ? *grad_y : empty(y->sizes(), l.r.dtype, y->device());
  if (!grad_y) fill_(gy, Scalar{});
  Slopes slopes;
  if (!recurrent_backward(l.r, rows, buffer, steps_first(y, l.batch_first), steps_first(gy, l.batch_first),
          state_of(grad_hy), rows.cx ? state_of(grad_cy) : Tensor(), contiguous(reserve), wanted[3], &slopes))
    return kNoSuchLayers;
  return std::tuple{as_given(slopes.x, l.batch_first), slopes.hx, slopes.cx,
      wanted[3] ? parts_of(slopes.buffer, *layout) : std::vector<Tensor>()};
}

std::optional<std::tuple<Tensor, std::vector<Tensor>>> weight_buffer(TensorList weights, int64_t stride, int64_t input,
    int64_t mode, int64_t hidden, int64_t proj, int64_t layers, bool bidirectional) {
  if (!takes_weights(weights) || mode < 0 || mode > 3) return std::nullopt;
  const TensorImpl& first = *weights[0];
  const Layout* layout = layout_of({int(mode), input, hidden, proj, layers, bidirectional, has_biases(stride, proj),
      first.dtype(), first.device().index});
  bool copied = false;
  const Tensor buffer = layout ? gathered(*layout, weights, &copied) : Tensor();
  if (!buffer) return std::nullopt;
  return std::tuple{buffer, parts_of(buffer, *layout)};
}

}  // namespace shim::cudnn
