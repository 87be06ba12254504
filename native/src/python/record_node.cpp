// What a node of the table saves, and how it calls the formulas with it.
#include "python/record_node.h"

#include "autograd/graph_reader.h"
#include "gemm/operator_gradients.h"
#include "python/autograd_python.h"
#include "python/torch_dispatch.h"
#include "python/values.h"
#include "python/owned_ref.h"

namespace shim {

namespace {

PyObject* object_of(const SavedValue& v) { return static_cast<PyObject*>(v.object); }

PyObject* new_object(const SavedValue& v) { return v.dims ? size_object(*v.dims) : Py_NewRef(object_of(v)); }

}  // namespace

void RecordNode::release_saved() {
  GilAcquire gil;
  OperatorNode::release_saved();
}

std::string RecordNode::text_of(const SavedValue& v) const {
  const char* text = PyUnicode_AsUTF8(object_of(v));
  return text ? text : "";
}

bool RecordNode::read_object(const SavedValue& v, GraphReader& r) const { return r.value(Values().of(object_of(v))); }

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

PyObject* RecordNode::unpack(SavedValue& v) {
  if (v.is_tensor) return wrap(v.tensors[0].unpack(Ref<Node>(this)));
  if (!v.several.empty()) return list_by(v.several.size(), [&](size_t k) { return new_object(v.several[k]); });
  if (!v.is_list) return new_object(v);
  return list_by(v.tensors.size(), [&](size_t k) { return wrap(v.tensors[k].unpack(Ref<Node>(this))); });
}

bool raw_saved_attribute(Node* node, const char* name, std::vector<SavedTensor*>* found, bool* list) {
  auto* record = dynamic_cast<RecordNode*>(node);
  SavedValue* v = record ? record->find_shown(std::string(name)) : nullptr;
  if (!v || (!v->is_tensor && !v->is_list)) return false;
  for (SavedTensor& t : v->tensors) found->push_back(&t);
  *list = v->is_list;
  return true;
}

PyObject* saved_attribute(Node* node, const char* name) {
  auto* record = dynamic_cast<RecordNode*>(node);
  return record ? record->saved(name) : nullptr;
}

}  // namespace shim
