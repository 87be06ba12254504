// Recurrent layers by cuDNN: torch._cudnn_rnn and its gradient. What cuDNN does not take is left to the layers' steps.
#include <algorithm>
#include <utility>

#include "autograd/autograd.h"
#include "cuda/cudnn_recurrent.h"
#include "python/forward_mode.h"
#include "python/native_cuda.h"
#include "python/torch_dispatch.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

constexpr const char* kScatteredWeights =
    "RNN module weights are not part of single contiguous chunk of memory. This means they need to be compacted at "
    "every call, possibly greatly increasing memory usage. To "
    "compact weights again call flatten_parameters().";

bool rnn_tensor(PyObject* o) {
  return on_cuda(o) && is_floating(unwrap(o)->dtype()) && unwrap(o)->itemsize() > 1 && unwrap(o)->numel() &&
         !unwrap(o)->has_math_bits();
}

bool rnn_tensors(PyObject* o, std::vector<Tensor>* to) {
  if (!PyList_Check(o) && !PyTuple_Check(o)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(o, i);
    if (!rnn_tensor(item)) return false;
    to->push_back(Tensor(unwrap(item)));
  }
  return !to->empty();
}

// (mode, hidden_size, proj_size, num_layers, batch_first, dropout, train, bidirectional, batch_sizes, dropout_state) from `a` on, and the stride of
// the weights.
struct RnnSettings {
  cudnn::Recurrent r;
  bool batch_first, train;
  Dims batch_sizes;
};
bool rnn_settings_of(PyObject* stride, PyObject* const* a, const TensorImpl& x, RnnSettings* s) {
  int64_t per, mode;
  Scalar dropout;
  cudnn::Recurrent& r = s->r;
  if (!integer_of(stride, &per) || !integer_of(a[0], &mode) || !integer_of(a[1], &r.hidden) ||
      !integer_of(a[2], &r.proj) || !integer_of(a[3], &r.layers))
    return false;
  if (!number_of(a[5], &dropout) || !dims_of(a[8], &s->batch_sizes) || !x.dim() || mode < 0 || mode > 3 ||
      r.layers < 1 || r.layers > 4096)
    return PyErr_Clear(), false;
  r.mode = int(mode);
  r.input = x.sizes().back();
  r.dtype = x.dtype();
  r.device = x.device().index;
  r.biases = per - (r.proj > 0) == 4;
  r.bidirectional = a[7] == Py_True;
  s->train = a[6] == Py_True;
  s->batch_first = a[4] == Py_True && s->batch_sizes.empty();
  if (s->train && dropout.to_double() > 0 && r.layers > 1) {
    if (!rnn_tensor(a[9]) && !(on_cuda(a[9]) && unwrap(a[9])->dtype() == DType::u8 && unwrap(a[9])->numel()))
      return false;
    r.dropout = dropout.to_double();
    r.dropout_state = Tensor(unwrap(a[9]));
  }
  return true;
}

Tensor rnn_steps_first(const Tensor& t, bool batch_first) { return contiguous(batch_first ? transpose(*t, 0, 1) : t); }
Tensor rnn_as_given(const Tensor& t, bool batch_first) { return batch_first ? transpose(*t, 0, 1) : t; }

Tensor rnn_state_of(PyObject* o) { return o == Py_None ? Tensor() : contiguous(Tensor(unwrap(o))); }

PyObject* native_recurrent(Operator&, PyObject* const* args, size_t n) {
  if (n != 16 || !rnn_tensor(args[0]) || !rnn_tensor(args[4]) || !(args[5] == Py_None || rnn_tensor(args[5])))
    return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0]));
    RnnSettings s;
    std::vector<Tensor> weights;
    if (!rnn_settings_of(args[2], args + 6, *x, &s) || !rnn_tensors(args[1], &weights)) return nullptr;
    const cudnn::Layout* layout = cudnn::layout_of(s.r);
    if (!layout) return nullptr;
    bool copied = false;
    const bool given = is_tensor(args[3]) && unwrap(args[3])->numel() == layout->elements &&
                       unwrap(args[3])->is_contiguous() && unwrap(args[3])->dtype() == s.r.dtype;
    const Tensor buffer = given ? Tensor(unwrap(args[3])) : cudnn::gathered(*layout, weights, &copied);
    if (!buffer || buffer->dtype() != s.r.dtype) return nullptr;
    static bool warned = false;  // once, as PyTorch
    if (copied && !any_autocast() && !std::exchange(warned, true) &&
        PyErr_WarnEx(PyExc_UserWarning, kScatteredWeights, 1) < 0)
      return nullptr;
    const cudnn::Rows rows{
        rnn_steps_first(x, s.batch_first), contiguous(Tensor(unwrap(args[4]))), rnn_state_of(args[5]), s.batch_sizes};
    cudnn::Run run;
    if (!cudnn::recurrent(s.r, rows, buffer, s.train, &run)) return nullptr;
    return tuple_of({rnn_as_given(run.y, s.batch_first), run.hy,
        run.cy ? run.cy : empty(Dims{0}, s.r.dtype, x->device()), run.reserve, buffer});
  });
}

// (input, weight, weight_stride0, weight_buf, hx, cx, output, grad_output, grad_hy, grad_cy, the settings, reserve, output_mask)
PyObject* native_recurrent_backward(Operator&, PyObject* const* args, size_t n) {
  if (n != 22 || !rnn_tensor(args[0]) || !rnn_tensor(args[3]) || !rnn_tensor(args[4]) || !rnn_tensor(args[6]) ||
      !on_cuda(args[20]))
    return nullptr;
  for (int i : {5, 7, 8, 9})
    if (args[i] != Py_None && !on_cuda(args[i])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0])), y(unwrap(args[6])), reserve(unwrap(args[20]));
    RnnSettings s;
    if (!rnn_settings_of(args[2], args + 10, *x, &s) || !PySequence_Check(args[21]) || PySequence_Size(args[21]) != 4)
      return nullptr;
    const cudnn::Layout* layout = cudnn::layout_of(s.r);
    if (!layout) return nullptr;
    const cudnn::Rows rows{
        rnn_steps_first(x, s.batch_first), contiguous(Tensor(unwrap(args[4]))), rnn_state_of(args[5]), s.batch_sizes};
    Tensor gy = tensor_or_none(args[7]);
    if (gy && (gy->dtype() != s.r.dtype || !std::ranges::equal(gy->sizes(), y->sizes()))) return nullptr;
    if (!gy) fill_(gy = empty(y->sizes(), s.r.dtype, y->device()), Scalar{});
    for (int i : {8, 9})
      if (args[i] != Py_None && unwrap(args[i])->dtype() != s.r.dtype) return nullptr;
    bool wanted[4];
    for (int i = 0; i < 4; ++i) {
      PyObject* item = PySequence_GetItem(args[21], i);
      wanted[i] = item == Py_True;
      Py_XDECREF(item);
    }
    cudnn::Slopes slopes;
    if (!cudnn::recurrent_backward(s.r, rows, Tensor(unwrap(args[3])), rnn_steps_first(y, s.batch_first),
            rnn_steps_first(gy, s.batch_first), rnn_state_of(args[8]), rows.cx ? rnn_state_of(args[9]) : Tensor(),
            contiguous(reserve), wanted[3], &slopes))
      return nullptr;
    PyObject* parts = PyList_New(0);
    for (size_t k = 0; wanted[3] && k < layout->parts.size(); ++k) {
      PyObject* part = wrap(cudnn::part_of(slopes.buffer, layout->parts[k]));
      PyList_Append(parts, part);
      Py_DECREF(part);
    }
    PyObject* cx = slopes.cx ? wrap(slopes.cx) : Py_NewRef(Py_None);
    return Py_BuildValue("NNNN", wrap(rnn_as_given(slopes.x, s.batch_first)), wrap(slopes.hx), cx, parts);
  });
}

// cudnn_rnn_buffer(weights, stride, input_size, mode, hidden_size, proj_size, num_layers, bidirectional): a buffer with copies of the weights, and
// views of it in their places; None where cuDNN has no such layers.
PyObject* py_cudnn_rnn_buffer(PyObject*, PyObject* args) {
  PyObject* list = nullptr;
  int both = 0;
  long long per, input, mode, hidden, proj, layers;
  if (!PyArg_ParseTuple(args, "OLLLLLLp", &list, &per, &input, &mode, &hidden, &proj, &layers, &both)) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<Tensor> weights;
    if (!rnn_tensors(list, &weights) || mode < 0 || mode > 3) Py_RETURN_NONE;
    const TensorImpl& first = *weights[0];
    const cudnn::Recurrent r{
        int(mode), input, hidden, proj, layers, both != 0, per - (proj > 0) == 4, first.dtype(), first.device().index};
    const cudnn::Layout* layout = cudnn::layout_of(r);
    bool copied = false;
    const Tensor buffer = layout ? cudnn::gathered(*layout, weights, &copied) : Tensor();
    if (!buffer) Py_RETURN_NONE;
    PyObject* parts = PyList_New(0);
    for (const cudnn::Part& p : layout->parts) {
      PyObject* part = wrap(cudnn::part_of(buffer, p));
      PyList_Append(parts, part);
      Py_DECREF(part);
    }
    return Py_BuildValue("NN", wrap(buffer), parts);
  });
}

// cudnn_rnn_takes(tensor, ...): CUDA tensors of floats with values of their own, all of one dtype, that no handler, mode or tangent goes with.
PyObject* py_cudnn_rnn_takes(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (forward_gradients() || (python_dispatch && dispatch_mode_active())) Py_RETURN_FALSE;
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!rnn_tensor(args[i]) || !has_data(*unwrap(args[i])) || !is_plain(Tensor(unwrap(args[i])))) Py_RETURN_FALSE;
  Py_RETURN_TRUE;
}

PyObject* py_cudnn_dropout_state(PyObject*, PyObject* args) {
  double p;
  long long seed;
  int device;
  if (!PyArg_ParseTuple(args, "dLi", &p, &seed, &device)) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor t = cudnn::dropout_state(p, seed, device);
    if (!t) Py_RETURN_NONE;
    return wrap(t);
  });
}

PyMethodDef recurrent_functions[] = {
    {"cudnn_rnn_buffer", py_cudnn_rnn_buffer, METH_VARARGS,
        "The weights of recurrent layers in one buffer, and views of their places in it; None without cuDNN."},
    {"cudnn_rnn_takes", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(py_cudnn_rnn_takes)), METH_FASTCALL,
        "Whether these are CUDA tensors as cuDNN takes them, and nobody looks on."},
    {"cudnn_dropout_state", py_cudnn_dropout_state, METH_VARARGS,
        "(p, seed, device): the state of random numbers that cuDNN's dropout works on; None without cuDNN."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_cuda_recurrent(PyObject* module) {
  register_native("_cudnn_rnn", native_recurrent);
  register_native("_cudnn_rnn_backward", native_recurrent_backward);
  return PyModule_AddFunctions(module, recurrent_functions);
}

}  // namespace shim
