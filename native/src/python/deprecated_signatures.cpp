#include "python/deprecated_signatures.h"
#include "python/owned_ref.h"
#include "python/values.h"

namespace shim {
namespace {

bool warned_of(const OldOrder& order, const char* name, Form form) {
  static bool given = false;
  std::string text = str("This overload of ", name, " is deprecated:\n\t", order.signature(name, form),
      "\nConsider using one of the following signatures instead: the numbers as keywords after the tensors");
  return warn_once(&given, text.c_str()) == 0;
}

}  // namespace

Operator* bind_deprecated(
    const std::vector<Operator*>& candidates, const char* name, Form form, const CallArgs& c, Bound& b) {
  if (form == Form::op || candidates.empty() || candidates.front()->alias_of) return nullptr;
  const Traits& traits = *candidates.front()->traits;
  if (traits.old_orders.empty()) return nullptr;
  Values values;
  std::vector<Value> given;  // what is in lists and dicts is no matter here
  for (PyObject* o : std::span(c.args, c.nargs))
    given.push_back(PyTuple_Check(o) || PyList_Check(o) || PyDict_Check(o) ? Value() : values.of(o));
  for (const char* names_then : traits.old_orders) {
    const OldOrder order(names_then);
    if (!order.fits(form, given.data(), c.nargs, traits.numbers == Numbers::any)) continue;
    const std::string places = order.places_of(form);
    std::vector<PyObject*> args, keywords, words;
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] == 's' || places[i] == 't') {
        args.push_back(c.args[i]);
        continue;
      }
      keywords.push_back(c.args[i]);
      words.push_back(PyUnicode_InternFromString(OldOrder::keyword_of(places[i])));
    }
    for (size_t i = 0; i < c.nkw(); ++i) {
      keywords.push_back(c.kwvalue(i));
      words.push_back(Py_NewRef(c.kwname(i)));
    }
    const size_t positional = args.size();
    args.insert(args.end(), keywords.begin(), keywords.end());
    const OwnedRef names{tuple_of(words)};
    if (!names.o) return nullptr;
    Operator* found = nullptr;
    for (Operator* op : candidates) {
      Failure f;
      const Fit fit = bind_one(*op, form, CallArgs{args.data(), positional, names}, b, f);
      if (fit == Fit::yes) found = op;
      if (fit != Fit::no) break;
    }
    if (found && !warned_of(order, name, form)) return nullptr;
    if (found || PyErr_Occurred()) return found;
  }
  return nullptr;
}

}  // namespace shim
