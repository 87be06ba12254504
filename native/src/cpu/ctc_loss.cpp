#include "cpu/ctc_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/vector_math.h"
#include "ops/kernels.h"

namespace shim {
namespace {

template <class T> constexpr T kNoWay = -std::numeric_limits<T>::infinity();  // the logarithm of no chance

// to[s] = scores[s] + the logarithm of the chances to stay in s, to come from the state before and, where skips[s] is 0, from two before.
// States lie in the order of the way: before[-1] and before[-2] are there.
template <class T> SHIM_MATH_CLONES void next_ways(const T* before, const T* skips, const T* scores, T* to, int64_t n) {
#pragma GCC ivdep
  for (int64_t s = 0; s < n; ++s) {
    const T a = before[s], b = before[s - 1], c = before[s - 2] + skips[s], ab = a > b ? a : b, most = ab > c ? ab : c,
            m = most == kNoWay<T> ? T(0) : most;
    to[s] = log_of(exp_below(a - m) + exp_below(b - m) + exp_below(c - m)) + m + scores[s];
  }
}
// The chance to pass each state, of the ways to it and from it, in both of which its own score counts.
template <class T>
SHIM_MATH_CLONES void passing(const T* to_it, const T* from_it, const T* scores, T loss, T* chance, int64_t n) {
  for (int64_t s = 0; s < n; ++s) {
    const T both = to_it[s] + from_it[s];
    chance[s] = exp_of(both == kNoWay<T> ? both : both - scores[s] + loss);
  }
}
template <class T> SHIM_MATH_CLONES void exponentials(const T* x, T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = exp_of(x[i]);
}
template <class T> SHIM_MATH_CLONES void scale_by(T* x, T by, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] *= by;
}

// One sample: its states are a blank, the first label, a blank, ..., the last label, a blank. `turned` counts them from the end.
template <class T> class Sample {
 public:
  Sample(const T* log_probs, int64_t row, const int64_t* labels, int64_t count, int64_t blank)
      : log_probs_(log_probs),
        row_(row),
        states_(2 * count + 1),
        places_(size_t(states_), blank),
        room_(4 * size_t(states_ + 2)) {
    for (int64_t i = 0; i < count; ++i) places_[size_t(2 * i + 1)] = labels[i];
  }
  int64_t states() const { return states_; }
  int64_t place(int64_t s) const { return places_[size_t(s)]; }
  const T* scores() const { return scores_; }

  // f(t, ways) for the steps in the order of the way; with scores() of the step.
  template <class F> void each_step(int64_t steps, bool turned, F&& f) {
    const size_t part = size_t(states_ + 2);
    T *before = room_.data() + 2, *now = before + part, *skips = room_.data() + 2 * part;
    scores_ = skips + part;
    std::fill_n(room_.data(), 2 * part, kNoWay<T>);
    if (turned) std::reverse(places_.begin(), places_.end());
    for (int64_t s = 0; s < states_; ++s) skips[s] = s % 2 && s > 1 && place(s) != place(s - 2) ? T(0) : kNoWay<T>;
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t t = turned ? steps - 1 - i : i;
      const T* row = log_probs_ + t * row_;
      for (int64_t s = 0; s < states_; ++s) scores_[s] = row[place(s)];
      if (i)
        next_ways(before, skips, scores_, now, states_);
      else
        std::copy_n(scores_, std::min<int64_t>(2, states_), now);
      f(t, now);
      std::swap(before, now);
    }
  }

 private:
  const T* log_probs_;
  int64_t row_, states_;
  std::vector<int64_t> places_;
  std::vector<T> room_;
  T* scores_ = nullptr;
};

struct Sequences {
  Tensor log_probs, targets, inputs, ends;
  int64_t steps = 0, batch = 0, classes = 0, width = 0;
  bool fit = false;
  Sequences(const Tensor& lp, const Tensor& t, const Tensor& input_lengths, const Tensor& target_lengths) {
    if ((lp->dtype() != DType::f32 && lp->dtype() != DType::f64) || lp->dim() != 3 || t->dim() != 2) return;
    steps = lp->sizes()[0], batch = lp->sizes()[1], classes = lp->sizes()[2], width = t->sizes()[1];
    for (const Tensor& each : {t, input_lengths, target_lengths})
      if (each->dtype() != DType::i64 || !each->device().is_cpu() || each->dim() < 1 || each->sizes()[0] != batch)
        return;
    log_probs = contiguous(lp), targets = contiguous(t), inputs = contiguous(input_lengths),
    ends = contiguous(target_lengths);
    fit = true;
    for (int64_t n = 0; fit && n < batch; ++n) {
      const int64_t heard = inputs->data_as<int64_t>()[n], count = ends->data_as<int64_t>()[n];
      fit = heard >= 0 && heard <= steps && count >= 0 && count <= width;
      for (int64_t i = 0; fit && i < count; ++i)
        fit = uint64_t(targets->data_as<int64_t>()[n * width + i]) < uint64_t(classes);
    }
  }
  template <class T, class F> void each(int64_t blank, F&& f) const {  // f(n, sample, steps of it)
    parallel_for(
        batch, std::max<int64_t>(1, kGrain / (8 * steps * (2 * width + 1) + 1)), [&](int64_t begin, int64_t end) {
          for (int64_t n = begin; n < end; ++n) {
            Sample<T> sample(log_probs->data_as<T>() + n * classes, batch * classes,
                targets->data_as<int64_t>() + n * width, ends->data_as<int64_t>()[n], blank);
            f(n, sample, inputs->data_as<int64_t>()[n]);
          }
        });
  }
};

constexpr NotMine kNoSequences{
    "log_probs that are no floats of three dims, or lengths and targets that do not fit them"};

template <class T> void losses_of(const Sequences& q, int64_t blank, T* losses, T* alpha) {
  const int64_t states = 2 * q.width + 1;
  q.each<T>(blank, [&](int64_t n, Sample<T>& sample, int64_t heard) {
    T* own = alpha + n * q.steps * states;
    std::fill_n(own, q.steps * states, kNoWay<T>);
    sample.each_step(
        heard, false, [&](int64_t t, const T* ways) { std::copy_n(ways, sample.states(), own + t * states); });
    const T* last = own + (heard - 1) * states + sample.states() - 1;
    const T a = heard ? last[0] : kNoWay<T>, b = heard && sample.states() > 1 ? last[-1] : kNoWay<T>,
            most = std::max(a, b), m = most == kNoWay<T> ? T(0) : most;
    losses[n] = heard || sample.states() > 1 ? -(std::log(std::exp(a - m) + std::exp(b - m)) + m) : T(0);
  });
}

template <class T>
void slopes_of(const Sequences& q, int64_t blank, const T* g, const T* losses, const T* alpha, T* to) {
  const int64_t states = 2 * q.width + 1, row = q.batch * q.classes;
  q.each<T>(blank, [&](int64_t n, Sample<T>& sample, int64_t heard) {
    const int64_t used = std::isfinite(losses[n]) ? heard : 0;
    // No way makes a slope that is no number, where one is asked for: PyTorch's formula subtracts infinities.
    for (int64_t t = used; t < q.steps; ++t)
      std::fill_n(
          to + t * row + n * q.classes, q.classes, t < heard && g[n] != 0 ? std::numeric_limits<T>::quiet_NaN() : T(0));
    std::vector<T> room(size_t(2 * sample.states()));
    T *chance = room.data(), *ways_to = chance + sample.states();
    sample.each_step(used, true, [&](int64_t t, const T* ways) {
      T* slopes = to + t * row + n * q.classes;
      std::reverse_copy(
          alpha + (n * q.steps + t) * states, alpha + (n * q.steps + t) * states + sample.states(), ways_to);
      exponentials(q.log_probs->data_as<T>() + t * row + n * q.classes, slopes, q.classes);
      passing(ways_to, ways, sample.scores(), losses[n], chance, sample.states());
      for (int64_t s = 0; s < sample.states(); ++s) slopes[sample.place(s)] -= chance[s];
      scale_by(slopes, g[n], q.classes);
    });
  });
}

}  // namespace

Outcome<CtcLossAndAlpha> ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
    const Tensor& target_lengths, int64_t blank) {
  const UnlockedWork others_run(log_probs->numel());
  const Sequences q(log_probs, targets, input_lengths, target_lengths);
  if (!q.fit) return kNoSequences;
  if (uint64_t(blank) >= uint64_t(q.classes)) return NotMine{"a blank that is no class"};
  const Tensor losses = empty(Dims{q.batch}, log_probs->dtype(), Device{});
  const Tensor alpha = empty(Dims{q.batch, q.steps, 2 * q.width + 1}, log_probs->dtype(), Device{});
  if (log_probs->dtype() == DType::f32)
    losses_of(q, blank, losses->data_as<float>(), alpha->data_as<float>());
  else
    losses_of(q, blank, losses->data_as<double>(), alpha->data_as<double>());
  return CtcLossAndAlpha{losses, alpha};
}

Outcome<Tensor> ctc_loss_backward(const Tensor& g, const Tensor& log_probs, const Tensor& targets,
    const Tensor& input_lengths, const Tensor& target_lengths, const Tensor& losses, const Tensor& alpha,
    int64_t blank) {
  const UnlockedWork others_run(log_probs->numel());
  const Sequences q(log_probs, targets, input_lengths, target_lengths);
  if (!q.fit) return kNoSequences;
  if (uint64_t(blank) >= uint64_t(q.classes)) return NotMine{"a blank that is no class"};
  for (const Tensor& t : {g, losses, alpha})
    if (t->dtype() != log_probs->dtype()) return NotMine{"two dtypes"};
  if (g->numel() != q.batch || losses->numel() != q.batch || alpha->numel() != q.batch * q.steps * (2 * q.width + 1))
    return NotMine{"a gradient, losses or an alpha of another size"};
  if (!losses->is_contiguous() || !alpha->is_contiguous()) return NotMine{"losses or an alpha not contiguous"};
  const Tensor slopes = contiguous(g), found = empty(log_probs->sizes(), log_probs->dtype(), Device{});
  const auto run = [&]<class T>(T) {
    slopes_of<T>(q, blank, slopes->data_as<T>(), losses->data_as<T>(), alpha->data_as<T>(), found->data_as<T>());
  };
  log_probs->dtype() == DType::f32 ? run(float{}) : run(double{});
  return found;
}

}  // namespace shim
