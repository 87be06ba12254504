#include "ops/schema.h"

#include <cctype>
#include <cstdlib>

#include "core/error.h"
#include "ops/schema_lexer.h"

namespace shim {
namespace {

using Base = ArgType::Base;

class Parser : SchemaLexer {
 public:
  explicit Parser(const std::string& text) : SchemaLexer(text) {}

  Schema schema() {
    Schema s;
    parse_name(s);
    parse_arguments(s);
    expect("->");
    parse_returns(s);
    blanks();
    if (at_ < text_.size()) error("unexpected text after the schema");
    for (size_t i = 0; i < s.args.size(); ++i) {
      Argument& a = s.args[i];
      a.is_out = a.kwarg_only && a.alias && a.alias->write;
    }
    return s;
  }

  ArgType whole_type() {
    ArgType t;
    std::optional<Alias> alias;
    parse_type(t, alias);
    blanks();
    if (at_ < text_.size()) error("unexpected text after the type");
    return t;
  }

 private:
  void parse_name(Schema& s) {
    std::string name = needed_word("an operator name");
    while (take("::")) {
      s.ns = name;
      name = needed_word("an operator name");
    }
    s.name = name;
    if (take(".")) s.overload = needed_word("an overload name");
  }

  void parse_arguments(Schema& s) {
    expect("(");
    bool kwarg_only = false, defaulted = false;
    if (take(")")) return;
    do {
      if (take("...")) {
        s.varargs = true;
        break;
      }
      if (take("*")) {
        kwarg_only = true;
        continue;
      }
      Argument a;
      a.kwarg_only = kwarg_only;
      parse_type(a.type, a.alias);
      a.name = needed_word("an argument name");
      if (take("[")) {  // JIT's second spelling: int x[2]
        a.type.list = true;
        a.type.list_size = int(std::strtol(needed_word("a size").c_str(), nullptr, 10));
        expect("]");
      }
      if (take("=")) {
        a.fallback = parse_default(a.type);
        defaulted = defaulted || !kwarg_only;
      } else if (defaulted && !kwarg_only && !(a.type.list && !a.type.optional)) {  // PyTorch lets lists follow
        error(str("Non-default positional argument follows default argument. Parameter ", a.name));
      }
      s.args.push_back(std::move(a));
    } while (take(","));
    expect(")");
  }

  void parse_returns(Schema& s) {
    if (take("...")) {
      s.varreturns = true;
      return;
    }
    blanks();
    if (at_ < text_.size() && text_[at_] == '(' && !tuple_type_ahead()) {
      ++at_;
      if (take(")")) return;
      do {
        if (take("...")) {
          s.varreturns = true;
          break;
        }
        s.returns.push_back(parse_return());
      } while (take(","));
      expect(")");
      return;
    }
    s.returns.push_back(parse_return());
  }

  // (str, t)[]: the parentheses belong to a type, not to the list of returns.
  bool tuple_type_ahead() {
    size_t i = matching(at_);
    return i + 1 < text_.size() && text_[i + 1] == '[';
  }
  Return parse_return() {
    Return r;
    parse_type(r.type, r.alias);
    blanks();
    if (at_ < text_.size() && word_char(text_[at_])) r.name = word();
    return r;
  }

  void parse_type(ArgType& t, std::optional<Alias>& alias) {
    blanks();
    if (at_ < text_.size() && text_[at_] == '(') {  // a tuple type
      size_t end = closing(at_);
      t.other = text_.substr(at_, end + 1 - at_);
      at_ = end + 1;
    } else {
      std::string name = needed_word("a type");
      while (take(".")) name += "." + needed_word("a type");
      bool composed = name == "Dict" || name == "Future" || name == "RRef" || name == "Await" || name == "Union";
      auto known = schema_type_names().find(name);
      if (composed && peek("(")) {
        size_t end = closing(at_);
        name += text_.substr(at_, end + 1 - at_);
        at_ = end + 1;
      }
      if (known != schema_type_names().end())
        t.base = known->second;
      else
        t.other = name;
      t.symint = name == "SymInt";
    }
    parse_alias(alias, false);
    parse_suffixes(t, alias);
  }

  void parse_suffixes(ArgType& t, std::optional<Alias>& alias) {
    for (;;) {
      if (take("[")) {
        if (t.list) nest(t);
        if (t.optional) {
          t.element_optional = true;
          t.optional = false;
        }
        t.list = true;
        if (!take("]")) {
          t.list_size = int(std::strtol(needed_word("a list size").c_str(), nullptr, 10));
          expect("]");
        }
        parse_alias(alias, true);
      } else if (take("?")) {
        t.optional = true;
        parse_alias(alias, t.list);
      } else {
        return;
      }
    }
  }

  // A list of lists is outside the dialect: kept as written.
  static void nest(ArgType& t) {
    std::string inner = t.other;
    for (auto& [name, base] : schema_type_names())
      if (inner.empty() && base == t.base && name != "number" && (name == "SymInt") == t.symint) inner = name;
    if (t.element_optional) inner += "?";
    inner += "[]";
    if (t.optional) inner += "?";
    t = ArgType{};
    t.other = inner;
  }

  void parse_alias(std::optional<Alias>& alias, bool of_list) {
    if (!alias && take("!")) {  // Tensor! x: a set of its own
      alias = Alias{{"$" + std::to_string(fresh_++)}, {}, true, of_list};
      return;
    }
    blanks();
    if (alias || at_ >= text_.size() || text_[at_] != '(') return;
    ++at_;
    Alias a;
    a.of_list = of_list;
    auto names = [&](std::vector<std::string>& out) {
      do { out.push_back(take("*") ? "*" : needed_word("an alias set")); } while (take("|"));
    };
    names(a.before);
    a.write = take("!");
    if (take("->"))
      names(a.after);
    else
      a.after = a.before;
    expect(")");
    alias = std::move(a);
  }

  Default parse_default(const ArgType& t) {
    if (take("None")) return {};
    blanks();
    if (at_ >= text_.size()) error("expected a default value");
    if (t.list) return list_default(t);
    if (text_[at_] == '"' || text_[at_] == '\'') return {quoted()};
    return {scalar_default(t)};
  }

  Default::Value scalar_default(const ArgType& t) {
    if (take("True")) return true;
    if (take("False")) return false;
    if (std::isalpha(static_cast<unsigned char>(text_[at_]))) {
      std::string w = word();
      if (t.base == Base::Float && (w == "inf" || w == "nan")) return std::strtod(w.c_str(), nullptr);
      if (t.base == Base::Device || t.base == Base::Str) return w + (take(":") ? ":" + word() : "");
      auto known = schema_constants().find(w);
      if (known == schema_constants().end()) error(str("invalid default value '", w, "'"));
      if (t.base == Base::ScalarType) return DType(known->second);
      return known->second;
    }
    Default::Value v = number(t.base == Base::Float && !t.optional);  // as PyTorch: `float? x=1` keeps the int
    if (t.base == Base::ScalarType && std::holds_alternative<int64_t>(v)) return DType(std::get<int64_t>(v));
    return v;
  }

  Default list_default(const ArgType& t) {
    std::vector<int64_t> ints;
    std::vector<double> reals;
    std::vector<bool> bools;
    auto one = [&] {
      blanks();
      Default::Value v = scalar_default(t);
      if (auto* b = std::get_if<bool>(&v))
        bools.push_back(*b);
      else if (auto* d = std::get_if<double>(&v))
        reals.push_back(*d);
      else if (auto* i = std::get_if<int64_t>(&v))
        ints.push_back(*i);
      else
        error("lists are only supported for float, int and bool types");
    };
    if (take("[")) {
      if (!take("]")) {
        do one();
        while (take(","));
        expect("]");
      }
    } else {
      one();
      for (int i = 1; i < t.list_size; ++i) {
        if (!ints.empty()) ints.push_back(ints[0]);
        if (!reals.empty()) reals.push_back(reals[0]);
        if (!bools.empty()) bools.push_back(bools[0]);
      }
    }
    if (t.base == Base::Float) return {reals};
    if (t.base == Base::Bool) return {bools};
    if (!reals.empty()) return {reals};
    return {ints};
  }

  int fresh_ = 0;
};

}  // namespace

Schema parse_schema(const std::string& text) { return Parser(text).schema(); }
ArgType parse_type(const std::string& text) { return Parser(text).whole_type(); }

bool Schema::is_mutable() const {
  for (const Argument& a : args)
    if (a.alias && a.alias->write) return true;
  return false;
}

bool Schema::returns_view() const {
  for (const Return& r : returns)
    if (r.alias && !r.alias->write) return true;
  return false;
}

}  // namespace shim
