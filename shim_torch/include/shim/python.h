#pragma once
// pybind11's casters of our types, and errors that keep their kind. Included where Python's headers are.
#include <Python.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <shim/torch.h>

extern "C" int32_t torch_tensor_from_pyobject(void*, ShimTensor**);

namespace shim {
inline at::Tensor tensor_of_python(PyObject* o) {
  ShimTensor* t = nullptr;
  if (torch_tensor_from_pyobject(o, &t)) throw c10::TypeError(torch_exception_get_what_without_backtrace());
  return at::Tensor::shim_adopt(t);
}
template <class F> pybind11::handle given(const ShimCell& c, F&& after) {
  auto* o = static_cast<PyObject*>(shim_cxx_to_python(&c));
  after();
  if (!o) throw pybind11::error_already_set();
  return o;
}
inline pybind11::handle given(const ShimCell& c) {
  return given(c, [] {});
}
}  // namespace shim

// A new reference to the Python object of a tensor; null, with the error set, where there is none.
inline PyObject* THPVariable_Wrap(const at::Tensor& t) {
  const ShimCell c = shim::cell(t);
  return static_cast<PyObject*>(shim_cxx_to_python(&c));
}
inline bool THPVariable_Check(PyObject* o) {
  ShimTensor* t = nullptr;
  if (torch_tensor_from_pyobject(o, &t)) return false;
  at::Tensor::shim_adopt(t);
  return true;
}
inline at::Tensor THPVariable_Unpack(PyObject* o) { return shim::tensor_of_python(o); }

namespace shim {
// In each module, from when it is loaded: errors of ours become what they were.
static struct Translators {
  Translators() {
    pybind11::gil_scoped_acquire gil;
    pybind11::register_local_exception_translator([](std::exception_ptr p) {
      try {
        if (p) std::rethrow_exception(p);
      } catch (const c10::Error& e) { shim_cxx_raise(e.shim_kind(), e.what()); }
    });
  }
} translators;
}  // namespace shim

namespace pybind11 {
namespace detail {

#define SHIM_CASTER(type, name, tag_, make)                                                               \
  template <> struct type_caster<type> {                                                                  \
    PYBIND11_TYPE_CASTER(type, _(name));                                                                  \
    type_caster() : value(make) {}                                                                        \
    bool load(handle src, bool) {                                                                         \
      ShimCell c{};                                                                                       \
      if (!src || src.is_none() || shim_cxx_from_python(tag_, src.ptr(), &c)) return false;               \
      value = shim::Unboxed<type>::from(c);                                                               \
      return true;                                                                                        \
    }                                                                                                     \
    static handle cast(const type& v, return_value_policy, handle) { return shim::given(shim::cell(v)); } \
  };
SHIM_CASTER(at::ScalarType, "torch.dtype", SHIM_DTYPE, at::kFloat)
SHIM_CASTER(at::Device, "torch.device", SHIM_DEVICE, at::Device(at::kCPU))
SHIM_CASTER(at::Layout, "torch.layout", SHIM_LAYOUT, at::kStrided)
SHIM_CASTER(at::MemoryFormat, "torch.memory_format", SHIM_MEMORY_FORMAT, at::MemoryFormat::Contiguous)

template <> struct type_caster<at::Tensor> {
  PYBIND11_TYPE_CASTER(at::Tensor, _("torch.Tensor"));
  bool load(handle src, bool) {
    ShimTensor* t = nullptr;
    if (!src || torch_tensor_from_pyobject(src.ptr(), &t)) return false;
    value = at::Tensor::shim_adopt(t);
    return true;
  }
  static handle cast(const at::Tensor& t, return_value_policy, handle) { return shim::given(shim::cell(t)); }
};
template <> struct type_caster<at::Scalar> {
  PYBIND11_TYPE_CASTER(at::Scalar, _("Union[Number, torch.Tensor]"));
  bool load(handle src, bool) {
    ShimCell c{};
    ShimTensor* t = nullptr;
    if (src && !torch_tensor_from_pyobject(src.ptr(), &t)) {
      value = at::Tensor::shim_adopt(t).item();
      return true;
    }
    if (!src || !(PyLong_Check(src.ptr()) || PyFloat_Check(src.ptr()) || PyComplex_Check(src.ptr()))) return false;
    if (shim_cxx_from_python(SHIM_NONE, src.ptr(), &c)) return false;
    value = at::Scalar(c);
    return true;
  }
  static handle cast(const at::Scalar& s, return_value_policy, handle) { return shim::given(s.cell()); }
};
template <> struct type_caster<at::Generator> {
  PYBIND11_TYPE_CASTER(at::Generator, _("torch.Generator"));
  bool load(handle src, bool) {
    ShimCell c{};
    if (!src || src.is_none() || shim_cxx_from_python(SHIM_OBJECT, src.ptr(), &c)) return false;
    value = at::Generator(c);
    return true;
  }
  static handle cast(const at::Generator& g, return_value_policy, handle) { return shim::given(g.cell()); }
};
template <class T> struct shim_list_caster {  // an ArrayRef over what the caster keeps
  PYBIND11_TYPE_CASTER(at::ArrayRef<T>, _("list"));
  bool load(handle src, bool convert) {
    if (!src || !(PyList_Check(src.ptr()) || PyTuple_Check(src.ptr()))) return false;
    kept.clear();
    for (auto o : reinterpret_borrow<sequence>(src)) {
      make_caster<T> one;
      if (!one.load(o, convert)) return false;
      kept.push_back(cast_op<T>(one));
    }
    value = at::ArrayRef<T>(kept);
    return true;
  }
  static handle cast(const at::ArrayRef<T>& a, return_value_policy p, handle h) {
    auto list = reinterpret_steal<object>(make_caster<std::vector<T>>::cast(a.vec(), p, h));
    return std::is_same_v<T, int64_t> ? PySequence_Tuple(list.ptr()) : list.release();
  }
  std::vector<T> kept;
};
template <> struct type_caster<at::IntArrayRef> : shim_list_caster<int64_t> {};
template <> struct type_caster<at::TensorList> : shim_list_caster<at::Tensor> {};
template <> struct type_caster<at::ArrayRef<double>> : shim_list_caster<double> {};

}  // namespace detail
}  // namespace pybind11

namespace torch {
namespace py = pybind11;
namespace python {
namespace detail {
// A torch.dtype, a torch.device. Errors: TypeError for another object.
inline at::ScalarType py_object_to_dtype(py::object o) {
  py::detail::make_caster<at::ScalarType> caster;
  TORCH_CHECK_TYPE(caster.load(o, true), "Expected dtype");
  return py::detail::cast_op<at::ScalarType>(caster);
}
inline at::Device py_object_to_device(py::object o) {
  py::detail::make_caster<at::Device> caster;
  TORCH_CHECK_TYPE(caster.load(o, true), "Expected device");
  return py::detail::cast_op<at::Device>(caster);
}
}  // namespace detail
}  // namespace python
template <class F> F wrap_pybind_function(F f) {
  return f;
}  // load_inline(functions=…); the casters' errors need no more
}  // namespace torch
namespace py = pybind11;
