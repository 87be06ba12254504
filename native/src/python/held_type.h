#pragma once
// Types of the module whose objects hold a C++ object by a shared pointer, each made of a name and tables:
//   const HeldType<Store> store_type{"DistributedStore", {object_method<&store_call>("call")}};
// Functions take and give such objects as std::shared_ptr<T>, and as T& where Argument<T&> is HeldArgument<T>.
#include <memory>

#include "python/object_methods.h"

namespace shim {

template <class T> inline PyTypeObject* type_holding = nullptr;
template <class T> struct Holder {
  PyObject_HEAD std::shared_ptr<T> it;
};

template <class T> std::shared_ptr<T>* held_in(PyObject* o) {  // null for any other object
  return Py_TYPE(o) == type_holding<T> ? &reinterpret_cast<Holder<T>*>(o)->it : nullptr;
}

namespace module_call {

template <class T> PyObject* object(std::shared_ptr<T>&& it) {
  if (!it) Py_RETURN_NONE;
  PyObject* o = type_holding<T>->tp_alloc(type_holding<T>, 0);
  if (o) new (&reinterpret_cast<Holder<T>*>(o)->it) std::shared_ptr<T>(std::move(it));
  return o;
}

template <class T> struct Argument<std::shared_ptr<T>> {
  bool take(PyObject* o, FromObjects& r) {
    it_ = held_in<T>(o);
    return it_ || (r.why = "an object of another kind", false);
  }
  const std::shared_ptr<T>& value() const { return *it_; }

 private:
  std::shared_ptr<T>* it_ = nullptr;
};
template <class T> struct HeldArgument : Argument<std::shared_ptr<T>> {
  T& value() const { return *Argument<std::shared_ptr<T>>::value(); }
};

}  // namespace module_call

class HeldTypeParts {
 public:
  HeldTypeParts(const char* name, std::initializer_list<PyMethodDef>, std::initializer_list<PyGetSetDef>,
      std::initializer_list<PyType_Slot>);
  PyTypeObject* add(PyObject* module, int size, destructor drop);  // null with an error set

 private:
  const char* name_;
  std::string full_name_;  // Python 3.10 keeps its pointer
  std::vector<PyMethodDef> methods_;
  std::vector<PyGetSetDef> attributes_;
  std::vector<PyType_Slot> slots_;  // further ones: to be called, to be shown
};

// `ends_threads`: the last reference may wait for threads that need the interpreter's lock.
template <class T, bool ends_threads = false> class HeldType {
 public:
  HeldType(const char* name, std::initializer_list<PyMethodDef> methods = {},
      std::initializer_list<PyGetSetDef> attributes = {}, std::initializer_list<PyType_Slot> slots = {}) {
    parts = new HeldTypeParts(name, methods, attributes, slots);
    ModulePart({}, add);
  }

 private:
  static inline HeldTypeParts* parts;
  static void drop(PyObject* o) {
    {
      [[maybe_unused]] const std::conditional_t<ends_threads, GilRelease, std::monostate> lock;
      reinterpret_cast<Holder<T>*>(o)->it.~shared_ptr();
    }
    free_object(o);
  }
  static int add(PyObject* module) {
    type_holding<T> = parts->add(module, sizeof(Holder<T>), drop);
    return type_holding<T> ? 0 : -1;
  }
};

}  // namespace shim
