// What a node of the table saves, and how it calls the formulas with it.
#include "python/record_node.h"

#include "autograd/graph_reader.h"
#include "gemm/operator_gradients.h"
#include "python/autograd_python.h"
#include "python/tensors_in.h"
#include "python/torch_dispatch.h"
#include "python/values.h"
#include "python/owned_ref.h"

namespace shim {

namespace {

PyObject* object_of(const SavedValue& v) { return static_cast<PyObject*>(v.object); }

// What is saved of a tensor in its place: for formulas that need no more of it.
SavedValue metadata_of(ParameterSource::Kind kind, PyObject* a) {
  SavedValue v;
  const TensorImpl* t = is_tensor(a) ? unwrap(a) : nullptr;
  const auto saved = [&](IntArrayRef dims) { v.dims.emplace(dims.begin(), dims.end()); };
  if (kind == ParameterSource::Shape)
    saved(t ? t->sizes() : IntArrayRef{});
  else if (!t)
    v.object = Py_NewRef(Py_None);
  else if (kind == ParameterSource::DTypeOf)
    v.object = dtype_object(t->dtype());
  else if (kind == ParameterSource::DeviceOf)
    v.object = device_object(t->device());
  else if (kind == ParameterSource::Offset)
    v.object = PyLong_FromLongLong(t->storage_offset());
  else
    saved(t->strides());
  return v;
}

PyObject* new_object(const SavedValue& v) { return v.dims ? size_object(*v.dims) : Py_NewRef(object_of(v)); }

void keep(SavedValue& v, PyObject* o, bool output, uint32_t output_nr = 0) {
  if (is_tensor(o)) {
    v.is_tensor = true;
    v.tensors.emplace_back(Tensor(unwrap(o)), output, output_nr);
    return;
  }
  bool list = false;  // None may be among its tensors
  for (Py_ssize_t k = 0; (PyList_Check(o) || PyTuple_Check(o)) && !list && k < PySequence_Fast_GET_SIZE(o); ++k)
    list = is_tensor(PySequence_Fast_GET_ITEM(o, k));
  if (!list) {
    Py_INCREF(o);
    v.object = o;
    return;
  }
  v.is_list = true;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); ++k) {
    PyObject* item = PySequence_Fast_GET_ITEM(o, k);
    v.tensors.emplace_back(is_tensor(item) ? Tensor(unwrap(item)) : Tensor(), output, output_nr + uint32_t(k));
  }
}

}  // namespace

void RecordNode::build(PyObject* const* args, size_t n) {
  const bool shown = __builtin_expect(python_dispatch, 0) && !plan_.shown.empty() && wants_dispatch(args, n);
  connect(n, shown, [&](size_t i, auto&& see) {
    if (is_tensor(args[i])) return see(*unwrap(args[i])), Form::tensor;
    each_tensor(args[i], see);
    return PyList_Check(args[i]) || PyTuple_Check(args[i]) ? Form::list : Form::other;
  });
}

void RecordNode::release_saved() {
  GilAcquire gil;
  OperatorNode::release_saved();
}

std::string RecordNode::text_of(const SavedValue& v) const {
  const char* text = PyUnicode_AsUTF8(object_of(v));
  return text ? text : "";
}

bool RecordNode::read_object(const SavedValue& v, GraphReader& r) const { return r.value(Values().of(object_of(v))); }

void RecordNode::save(PyObject* const* args, PyObject* result) {
  size_t count = 0;
  for (auto* f : chosen_) count += f->sources.size();
  keys_.reserve(count);
  values_.reserve(count);
  for (auto* f : chosen_)
    for (const ParameterSource& s : f->sources) {
      if (s.kind == ParameterSource::Grad || s.kind == ParameterSource::Wanted ||
          (s.kind == ParameterSource::Result && !result) || find(s))
        continue;
      keys_.push_back(s);
      values_.push_back(value(s, args, result));
    }
}

Grads RecordNode::apply(Grads&& grads) {
  GilAcquire gil;
  check_kept();
  Grads out(next_edges.size());
  if (operator_gradients(*this, grads, out)) return out;
  for (auto* f : chosen_)
    if (!weight_gradient_added(*this, *f, grads)) call(*f, grads, out);
  return out;
}

PyObject* RecordNode::saved(const std::string& what) {
  SavedValue* v = find_shown(what);
  if (!v) return nullptr;
  if (v->is_tensor || v->is_list) check_kept();
  PyObject* found = unpack(*v);
  if (!found || !v->is_list) return found;
  PyObject* tuple = PyList_AsTuple(found);
  Py_DECREF(found);
  return tuple;
}

SavedValue RecordNode::value(const ParameterSource& s, PyObject* const* args, PyObject* result) {
  SavedValue v;
  if (s.kind == ParameterSource::Result) {
    PyObject* r = PyTuple_Check(result)  ? PyTuple_GET_ITEM(result, s.index)
                  : PyList_Check(result) ? PyList_GET_ITEM(result, s.index)
                                         : result;
    const bool hidden = op_.kind == Operator::Composite && op_.shown_outputs >= 0 && s.index >= op_.shown_outputs;
    const bool history = !hidden && (!is_tensor(r) || is_floating(unwrap(r)->dtype()) ||
                                        is_complex(unwrap(r)->dtype()));  // indices have none
    keep(v, r, history, uint32_t(s.index));
    return v;
  }
  PyObject* a = args[s.index];
  if (s.kind == ParameterSource::Argument) {
    keep(v, a, false);
    return v;
  }
  if (!PyList_Check(a) && !PyTuple_Check(a)) return metadata_of(s.kind, a);
  PyObject* all = PyList_New(0);  // of every tensor of a list
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(a); ++k) {
    const SavedValue one = metadata_of(s.kind, PySequence_Fast_GET_ITEM(a, k));
    PyObject* m = new_object(one);
    PyList_Append(all, m);
    Py_DECREF(m);
    Py_XDECREF(object_of(one));
  }
  v.object = all;
  return v;
}

PyObject* RecordNode::unpack(SavedValue& v) {
  if (v.is_tensor) return wrap(v.tensors[0].unpack(Ref<Node>(this)));
  if (!v.is_list) return new_object(v);
  return list_by(v.tensors.size(), [&](size_t k) { return wrap(v.tensors[k].unpack(Ref<Node>(this))); });
}

void RecordNode::drop() {
  if (values_.empty()) return;
  if (python_lives()) {
    GilAcquire gil;
    for (SavedValue& v : values_) Py_XDECREF(static_cast<PyObject*>(std::exchange(v.object, nullptr)));
  }
  values_.clear();
  keys_.clear();
}

}  // namespace shim
