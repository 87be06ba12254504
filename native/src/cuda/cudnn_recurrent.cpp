#include "cuda/cudnn_recurrent.h"

#include <algorithm>
#include <bit>
#include <map>

#include "cuda/cudnn.h"
#include "cuda/cudnn_rnn_library.h"
#include "cuda/driver.h"
#include "ops/kernels.h"

namespace shim::cudnn {
namespace recurrent_calls {
namespace {

int type_of(DType t) {
  return t == DType::f32    ? kFloat
         : t == DType::f64  ? kDouble
         : t == DType::f16  ? kHalf
         : t == DType::bf16 ? kBfloat
                            : -1;
}
int gates_of(int mode) { return mode == 2 ? 4 : mode == 3 ? 3 : 1; }

struct Plan {  // of one stack of layers: kept for the thread's life
  LayersDesc layers = nullptr;
  DropoutDesc dropout = nullptr;
  Layout layout;
  bool usable = false;
};

bool describe(const Library& l, Handle h, const Recurrent& r, bool packed, int algorithm, Plan& p) {
  if (l.make_layers(&p.layers) != 0 || l.make_dropout(&p.dropout) != 0) return false;
  const Tensor& state = r.dropout_state;
  const int kept = state ? l.restore_dropout(p.dropout, h, float(r.dropout), state->data(), size_t(state->numel()), 0)
                         : l.set_dropout(p.dropout, h, 0, nullptr, 0, 0);
  if (kept != 0) return false;
  const int type = type_of(r.dtype);
  const int math = type == kHalf || type == kBfloat           ? kTensorMath
                   : type == kFloat && !settings().allow_tf32 ? kPlainMath
                                                              : kDefaultMath;
  return l.set_layers(p.layers, algorithm, r.mode, r.biases ? kDoubleBias : 0, r.bidirectional, kLinearInput, type,
             type == kDouble ? kDouble : kFloat, math, int32_t(r.input), int32_t(r.hidden),
             int32_t(r.proj ? r.proj : r.hidden), int32_t(r.layers), p.dropout, packed ? 0 : kPaddedData) == 0;
}

// Where cuDNN has the weights: the gates of each matrix and of each bias must lie one after the other, as PyTorch's do.
bool lay_out(const Library& l, Handle h, const Recurrent& r, Plan& p) {
  size_t bytes = 0;
  TensorDesc matrix = nullptr, bias = nullptr;
  if (l.weight_room(h, p.layers, &bytes) != 0 || l.make_tensor(&matrix) != 0 || l.make_tensor(&bias) != 0) return false;
  const int64_t size = int64_t(itemsize(r.dtype)), gates = gates_of(r.mode), directions = r.bidirectional ? 2 : 1,
                state = r.proj ? r.proj : r.hidden;
  p.layout.elements = int64_t(bytes) / size;
  const Tensor room = empty(Dims{p.layout.elements}, r.dtype, Device{DeviceType::cuda, int8_t(r.device)});
  char* base = room->data_as<char>();
  const auto add = [&](int64_t layer, int64_t first, int64_t count, Dims sizes, bool of_bias) {
    int64_t start = 0, each = product(sizes) / count;
    for (int64_t k = 0; k < count; ++k) {
      void *m = nullptr, *b = nullptr;
      if (l.weight_at(h, p.layers, int32_t(layer), bytes, base, int32_t(first + k), matrix, &m, bias, &b) != 0)
        return false;
      char* at = static_cast<char*>(of_bias ? b : m);
      if (!at || (at - base) % size) return false;
      if (k == 0)
        start = (at - base) / size;
      else if ((at - base) / size != start + k * each)
        return false;
    }
    p.layout.parts.push_back({std::move(sizes), start});
    return true;
  };
  for (int64_t layer = 0; layer < r.layers * directions; ++layer) {
    const int64_t wide = layer < directions ? r.input : state * directions;
    if (!add(layer, 0, gates, {gates * r.hidden, wide}, false) ||
        !add(layer, gates, gates, {gates * r.hidden, state}, false))
      return false;
    if (r.biases &&
        (!add(layer, 0, gates, {gates * r.hidden}, true) || !add(layer, gates, gates, {gates * r.hidden}, true)))
      return false;
    if (r.proj && !add(layer, 8, 1, {r.proj, r.hidden}, false)) return false;
  }
  return true;
}

Plan* plan_for(const Library& l, Handle h, const Recurrent& r, bool packed, int algorithm) {
  thread_local std::map<std::vector<int64_t>, Plan> plans;
  const Tensor& state = r.dropout_state;
  std::vector<int64_t> key{r.mode, r.input, r.hidden, r.proj, r.layers, r.bidirectional, r.biases, int64_t(r.dtype),
      r.device, packed, algorithm, settings().allow_tf32, state ? std::bit_cast<int64_t>(r.dropout) : 0,
      state ? std::bit_cast<int64_t>(state->data()) : 0};
  auto [it, fresh] = plans.try_emplace(std::move(key));
  Plan& p = it->second;
  if (fresh) p.usable = describe(l, h, r, packed, algorithm, p) && lay_out(l, h, r, p);
  return p.usable ? &p : nullptr;
}

// Small states stay in registers from step to step where cuDNN has that; the same answer for a forward that is trained and its backward.
Plan* plan_for(const Library& l, Handle h, const Recurrent& r, bool packed, bool training) {
  const int64_t most = (r.mode < 2 ? 384 : 192) * (training ? 2 : 3) / 3;
  if (!packed && !r.proj && r.dtype != DType::f64 && r.hidden <= most)
    if (Plan* p = plan_for(l, h, r, packed, kSmallStates)) return p;
  return plan_for(l, h, r, packed, kStandard);
}

bool fits(const Recurrent& r) {
  if (!settings().enabled || type_of(r.dtype) < 0 || r.mode < 0 || r.mode > 3 || (r.proj && r.mode != 2)) return false;
  for (int64_t v : {r.input, r.hidden, r.layers})
    if (v < 1 || v > INT32_MAX) return false;
  return r.proj >= 0 && r.proj < r.hidden && available() && library().loaded;
}

// What the calls say of the data and the states.
struct Described {
  DataDesc x = nullptr, y = nullptr;
  TensorDesc h = nullptr, c = nullptr;
  int64_t steps = 0, batch = 0;
  size_t room = 0, reserve = 0;
};

bool states_fit(const Recurrent& r, const Rows& rows, int64_t batch) {
  const int64_t directions = r.bidirectional ? 2 : 1;
  const Dims h{r.layers * directions, batch, r.proj ? r.proj : r.hidden}, c{r.layers * directions, batch, r.hidden};
  const auto is = [&](const Tensor& t, const Dims& sizes) {
    return t->dtype() == r.dtype && t->is_contiguous() && std::ranges::equal(t->sizes(), sizes) &&
           t->device().index == r.device;
  };
  return is(rows.hx, h) && (r.mode == 2 ? rows.cx && is(rows.cx, c) : !rows.cx) && rows.x->is_contiguous() &&
         rows.x->dtype() == r.dtype && rows.x->sizes().back() == r.input;
}

bool describe(
    const Library& l, Handle handle, const Plan& p, const Recurrent& r, const Rows& rows, int pass, Described* to) {
  thread_local Described kept;  // their contents are copied by what they are given to
  Described& d = kept;
  if (!d.x &&
      (l.make_data(&d.x) != 0 || l.make_data(&d.y) != 0 || l.make_tensor(&d.h) != 0 || l.make_tensor(&d.c) != 0))
    return false;
  const bool packed = !rows.batch_sizes.empty();
  if (rows.x->dim() != (packed ? 2 : 3)) return false;
  d.steps = packed ? int64_t(rows.batch_sizes.size()) : rows.x->sizes()[0];
  d.batch = packed ? rows.batch_sizes[0] : rows.x->sizes()[1];
  if (d.steps < 1 || d.batch < 1 || d.steps > INT32_MAX || d.batch > INT32_MAX || !states_fit(r, rows, d.batch))
    return false;
  std::vector<int> lengths(size_t(d.batch), packed ? 0 : int(d.steps));
  int64_t before = d.batch, total = 0;
  for (size_t t = 0; packed && t < rows.batch_sizes.size(); ++t) {
    const int64_t n = rows.batch_sizes[t];
    if (n < 1 || n > before) return false;
    for (int64_t b = n; b < before; ++b) lengths[size_t(b)] = int(t);
    before = n;
    total += n;
  }
  if (packed) std::fill(lengths.begin(), lengths.begin() + before, int(d.steps));
  if (packed && total != rows.x->sizes()[0]) return false;
  const int type = type_of(r.dtype), layout = packed ? kPacked : kUnpacked, directions = r.bidirectional ? 2 : 1,
            state = int(r.proj ? r.proj : r.hidden);
  const int sizes_h[] = {int(r.layers) * directions, int(d.batch), state},
            sizes_c[] = {sizes_h[0], sizes_h[1], int(r.hidden)};
  const int strides_h[] = {int(d.batch) * state, state, 1},
            strides_c[] = {int(d.batch) * int(r.hidden), int(r.hidden), 1};
  if (l.set_data(d.x, type, layout, int(d.steps), int(d.batch), int(r.input), lengths.data(), nullptr) != 0 ||
      l.set_data(d.y, type, layout, int(d.steps), int(d.batch), state * directions, lengths.data(), nullptr) != 0 ||
      l.set_tensor(d.h, type, 3, sizes_h, strides_h) != 0 || l.set_tensor(d.c, type, 3, sizes_c, strides_c) != 0 ||
      l.room(handle, p.layers, pass, d.x, &d.room, &d.reserve) != 0)
    return false;
  *to = d;
  return true;
}

void* at(const Tensor& t) { return t ? t->data() : nullptr; }
Tensor bytes(size_t n, const Tensor& like) { return empty(Dims{int64_t(n)}, DType::u8, like->device()); }

}  // namespace
}  // namespace recurrent_calls

using namespace recurrent_calls;

const Layout* layout_of(const Recurrent& r) {
  if (!fits(r)) return nullptr;
  cuda::OnDevice current(r.device);
  const Handle h = thread_handle(r.device);
  const Plan* p = h ? plan_for(library(), h, r, false, kStandard) : nullptr;
  return p ? &p->layout : nullptr;
}

Tensor part_of(const Tensor& buffer, const Part& p) {
  return as_strided(*buffer, p.sizes, contiguous_strides(p.sizes), buffer->storage_offset() + p.start);
}

Tensor gathered(const Layout& layout, std::span<const Tensor> weights, bool* copied) {
  *copied = false;
  if (weights.size() != layout.parts.size() || weights.empty()) return {};
  const TensorImpl& first = *weights[0];
  const int64_t base = first.storage_offset() - layout.parts[0].start;
  bool there = base >= 0 && size_t(base + layout.elements) * first.itemsize() <= first.storage()->nbytes();
  for (size_t k = 0; k < weights.size(); ++k) {
    const TensorImpl& w = *weights[k];
    const Part& p = layout.parts[k];
    if (w.dtype() != first.dtype() || w.device() != first.device() || w.has_math_bits() ||
        !std::ranges::equal(w.sizes(), p.sizes))
      return {};
    there = there && w.is_contiguous() && w.storage() == first.storage() && w.storage_offset() == base + p.start;
  }
  const Dims whole{layout.elements}, one{1};
  if (there) return as_strided(first, whole, one, base);
  *copied = true;
  const Tensor buffer = empty(whole, first.dtype(), first.device());
  fill_(buffer, Scalar{});
  for (size_t k = 0; k < weights.size(); ++k) copy_(part_of(buffer, layout.parts[k]), weights[k]);
  return buffer;
}

bool recurrent(const Recurrent& r, const Rows& rows, const Tensor& buffer, bool training, Run* to) {
  if (!fits(r)) return false;
  cuda::OnDevice current(r.device);
  const Library& l = library();
  const Handle h = thread_handle(r.device);
  const bool packed = !rows.batch_sizes.empty();
  Plan* p = h ? plan_for(l, h, r, packed, training) : nullptr;
  Described d;
  const int pass = training ? kTraining : kInference;
  if (!p || buffer->numel() != p->layout.elements || !describe(l, h, *p, r, rows, pass, &d)) return false;
  Dims sizes(rows.x->sizes().begin(), rows.x->sizes().end());
  sizes.back() = (r.proj ? r.proj : r.hidden) * (r.bidirectional ? 2 : 1);
  to->y = empty(sizes, r.dtype, rows.x->device());
  to->hy = empty(rows.hx->sizes(), r.dtype, rows.x->device());
  to->cy = rows.cx ? empty(rows.cx->sizes(), r.dtype, rows.x->device()) : Tensor();
  to->reserve = bytes(training ? d.reserve : 0, rows.x);
  const Tensor room = bytes(d.room, rows.x);
  const size_t weights = size_t(buffer->numel()) * buffer->itemsize();
  const int status = l.forward(h, p->layers, pass, nullptr, d.x, rows.x->data(), d.y, to->y->data(), d.h,
      rows.hx->data(), to->hy->data(), d.c, at(rows.cx), at(to->cy), weights, buffer->data(), d.room, room->data(),
      training ? d.reserve : 0, training ? to->reserve->data() : nullptr);
  if (status == 0) return true;
  p->usable = false;  // not asked again
  return plan_for(l, h, r, packed, training) && recurrent(r, rows, buffer, training, to);
}

bool recurrent_backward(const Recurrent& r, const Rows& rows, const Tensor& buffer, const Tensor& y, const Tensor& gy,
    const Tensor& ghy, const Tensor& gcy, const Tensor& reserve, bool of_weights, Slopes* to) {
  if (!fits(r)) return false;
  cuda::OnDevice current(r.device);
  const Library& l = library();
  const Handle h = thread_handle(r.device);
  Plan* p = h ? plan_for(l, h, r, !rows.batch_sizes.empty(), true) : nullptr;
  Described d;
  if (!p || !describe(l, h, *p, r, rows, kTraining, &d) || size_t(reserve->numel()) < d.reserve) return false;
  to->x = empty(rows.x->sizes(), r.dtype, rows.x->device());
  to->hx = empty(rows.hx->sizes(), r.dtype, rows.x->device());
  to->cx = rows.cx ? empty(rows.cx->sizes(), r.dtype, rows.x->device()) : Tensor();
  const Tensor room = bytes(d.room, rows.x);
  const size_t weights = size_t(buffer->numel()) * buffer->itemsize();
  if (l.data(h, p->layers, nullptr, d.y, y->data(), gy->data(), d.x, to->x->data(), d.h, rows.hx->data(), at(ghy),
          to->hx->data(), d.c, at(rows.cx), at(gcy), at(to->cx), weights, buffer->data(), d.room, room->data(),
          size_t(reserve->numel()), reserve->data()) != 0)
    return false;
  if (!of_weights) return true;
  to->buffer = empty(buffer->sizes(), r.dtype, rows.x->device());
  fill_(to->buffer, Scalar{});
  return l.weights(h, p->layers, kAdd, nullptr, d.x, rows.x->data(), d.h, rows.hx->data(), d.y, y->data(), weights,
             to->buffer->data(), d.room, room->data(), size_t(reserve->numel()), reserve->data()) == 0;
}

Tensor dropout_state(double p, int64_t seed, int device) {
  if (!available() || !library().loaded) return {};
  cuda::OnDevice current(device);
  const Library& l = library();
  const Handle h = thread_handle(device);
  size_t size = 0;
  DropoutDesc d = nullptr;
  if (!h || l.dropout_room(h, &size) != 0 || l.make_dropout(&d) != 0) return {};
  const Tensor state = empty(Dims{int64_t(size)}, DType::u8, Device{DeviceType::cuda, int8_t(device)});
  return l.set_dropout(d, h, float(p), state->data(), size, static_cast<unsigned long long>(seed)) == 0 ? state
                                                                                                        : Tensor();
}

}  // namespace shim::cudnn
