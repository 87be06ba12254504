// CPU kernels of recurrent steps.
#include <algorithm>

#include "cpu/recurrent.h"
#include "ops/kernels.h"
#include "python/native_ops.h"

namespace shim {
namespace {

bool usable(PyObject* o) {
  if (!is_tensor(o)) return false;
  const TensorImpl& t = *unwrap(o);
  return t.device().is_cpu() && (t.dtype() == DType::f32 || t.dtype() == DType::f64) && t.dim() > 0;
}
Tensor packed_or_none(PyObject* o) { return o == Py_None ? Tensor{} : contiguous(Tensor(unwrap(o))); }

// Of gates (..., 4 n) and a cell (..., n) of one dtype.
bool belong(const TensorImpl& gates, const TensorImpl& cell) {
  if (gates.dtype() != cell.dtype() || gates.dim() != cell.dim() || gates.sizes().back() != 4 * cell.sizes().back())
    return false;
  return std::equal(gates.sizes().begin(), gates.sizes().end() - 1, cell.sizes().begin());
}

// lstm_step(gates, more, cell) -> (h, cell, gates after their functions)
PyObject* native_lstm_step(Operator&, PyObject* const* args, size_t n) {
  if (n != 3 || !usable(args[0]) || !usable(args[1]) || !usable(args[2])) return nullptr;
  return guarded([&]() -> PyObject* {
    if (!belong(*unwrap(args[0]), *unwrap(args[2])) || !belong(*unwrap(args[1]), *unwrap(args[2]))) return nullptr;
    const LstmStep s = lstm_step(packed_or_none(args[0]), packed_or_none(args[1]), packed_or_none(args[2]));
    return tuple_of({s.h, s.c, s.gates});
  });
}

// lstm_step_backward(gradient of h or None, of the cell or None, gates, cell before, cell after) -> (of the gates, of the cell)
PyObject* native_lstm_step_backward(Operator&, PyObject* const* args, size_t n) {
  if (n != 5 || !(args[0] == Py_None || usable(args[0])) || !(args[1] == Py_None || usable(args[1]))) return nullptr;
  for (int i = 2; i < 5; ++i)
    if (!usable(args[i])) return nullptr;
  return guarded([&]() -> PyObject* {
    const TensorImpl &gates = *unwrap(args[2]), &cell = *unwrap(args[3]);
    if (!belong(gates, cell) || !belong(gates, *unwrap(args[4]))) return nullptr;
    for (int i = 0; i < 2; ++i)
      if (args[i] != Py_None && !belong(gates, *unwrap(args[i]))) return nullptr;
    const LstmGradients g = lstm_step_backward(packed_or_none(args[0]), packed_or_none(args[1]),
        packed_or_none(args[2]), packed_or_none(args[3]), packed_or_none(args[4]));
    return tuple_of({g.gates, g.c});
  });
}

// Of gates (steps, batch, 4 n), a cell (batch, n) and a weight (4 n, n).
bool belong(const TensorImpl& gates, const TensorImpl& cell, const TensorImpl& weight) {
  if (gates.dim() != 3 || cell.dim() != 2 || weight.dim() != 2 || gates.dtype() != cell.dtype() ||
      weight.dtype() != cell.dtype() || !gates.numel())
    return false;
  const int64_t n = cell.sizes()[1];
  return gates.sizes()[1] == cell.sizes()[0] && gates.sizes()[2] == 4 * n && weight.sizes()[0] == 4 * n &&
         weight.sizes()[1] == n;
}

// lstm_layer(gates, h, c, weight, bias) -> (outputs, cells, gates after their functions)
PyObject* native_lstm_layer(Operator&, PyObject* const* args, size_t n) {
  if (n != 5 || !(args[4] == Py_None || usable(args[4]))) return nullptr;
  for (int i = 0; i < 4; ++i)
    if (!usable(args[i])) return nullptr;
  return guarded([&]() -> PyObject* {
    const TensorImpl &h = *unwrap(args[1]), &c = *unwrap(args[2]);
    if (!belong(*unwrap(args[0]), c, *unwrap(args[3])) || h.dtype() != c.dtype() ||
        !std::ranges::equal(h.sizes(), c.sizes()))
      return nullptr;
    if (args[4] != Py_None && (unwrap(args[4])->dtype() != c.dtype() || unwrap(args[4])->numel() != 4 * c.sizes()[1]))
      return nullptr;
    const LstmLayer l = lstm_layer(packed_or_none(args[0]), packed_or_none(args[1]), packed_or_none(args[2]),
        packed_or_none(args[3]), packed_or_none(args[4]));
    return l.outputs ? tuple_of({l.outputs, l.cells, l.gates}) : nullptr;
  });
}

// lstm_layer_backward(gradient of the outputs or None, of the cells or None, gates, c, weight, cells) -> (of the gates, of h, of c)
PyObject* native_lstm_layer_backward(Operator&, PyObject* const* args, size_t n) {
  if (n != 6 || !(args[0] == Py_None || usable(args[0])) || !(args[1] == Py_None || usable(args[1]))) return nullptr;
  for (int i = 2; i < 6; ++i)
    if (!usable(args[i])) return nullptr;
  return guarded([&]() -> PyObject* {
    const TensorImpl &gates = *unwrap(args[2]), &cells = *unwrap(args[5]);
    if (!belong(gates, *unwrap(args[3]), *unwrap(args[4]))) return nullptr;
    for (int i = 0; i < 2; ++i)
      if (args[i] != Py_None &&
          (unwrap(args[i])->dtype() != cells.dtype() || !std::ranges::equal(unwrap(args[i])->sizes(), cells.sizes())))
        return nullptr;
    const LstmLayerGradients g = lstm_layer_backward(packed_or_none(args[0]), packed_or_none(args[1]),
        packed_or_none(args[2]), packed_or_none(args[3]), packed_or_none(args[4]), packed_or_none(args[5]));
    return g.h ? tuple_of({g.gates, g.h, g.c}) : nullptr;
  });
}

}  // namespace

void register_cpu_recurrent() {
  register_native_cpu("lstm_layer", native_lstm_layer);
  register_native_cpu("lstm_layer_backward", native_lstm_layer_backward);
  register_native_cpu("lstm_step", native_lstm_step);
  register_native_cpu("lstm_step_backward", native_lstm_step_backward);
}

}  // namespace shim
