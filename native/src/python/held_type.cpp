#include "python/held_type.h"

namespace shim {

HeldTypeParts::HeldTypeParts(const char* name, std::initializer_list<PyMethodDef> methods,
    std::initializer_list<PyGetSetDef> attributes, std::initializer_list<PyType_Slot> slots)
    : name_(name),
      full_name_(str("shim_torch._impl.native._core.", name)),
      methods_(methods),
      attributes_(attributes),
      slots_(slots) {
  methods_.push_back({});
  attributes_.push_back({});
}

PyTypeObject* HeldTypeParts::add(PyObject* module, int size, destructor drop) {
  slots_.insert(slots_.end(),
      {slot(Py_tp_dealloc, drop), {Py_tp_methods, methods_.data()}, {Py_tp_getset, attributes_.data()}, {}});
  PyType_Spec spec = {
      full_name_.c_str(), size, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots_.data()};
  return add_type(module, spec, name_);
}

}  // namespace shim
