#include "python/deprecated_signatures.h"
#include "python/owned_ref.h"
#include "python/values.h"

namespace shim {
namespace {

bool plain_number(PyObject* o) { return PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o); }

// What a Scalar of the schema takes: a number, or a tensor of no dims that needs no gradient.
bool number(PyObject* o) {
  return plain_number(o) || (is_tensor(o) && unwrap(o)->dim() == 0 && !unwrap(o)->requires_grad());
}

// `numbers_too`: of sums, whose functions take numbers for their tensors.
bool fits(const std::string& places, const CallArgs& c, bool numbers_too) {
  if (c.nargs != places.size()) return false;
  for (size_t i = 0; i < places.size(); ++i) {
    PyObject* given = c.args[i];
    const bool tensor = places[i] == 's' || places[i] == 't';
    if (tensor ? !is_tensor(given) && !(numbers_too && plain_number(given)) : !number(given)) return false;
  }
  return true;
}

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
  for (const char* names_then : traits.old_orders) {
    const OldOrder order(names_then);
    const std::string places = order.places_of(form);
    if (!fits(places, c, traits.numbers == Numbers::any)) continue;
    std::vector<PyObject*> args, values, words;
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] == 's' || places[i] == 't') {
        args.push_back(c.args[i]);
        continue;
      }
      values.push_back(c.args[i]);
      words.push_back(PyUnicode_InternFromString(OldOrder::keyword_of(places[i])));
    }
    for (size_t i = 0; i < c.nkw(); ++i) {
      values.push_back(c.kwvalue(i));
      words.push_back(Py_NewRef(c.kwname(i)));
    }
    const size_t positional = args.size();
    args.insert(args.end(), values.begin(), values.end());
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
