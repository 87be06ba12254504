#include "cpu/recurrent.h"

#include <cmath>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/vector_math.h"
#include "ops/linear.h"
#include "ops/kernels.h"

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
template <class F> void by_dtype(DType t, F&& f) { t == DType::f64 ? f(double{}) : f(float{}); }

}  // namespace

LstmStep lstm_step(const Tensor& a, const Tensor& b, const Tensor& c) {
  LstmStep s{empty(c->sizes(), c->dtype(), Device{}), empty(c->sizes(), c->dtype(), Device{}),
      empty(a->sizes(), c->dtype(), Device{})};
  by_dtype(c->dtype(), [&]<class T>(T) {
    each_row(c, [&](int64_t r, int64_t n) {
      forward(a->data_as<T>() + 4 * r * n, b->data_as<T>() + 4 * r * n, c->data_as<T>() + r * n,
          s.gates->data_as<T>() + 4 * r * n, s.c->data_as<T>() + r * n, s.h->data_as<T>() + r * n, n);
    });
  });
  return s;
}

LstmGradients lstm_step_backward(
    const Tensor& grad_h, const Tensor& grad_c, const Tensor& gates, const Tensor& before, const Tensor& after) {
  LstmGradients g{empty(gates->sizes(), gates->dtype(), Device{}), empty(before->sizes(), gates->dtype(), Device{})};
  by_dtype(gates->dtype(), [&]<class T>(T) {
    each_row(before, [&](int64_t r, int64_t n) {
      backward(grad_h ? grad_h->data_as<T>() + r * n : nullptr, grad_c ? grad_c->data_as<T>() + r * n : nullptr,
          gates->data_as<T>() + 4 * r * n, before->data_as<T>() + r * n, after->data_as<T>() + r * n,
          g.gates->data_as<T>() + 4 * r * n, g.c->data_as<T>() + r * n, n);
    });
  });
  return g;
}

LstmLayer lstm_layer(const Tensor& gates, const Tensor& h, const Tensor& c, const Tensor& weight, const Tensor& bias) {
  const int64_t steps = gates->sizes()[0], rows = c->sizes()[0], n = c->sizes()[1];
  const DType t = c->dtype();
  LstmLayer l{empty(Dims{steps, rows, n}, t, Device{}), empty(Dims{steps, rows, n}, t, Device{}),
      empty(gates->sizes(), t, Device{})};
  Tensor state = h;
  for (int64_t k = 0; k < steps; ++k) {
    const Tensor more = gemm::linear_forward(state, weight, bias);
    if (!more) return {};
    by_dtype(t, [&]<class T>(T) {
      const int64_t at = k * rows * n;
      const T *a = gates->data_as<T>() + 4 * at, *b = more->data_as<T>(),
              *before = k ? l.cells->data_as<T>() + at - rows * n : c->data_as<T>();
      each_row(c, [&](int64_t r, int64_t) {
        forward(a + 4 * r * n, b + 4 * r * n, before + r * n, l.gates->data_as<T>() + 4 * (at + r * n),
            l.cells->data_as<T>() + at + r * n, l.outputs->data_as<T>() + at + r * n, n);
      });
    });
    state = select(*l.outputs, 0, k);
  }
  return l;
}

LstmLayerGradients lstm_layer_backward(const Tensor& grad_outputs, const Tensor& grad_cells, const Tensor& gates,
    const Tensor& c, const Tensor& weight, const Tensor& cells) {
  const int64_t rows = c->sizes()[0], n = c->sizes()[1], size = rows * n;
  const DType t = c->dtype();
  LstmLayerGradients g{empty(gates->sizes(), t, Device{}), {}, empty(c->sizes(), t, Device{})};
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

}  // namespace shim
