#pragma once
// How the arguments of a call stand for those of a schema: by position, by name, by default; several ints for a size, out= for the
// named results. What objects are only the interpreter knows: this is compiled with what says it (python/arguments.cpp).
#include <algorithm>

#include "ops/signature.h"

namespace shim {

// error: an exception of the interpreter's is set. unreadable: of the right type, but beyond what C++ holds.
enum class Fit { yes, no, error, unreadable };

// Keywords that belong to no argument of a schema but to every call of a kind.
enum class ExtraWord : uint8_t { none, out, names, requires_grad };

template <class Object> struct BindingFailure {
  enum What : uint8_t { too_many, missing, type, multiple, unexpected, none } what = none;
  size_t slot = 0;
  Object value{};  // lent: of the wrong type, or the keyword
  int position = -1;
};

// `Objects`: what is asked of objects, calls and slots. Nothing is kept in an object of its own: the hot part of small calls.
template <class Objects> struct Binding {
  using Call = typename Objects::Call;
  using Bound = typename Objects::Bound;
  using Object = typename Objects::Object;
  using Failure = BindingFailure<Object>;

  static Fit bind(Operator& op, Form form, const Call& c, Bound& b, Failure& f) {
    const auto& slots = Objects::slots(op);
    const size_t n = slots.size(), nkw = c.nkw();
    b.reset(n);
    b.overloaded = b.requires_grad = false;
    Object* bound = b.data();
    size_t given = c.nargs, used = 0;
    const size_t first = form == Form::method ? 1 : 0;
    bool varargs = false, out_used = false;
    if (given > op.positional || (op.positional == first + 1 && given == first + 1)) {
      varargs = takes_varargs(op, form, c, first);
      if (varargs)
        given = first + 1;
      else if (given > op.positional) {
        f.what = Failure::too_many;
        return Fit::no;
      }
    }
    for (size_t i = 0; i < n; ++i) {
      const auto& s = slots[i];
      const Argument& a = op.schema.args[i];
      Object value{};
      typename Objects::Owned packed;
      if (i < given) {
        value = c.args[i];
        if (varargs && i == first && !(value = Objects::together(c, first, packed))) return Fit::error;
      } else if (used < nkw) {
        const int k = Objects::keyword_of(c, s, form);
        // The first of several outs may be called out too, as the tuple of them all is.
        const bool several =
            k >= 0 && a.is_out && op.out_count > 1 && takes_out(op, form) && Objects::is_tuple(c.kwvalue(size_t(k)));
        if (k >= 0 && !several) {
          value = c.kwvalue(size_t(k));
          ++used;
        }
      }
      if (!value && a.is_out && takes_out(op, form) && nkw) {
        bool bad = false;
        value = out_value(op, c, i, bad);
        if (bad) return Fit::error;
        if (value && !out_used) {
          out_used = true;
          ++used;
        }
      }
      if (!value) {
        if (!s.fallback) {
          f.what = Failure::missing;
          f.slot = i;
          return Fit::no;
        }
        bound[i] = Objects::shared(s.fallback);
        continue;
      }
      const bool undefined = s.none_ok && form == Form::op && Objects::is_none(value);
      Fit fit = undefined ? Fit::yes : Objects::convert(a, s, value, i, b, &bound[i]);
      if (undefined) bound[i] = Objects::shared(value);
      if (fit == Fit::no && form == Form::op && Objects::is_bool(value) && a.type.base == ArgType::Int && !a.type.list)
        fit = (bound[i] = Objects::number_of_bool(value)) ? Fit::yes : Fit::error;  // a number, as C++ has it
      f.value = value;
      if (__builtin_expect(fit != Fit::yes, 0)) {
        if (fit == Fit::unreadable) {
          if (form != Form::op) Objects::refuse_unreadable(a, value);
          fit = form == Form::op ? Fit::no : Fit::error;
        }
        if (varargs && i == first) f.value = c.args[first];
        f.what = Failure::type;
        f.slot = i;
        f.position = i < given ? int(i + 1 - first) : -1;
        return fit;
      }
    }
    if (used < nkw) {
      const Fit fit = further_keywords(op, form, c, b, f, given, out_used);
      if (fit != Fit::yes) return fit;
    }
    if (op.wants_a_tensor && all_numbers(op, bound)) {
      f.what = Failure::type;
      f.slot = 0;
      f.value = c.nargs ? c.args[0] : bound[0];
      f.position = c.nargs ? 1 : -1;
      return Fit::no;
    }
    return Fit::yes;
  }

 private:
  // x.view(2, 3): the only positional argument is an int list, given as several ints.
  static bool takes_varargs(const Operator& op, Form form, const Call& c, size_t first) {
    if (form == Form::op || op.positional - first != 1 || c.nargs <= first) return false;
    const ArgType& t = op.schema.args[first].type;
    if (!t.list || t.base != ArgType::Int) return false;
    for (size_t i = first; t.list_size > 0 && i < c.nargs; ++i)
      if (Objects::is_bool(c.args[i])) return false;  // x.var(0, True): another overload; in a size, True is 1
    return Objects::is_index(c.args[first]);
  }

  static bool takes_out(const Operator& op, Form form) { return form != Form::op && op.out_count > 0; }

  // out=(values, indices) stands for the named out arguments of the overload.
  static Object out_value(const Operator& op, const Call& c, size_t slot, bool& bad) {
    for (size_t i = 0; i < c.nkw(); ++i) {
      if (Objects::extra_word(c.kwname(i)) != ExtraWord::out) continue;
      Object value = c.kwvalue(i);
      if (op.out_count == 1) return value;
      if (!Objects::is_sequence(value)) return {};
      const size_t given = Objects::length(value);
      bad = given != op.out_count;
      if (bad) {
        Objects::refuse({Kind::Type, str("expected tuple of ", op.out_count, " elements but got ", given)});
        return {};
      }
      return Objects::item(value, slot - (op.schema.args.size() - op.out_count));
    }
    return {};
  }

  // out=None is nothing where out= is known: to functions of which some overload has it.
  static bool may_have_out(const Operator& op, Form form) {
    return form == Form::function &&
           std::ranges::any_of(overloads(op.schema.qualified()), [](const Operator* o) { return o->out_count > 0; });
  }

  // Those that no argument took.
  static Fit further_keywords(
      Operator& op, Form form, const Call& c, Bound& b, Failure& f, size_t given, bool out_used) {
    const auto& slots = Objects::slots(op);
    for (size_t i = 0; i < c.nkw(); ++i) {
      Object name = c.kwname(i), value = c.kwvalue(i);
      size_t at = 0;
      bool own = false, known = false;
      for (size_t k = 0; k < slots.size() && !known; ++k) {
        own = Objects::is_name(slots[k], form, name);
        known = own || Objects::is_alternative(slots[k], form, name);
        at = k;
      }
      const ExtraWord extra = known ? ExtraWord::none : Objects::extra_word(name);
      if (known && at >= given) continue;
      if (extra == ExtraWord::out && (out_used || (Objects::is_none(value) && may_have_out(op, form)))) continue;
      if (extra == ExtraWord::names && Objects::is_none(value)) continue;
      if (extra == ExtraWord::requires_grad && op.factory) {
        const int truth = Objects::truth(value);
        if (truth < 0) return Fit::error;
        b.requires_grad = truth;
        continue;
      }
      f.what = own && at >= size_t(form == Form::method) ? Failure::multiple : Failure::unexpected;
      f.value = name;
      return Fit::no;
    }
    return Fit::yes;
  }

  static bool all_numbers(const Operator& op, const Object* bound) {  // in the places of tensors
    for (size_t i = 0; i < op.schema.args.size(); ++i) {
      const Argument& a = op.schema.args[i];
      if (a.type.base == ArgType::Tensor && !a.alias && !Objects::is_number(bound[i])) return false;
    }
    return true;
  }
};

}  // namespace shim
