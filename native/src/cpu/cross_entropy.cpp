// The gradient of softmax, and cross entropy with its gradient.
#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/autograd.h"
#include "cpu/formulas.h"
#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/row_gradients.h"
#include "cpu/row_lanes.h"
#include "cpu/vector_math.h"
#include "ops/kernels.h"

namespace shim {
namespace {

bool takes(const Tensor& t) { return is_floating(t->dtype()) && t->itemsize() > 1; }
constexpr NotMine kNotTaken{"tensors other than real floats of two bytes or more"};
Tensor as(const Tensor& t, DType dtype) { return t->dtype() == dtype ? contiguous(t) : contiguous(to_dtype(t, dtype)); }
int64_t grain(int64_t cols) { return std::max<int64_t>(1, kGrain / (4 * std::max<int64_t>(cols, 1))); }

template <class T> SHIM_MATH_CLONES T sum_row(const T* g, int64_t n) {
  return lane_sum<T>(n, [=](int64_t i) { return g[i]; });
}
template <class T> SHIM_MATH_CLONES T dot_row(const T* g, const T* y, int64_t n) {
  return lane_sum<T>(n, [=](int64_t i) { return g[i] * y[i]; });
}
template <class T> SHIM_MATH_CLONES void slopes(const T* g, const T* y, T* out, T dot, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = y[i] * (g[i] - dot);
}
inline float whole_exp(float x) { return exp_of(x); }
inline double whole_exp(double x) { return std::exp(x); }
template <class T> SHIM_MATH_CLONES void log_slopes(const T* g, const T* y, T* out, T sum, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = g[i] - whole_exp(y[i]) * sum;
}
template <class T> SHIM_MATH_CLONES void scaled_exp(const T* y, T* out, T by, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = whole_exp(y[i]) * by;
}

template <class T> SHIM_MATH_CLONES void shifted(const T* x, T* y, T by, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - by;
}

// Of logits of 16 bits, PyTorch rounds the logarithm of the sum (softmax.cpp), each logarithm of a chance, and each loss.
template <class T>
void entropy_rows(const T* x, const int64_t* target, const T* weight, int64_t rows, int64_t cols, int64_t ignored,
    DType dtype, T* losses, T* factors, T* log_p) {
  parallel_for(rows, grain(cols), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* from = x + r * cols;
      const T m = largest(from, cols), log_sum = m + rounded_log(sum_of_exponentials(from, m, cols), dtype);
      if (log_p) shifted(from, log_p + r * cols, log_sum, cols);
      const int64_t t = target[r];
      factors[r] = t == ignored ? T(0) : weight ? weight[t] : T(1);
      losses[r] = t == ignored ? T(0) : rounded_to(dtype, rounded_to(dtype, log_sum - from[t]) * factors[r]);
    }
  });
}

}  // namespace

Outcome<Tensor> softmax_backward(const Tensor& g, const Tensor& result, int64_t dim, bool log) {
  if (dim != -1 && dim != result->dim() - 1) return NotMine{"a dim that is not the last one"};
  if (!takes(g) || !takes(result)) return kNotTaken;
  if (g->dtype() != result->dtype() || !result->dim() || !std::ranges::equal(g->sizes(), result->sizes()))
    return NotMine{"two dtypes or shapes, or no dims"};
  const UnlockedWork others_run(result->numel());
  const DType t = result->dtype(), compute = compute_dtype(t);
  const Tensor dy = as(g, compute), y = as(result, compute);
  Tensor out = empty(y->sizes(), compute, Device{});
  const int64_t cols = y->sizes().back(), rows = cols ? y->numel() / cols : 0;
  auto run = [&]<class T>(T) {
    const T *a = dy->data_as<T>(), *b = y->data_as<T>();
    T* to = out->data_as<T>();
    parallel_for(rows, grain(cols), [&](int64_t begin, int64_t end) {
      for (int64_t at = begin * cols; at < end * cols; at += cols) {
        if (log)
          log_slopes(a + at, b + at, to + at, sum_row(a + at, cols), cols);
        else
          slopes(a + at, b + at, to + at, dot_row(a + at, b + at, cols), cols);
      }
    });
  };
  compute == DType::f64 ? run(double{}) : run(float{});
  return of_dtype(out, t);
}

Outcome<CrossEntropy> cross_entropy(const Tensor& logits, const Tensor& target, const OptionalTensor& weight,
    int64_t reduction, int64_t ignored, bool keep) {
  if (!takes(logits) || (weight && !takes(*weight))) return kNotTaken;
  if (logits->dim() != 2 || target->dtype() != DType::i64)
    return NotMine{"logits of other than two dims, or targets that are not int64"};
  const DType t = logits->dtype(), compute = compute_dtype(t);
  const int64_t rows = logits->sizes()[0], cols = logits->sizes()[1];
  if (target->numel() != rows || (weight && (*weight)->numel() != cols))
    return NotMine{"sizes that do not fit"};  // anybody can call the operator: the body says what is wrong
  const UnlockedWork others_run(logits->numel());
  const Tensor x = as(logits, compute), w = weight ? as(*weight, compute) : Tensor{}, at = contiguous(target);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t place = at->data_as<int64_t>()[r];
    CHECK(Kind::Index, place == ignored || (place >= 0 && place < cols), "Target ", place, " is out of bounds.");
  }
  Tensor losses = empty(Dims{rows}, compute, Device{}),
         log_p = keep ? empty(Dims{rows, cols}, compute, Device{}) : empty(Dims{0}, compute, Device{});
  const Tensor each_factor = empty(Dims{rows}, compute, Device{}), all_factors = empty({}, compute, Device{});
  Tensor loss = reduction ? empty({}, compute, Device{}) : losses;
  auto run = [&]<class T>(T) {
    T* factors = each_factor->data_as<T>();
    entropy_rows<T>(x->data_as<T>(), at->data_as<int64_t>(), w ? w->data_as<T>() : nullptr, rows, cols, ignored, t,
        losses->data_as<T>(), factors, keep ? log_p->data_as<T>() : nullptr);
    double sum = 0, total = 0;
    for (int64_t r = 0; r < rows; ++r) sum += losses->data_as<T>()[r], total += factors[r];
    *all_factors->data_as<T>() = T(total);
    if (reduction) *loss->data_as<T>() = T(reduction == 1 ? sum / total : sum);
  };
  compute == DType::f64 ? run(double{}) : run(float{});
  return CrossEntropy{of_dtype(loss, t), of_dtype(log_p, t), each_factor, all_factors};
}

Outcome<Tensor> cross_entropy_loss(const Tensor& logits, const Tensor& target, const OptionalTensor& weight,
    int64_t reduction, int64_t ignored, double label_smoothing) {
  if (reduction < 0 || reduction > 2) return NotMine{"a reduction that is none"};
  if (label_smoothing != 0) return NotMine{"label_smoothing"};
  if (!is_plain(logits) || !is_plain(target) || (weight && !is_plain(*weight)))
    return NotMine{"tensors without values of their own"};
  if (logits->dim() != 2 || !logits->numel() || target->dim() != 1 || target->dtype() != DType::i64 ||
      target->sizes()[0] != logits->sizes()[0])
    return NotMine{"other than a class for each of some rows"};
  if (weight &&
      ((*weight)->dtype() != logits->dtype() || (*weight)->dim() != 1 || (*weight)->sizes()[0] != logits->sizes()[1]))
    return NotMine{"weights of another shape or dtype"};
  const UnlockedWork others_run(logits->numel());
  const auto parts = cross_entropy(contiguous(logits), target, weight, reduction, ignored, false);
  if (!parts) return parts.why();
  return std::get<0>(*parts);
}

Outcome<Tensor> cross_entropy_backward(const Tensor& g, const Tensor& kept, const Tensor& target,
    const Tensor& each_factor, const Tensor& all_factors, int64_t reduction) {
  if (!takes(kept) || !takes(g)) return kNotTaken;
  if (kept->dim() != 2) return NotMine{"no log-softmax of rows"};
  const DType t = kept->dtype(), compute = compute_dtype(t);
  const int64_t rows = kept->sizes()[0], cols = kept->sizes()[1];
  const bool fits = target->dtype() == DType::i64 && target->numel() == rows && each_factor->numel() == rows &&
                    all_factors->numel() >= 1;
  if (!fits || g->numel() < (reduction ? 1 : rows))
    return NotMine{"sizes that do not fit"};  // anybody can call the operator: the body says what is wrong
  const UnlockedWork others_run(kept->numel());
  const Tensor log_p = as(kept, compute), dy = as(g, compute), factors = as(each_factor, compute),
               total = as(all_factors, compute), at = contiguous(target);
  Tensor out = empty(kept->sizes(), compute, Device{});
  auto run = [&]<class T>(T) {
    const T *y = log_p->data_as<T>(), *d = dy->data_as<T>(), *f = factors->data_as<T>();
    const T by = reduction == 1 ? T(1) / *total->data_as<T>() : T(1);
    T* to = out->data_as<T>();
    parallel_for(rows, grain(cols), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T scale = rounded_to(t, (reduction ? d[0] : d[r]) * f[r] * by);
        if (f[r] == T(0)) {
          std::fill_n(to + r * cols, cols, T(0));
          continue;
        }
        scaled_exp(y + r * cols, to + r * cols, scale, cols);
        const int64_t hit = at->data_as<int64_t>()[r];
        if (uint64_t(hit) < uint64_t(cols)) to[r * cols + hit] -= scale;
      }
    });
  };
  compute == DType::f64 ? run(double{}) : run(float{});
  return of_dtype(out, t);
}

}  // namespace shim
