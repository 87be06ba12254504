// Native fast paths of reductions and softmax.
#include "cpu/parallel.h"
#include "cpu/reduce.h"
#include "python/native_values.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

template <class F> PyObject* compute(const TensorImpl& t, F&& f) {
  Tensor r;
  if (t.numel() < 2 * kGrain || !t.device().is_cpu()) {  // the GIL is held where CUDA's current stream is asked for
    r = f();
  } else {
    GilRelease released;
    r = f();
  }
  return wrapped(r);
}

bool dtype_or_none(PyObject* o, DType* t) {
  if (o == Py_None) return true;
  if (!is_dtype(o)) return false;
  *t = dtype_of(o);
  return true;
}

// (self), (self, dtype), (self, dim, keepdim), (self, dim, keepdim, dtype): which of them, the operator's schema says by types.
PyObject* reduced(Reduction kind, PyObject* const* args, size_t n) {
  if (n < 1 || n > 4 || !is_tensor(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    Dims dims;
    bool keepdim = false;
    DType dtype = DType::undefined;
    if (n == 2 && !dtype_or_none(args[1], &dtype)) return nullptr;
    if (n >= 3) {
      if (args[1] != Py_None && !(PyTuple_Check(args[1]) || PyLong_CheckExact(args[1]))) return nullptr;
      if (args[1] != Py_None && !dims_of(args[1], &dims)) return nullptr;
      if ((kind == Reduction::any || kind == Reduction::all) && args[1] != Py_None && dims.size() == 0)
        return nullptr;  // no dims, not all
      if (!PyBool_Check(args[2])) return nullptr;
      keepdim = args[2] == Py_True;
    }
    if (n == 4 && !dtype_or_none(args[3], &dtype)) return nullptr;
    return compute(*self, [&] { return reduce(kind, self, dims, keepdim, dtype); });
  });
}

PyObject* native_reduce(Operator& op, PyObject* const* args, size_t n) {
  return reduced(static_cast<Reduction>(reinterpret_cast<uintptr_t>(op.native_data)), args, n);
}
template <Reduction kind> PyObject* native_reduce_cpu(Operator&, PyObject* const* args, size_t n) {
  return n && is_tensor(args[0]) && unwrap(args[0])->device().is_cpu() ? reduced(kind, args, n) : nullptr;
}

template <bool Log> PyObject* native_softmax(Operator&, PyObject* const* args, size_t n) {
  if (n < 2 || n > 3 || !is_tensor(args[0]) || !PyLong_CheckExact(args[1])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    DType dtype = DType::undefined;
    if (n == 3 && !dtype_or_none(args[2], &dtype)) return nullptr;
    const long dim = PyLong_AsLong(args[1]);
    return compute(*self, [&] { return softmax(self, dim, Log, dtype); });
  });
}

}  // namespace

void register_reductions() {
  auto put = [](const char* name, Reduction r) {
    register_native(name, native_reduce, reinterpret_cast<void*>(uintptr_t(r)));
  };
  put("sum", Reduction::sum);
  put("sum_all", Reduction::sum);
  put("mean", Reduction::mean);
  put("mean_all", Reduction::mean);
  put("amax", Reduction::amax);
  put("amin", Reduction::amin);
  for (const char* name : {"any", "any_all", "any_dim"}) put(name, Reduction::any);
  for (const char* name : {"all", "all_all", "all_dim"}) put(name, Reduction::all);
  register_native_cpu("prod", native_reduce_cpu<Reduction::prod>);
  register_native_cpu("nansum", native_reduce_cpu<Reduction::nansum>);
  register_native("softmax", native_softmax<false>);
  register_native("log_softmax", native_softmax<true>);
}

}  // namespace shim
