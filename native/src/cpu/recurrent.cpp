#include "cpu/recurrent.h"

#include <algorithm>
#include <cmath>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/types.h"
#include "cpu/vector_math.h"
#include "ops/linear.h"

namespace shim {
namespace {

inline float logistic(float x) { return sigmoid_of(x); }
inline double logistic(double x) { return 1 / (1 + std::exp(-x)); }
inline float hyperbolic_tangent(float x) { return tanh_of(x); }
inline double hyperbolic_tangent(double x) { return std::tanh(x); }

template <class T>
SHIM_MATH_CLONES void forward(const T* a, const T* b, const T* c, T* gates, T* after, T* h, int64_t n) {
#pragma GCC ivdep
  for (int64_t k = 0; k < n; ++k) {
    const T i = logistic(a[k] + b[k]), f = logistic(a[n + k] + b[n + k]),
            g = hyperbolic_tangent(a[2 * n + k] + b[2 * n + k]), o = logistic(a[3 * n + k] + b[3 * n + k]);
    const T next = f * c[k] + i * g;
    gates[k] = i, gates[n + k] = f, gates[2 * n + k] = g, gates[3 * n + k] = o;
    after[k] = next;
    h[k] = o * hyperbolic_tangent(next);
  }
}

template <class T>
SHIM_MATH_CLONES void backward(
    const T* grad_h, const T* grad_c, const T* gates, const T* before, const T* after, T* d, T* dc, int64_t n) {
#pragma GCC ivdep
  for (int64_t k = 0; k < n; ++k) {
    const T i = gates[k], f = gates[n + k], g = gates[2 * n + k], o = gates[3 * n + k],
            t = hyperbolic_tangent(after[k]), gh = grad_h ? grad_h[k] : T(0);
    const T through = (grad_c ? grad_c[k] : T(0)) + gh * o * (T(1) - t * t);
    d[k] = through * g * i * (T(1) - i);
    d[n + k] = through * before[k] * f * (T(1) - f);
    d[2 * n + k] = through * i * (T(1) - g * g);
    d[3 * n + k] = gh * t * o * (T(1) - o);
    dc[k] = through * f;
  }
}

template <class F> void each_row(const Tensor& c, F&& f) {
  const int64_t n = c->sizes().back(), rows = n ? c->numel() / n : 0;
  parallel_for(rows, std::max<int64_t>(1, kGrain / (16 * std::max<int64_t>(n, 1))), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) f(r, n);
  });
}
constexpr NotMine kUnserved{"dtypes other than float32 and float64, or no dims"},
    kUnsuited{"gates, cells and weights that do not suit each other"}, kNoProduct{"no matrix product"};

bool served(const Tensor& t) { return (t->dtype() == DType::f32 || t->dtype() == DType::f64) && t->dim() > 0; }
bool served(const OptionalTensor& t) { return !t || served(*t); }
Tensor dense(const Tensor& t) { return contiguous(t); }
Tensor dense(const OptionalTensor& t) { return t ? contiguous(*t) : Tensor{}; }

// Of gates (..., 4 n) and a cell (..., n) of one dtype.
bool suit(const Tensor& gates, const Tensor& cell) {
  if (gates->dtype() != cell->dtype() || gates->dim() != cell->dim() ||
      gates->sizes().back() != 4 * cell->sizes().back())
    return false;
  return std::equal(gates->sizes().begin(), gates->sizes().end() - 1, cell->sizes().begin());
}
bool suit(const Tensor& gates, const OptionalTensor& cell) { return !cell || suit(gates, *cell); }

// Of gates (steps, batch, 4 n), a cell (batch, n) and a weight (4 n, n).
bool suit(const Tensor& gates, const Tensor& cell, const Tensor& weight) {
  if (gates->dim() != 3 || cell->dim() != 2 || weight->dim() != 2 || gates->dtype() != cell->dtype() ||
      weight->dtype() != cell->dtype() || !gates->numel())
    return false;
  const int64_t n = cell->sizes()[1];
  return gates->sizes()[1] == cell->sizes()[0] && gates->sizes()[2] == 4 * n && weight->sizes()[0] == 4 * n &&
         weight->sizes()[1] == n;
}
bool alike(const Tensor& a, const Tensor& b) {
  return a->dtype() == b->dtype() && std::ranges::equal(a->sizes(), b->sizes());
}

// The gradients of a layer's steps, the last first, and what they sum on their way.
struct LayerGradients {
  Tensor gates, h, c;
};
LayerGradients layer_backward(const Tensor& grad_outputs, const Tensor& grad_cells, const Tensor& gates,
    const Tensor& c, const Tensor& weight, const Tensor& cells) {
  const int64_t rows = c->sizes()[0], n = c->sizes()[1], size = rows * n;
  const DType t = c->dtype();
  LayerGradients g{empty(gates->sizes(), t, Device{}), {}, empty(c->sizes(), t, Device{})};
  const Tensor grad_h = empty(c->sizes(), t, Device{}), grad_c = empty(c->sizes(), t, Device{});
  for (int64_t k = gates->sizes()[0] - 1; k >= 0; --k) {
    const bool last = !g.h;
    by_dtype(t, [&]<class T>(T) {
      auto sum = [&](const Tensor& given, const Tensor& later, T* to) {
        const T *x = given ? given->data_as<T>() + k * size : nullptr, *y = last ? nullptr : later->data_as<T>();
        for (int64_t i = 0; i < size; ++i) to[i] = (x ? x[i] : T(0)) + (y ? y[i] : T(0));
      };
      T *h = grad_h->data_as<T>(), *cell = grad_c->data_as<T>();
      sum(grad_outputs, g.h, h);
      sum(grad_cells, g.c, cell);
      const T *kept = gates->data_as<T>() + 4 * k * size, *after = cells->data_as<T>() + k * size,
              *before = k ? after - size : c->data_as<T>();
      each_row(c, [&](int64_t r, int64_t) {
        backward(h + r * n, cell + r * n, kept + 4 * r * n, before + r * n, after + r * n,
            g.gates->data_as<T>() + 4 * (k * size + r * n), g.c->data_as<T>() + r * n, n);
      });
    });
    g.h = gemm::linear_backward_input(select(*g.gates, 0, k), weight);
    if (!g.h) return {};
    g.h = contiguous(g.h);
  }
  return g;
}

}  // namespace

Outcome<std::tuple<Tensor, Tensor, Tensor>> lstm_step(const Tensor& gates, const Tensor& more, const Tensor& cell) {
  if (!served(gates) || !served(more) || !served(cell)) return kUnserved;
  if (!suit(gates, cell) || !suit(more, cell)) return kUnsuited;
  const Tensor a = dense(gates), b = dense(more), c = dense(cell);
  const Tensor h = empty(c->sizes(), c->dtype(), Device{}), next = empty(c->sizes(), c->dtype(), Device{}),
               kept = empty(a->sizes(), c->dtype(), Device{});
  by_dtype(c->dtype(), [&]<class T>(T) {
    each_row(c, [&](int64_t r, int64_t n) {
      forward(a->data_as<T>() + 4 * r * n, b->data_as<T>() + 4 * r * n, c->data_as<T>() + r * n,
          kept->data_as<T>() + 4 * r * n, next->data_as<T>() + r * n, h->data_as<T>() + r * n, n);
    });
  });
  return std::tuple(h, next, kept);
}

Outcome<std::tuple<Tensor, Tensor>> lstm_step_backward(const OptionalTensor& of_h, const OptionalTensor& of_cell,
    const Tensor& given, const Tensor& cell, const Tensor& next) {
  if (!served(of_h) || !served(of_cell) || !served(given) || !served(cell) || !served(next)) return kUnserved;
  if (!suit(given, cell) || !suit(given, next) || !suit(given, of_h) || !suit(given, of_cell)) return kUnsuited;
  const Tensor grad_h = dense(of_h), grad_c = dense(of_cell), gates = dense(given), before = dense(cell),
               after = dense(next);
  const Tensor d = empty(gates->sizes(), gates->dtype(), Device{}),
               dc = empty(before->sizes(), gates->dtype(), Device{});
  by_dtype(gates->dtype(), [&]<class T>(T) {
    each_row(before, [&](int64_t r, int64_t n) {
      backward(grad_h ? grad_h->data_as<T>() + r * n : nullptr, grad_c ? grad_c->data_as<T>() + r * n : nullptr,
          gates->data_as<T>() + 4 * r * n, before->data_as<T>() + r * n, after->data_as<T>() + r * n,
          d->data_as<T>() + 4 * r * n, dc->data_as<T>() + r * n, n);
    });
  });
  return std::tuple(d, dc);
}

Outcome<std::tuple<Tensor, Tensor, Tensor>> lstm_layer(const Tensor& given, const Tensor& first_h,
    const Tensor& first_cell, const Tensor& given_weight, const OptionalTensor& given_bias) {
  if (!served(given) || !served(first_h) || !served(first_cell) || !served(given_weight) || !served(given_bias))
    return kUnserved;
  if (!suit(given, first_cell, given_weight) || !alike(first_h, first_cell)) return kUnsuited;
  const int64_t steps = given->sizes()[0], rows = first_cell->sizes()[0], n = first_cell->sizes()[1];
  const DType t = first_cell->dtype();
  if (given_bias && ((*given_bias)->dtype() != t || (*given_bias)->numel() != 4 * n)) return kUnsuited;
  const Tensor gates = dense(given), c = dense(first_cell), weight = dense(given_weight), bias = dense(given_bias);
  const Tensor outputs = empty(Dims{steps, rows, n}, t, Device{}), cells = empty(Dims{steps, rows, n}, t, Device{}),
               kept = empty(gates->sizes(), t, Device{});
  Tensor state = dense(first_h);
  for (int64_t k = 0; k < steps; ++k) {
    const Tensor more = gemm::linear_forward(state, weight, bias);
    if (!more) return kNoProduct;
    by_dtype(t, [&]<class T>(T) {
      const int64_t at = k * rows * n;
      const T *a = gates->data_as<T>() + 4 * at, *b = more->data_as<T>(),
              *before = k ? cells->data_as<T>() + at - rows * n : c->data_as<T>();
      each_row(c, [&](int64_t r, int64_t) {
        forward(a + 4 * r * n, b + 4 * r * n, before + r * n, kept->data_as<T>() + 4 * (at + r * n),
            cells->data_as<T>() + at + r * n, outputs->data_as<T>() + at + r * n, n);
      });
    });
    state = select(*outputs, 0, k);
  }
  return std::tuple(outputs, cells, kept);
}

Outcome<std::tuple<Tensor, Tensor, Tensor>> lstm_layer_backward(const OptionalTensor& of_outputs,
    const OptionalTensor& of_cells, const Tensor& gates, const Tensor& c, const Tensor& weight, const Tensor& cells) {
  if (!served(of_outputs) || !served(of_cells) || !served(gates) || !served(c) || !served(weight) || !served(cells))
    return kUnserved;
  if (!suit(gates, c, weight) || !suit(gates, cells)) return kUnsuited;
  for (const OptionalTensor* g : {&of_outputs, &of_cells})
    if (*g && !alike(**g, cells)) return kUnsuited;
  const LayerGradients g =
      layer_backward(dense(of_outputs), dense(of_cells), dense(gates), dense(c), dense(weight), dense(cells));
  if (!g.h) return kNoProduct;
  return std::tuple(g.gates, g.h, g.c);
}

}  // namespace shim
