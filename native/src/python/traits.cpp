// From the options of a record to Traits.
#include "python/traits.h"

#include <cstring>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "core/error.h"
#include "python/object.h"

namespace shim {
namespace record_traits {
namespace {

const char* text(PyObject* o) {
  const char* s = PyUnicode_AsUTF8(o);
  if (!s) throw PythonError();
  return s;
}

template <class Value> struct Word {
  const char* word;
  Value value;
};

constexpr Word<CastPolicy> kAutocast[] = {{"lower_precision", CastPolicy::lower_precision},
    {"promote", CastPolicy::promote}, {"float32", CastPolicy::float32}, {"float32_cpu", CastPolicy::float32_cpu},
    {"float32_cuda", CastPolicy::float32_cuda}, {"float16", CastPolicy::float16}};
constexpr Word<Numbers> kNumbers[] = {
    {"any", Numbers::any}, {"not_first", Numbers::not_first}, {"not_all", Numbers::not_all}};
constexpr Word<OutOverlap> kOverlap[] = {{"refused", OutOverlap::refused}, {"unchecked", OutOverlap::unchecked}};
constexpr Word<OutOrder> kOrder[] = {
    {"contiguous", OutOrder::contiguous}, {"contiguous_when_resized", OutOrder::contiguous_when_resized}};
constexpr Word<OutResize> kResize[] = {
    {"silent", OutResize::silent}, {"rounded", OutResize::rounded}, {"first", OutResize::first}};

// The texts that many operators have for an out= of another dtype; out_dtype.cpp explains {R}, {O}, {r} and {o}.
constexpr Word<const char*> kOutDtype[] = {{"same", "Found dtype {O} but expected {R}"}, {"structured", kStructuredOut},
    {"kernel", "expected scalar type {R} but found {O}"}};

using Reader = void (*)(Traits&, PyObject* value, const char* option);

template <auto field> void flag(Traits& t, PyObject* value, const char*) { t.*field = value == Py_True; }
template <auto field> void name(Traits& t, PyObject* value, const char*) { t.*field = text(value); }
template <auto field, auto& words> void word(Traits& t, PyObject* value, const char* option) {
  for (const auto& w : words)
    if (!std::strcmp(w.word, text(value))) {
      t.*field = w.value;
      return;
    }
  fail(Kind::Type, option, " cannot be '", text(value), "'");
}

void out_dtype(Traits& t, PyObject* value, const char*) {
  t.out_dtype = text(value);
  for (const auto& w : kOutDtype)
    if (!std::strcmp(w.word, t.out_dtype)) t.out_dtype = w.value;
}

void number_overloads(Traits& t, PyObject* value, const char*) {
  for (size_t i = 0; i < 3 && Py_ssize_t(i) < PyTuple_Size(value); ++i)
    if (PyObject* o = PyTuple_GET_ITEM(value, i); o != Py_None) t.number_overloads[i] = text(o);
}

void old_orders(Traits& t, PyObject* value, const char*) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(value); ++i) t.old_orders.push_back(text(PyTuple_GET_ITEM(value, i)));
}

const std::unordered_map<std::string_view, Reader>& readers() {
  static const std::unordered_map<std::string_view, Reader> all{{"autocast", word<&Traits::autocast, kAutocast>},
      {"numbers", word<&Traits::numbers, kNumbers>}, {"number_overloads", number_overloads},
      {"overlap", word<&Traits::overlap, kOverlap>}, {"expanded", name<&Traits::expanded>},
      {"reads_math_bits", flag<&Traits::reads_math_bits>}, {"out_overload", name<&Traits::out_overload>},
      {"out_dtype", out_dtype}, {"cast_error", name<&Traits::cast_error>},
      {"sums_in_out_dtype", flag<&Traits::sums_in_out_dtype>}, {"out_order", word<&Traits::out_order, kOrder>},
      {"out_resize", word<&Traits::out_resize, kResize>}, {"any_out_shape", flag<&Traits::any_out_shape>},
      {"writes_out_last", flag<&Traits::writes_out_last>}, {"out_error_name", name<&Traits::out_error_name>},
      {"forward_error_name", name<&Traits::forward_error_name>},
      {"never_differentiable", flag<&Traits::never_differentiable>}, {"part_of", name<&Traits::part_of>},
      {"dim_names", flag<&Traits::dim_names>}, {"old_orders", old_orders}};
  return all;
}

const Traits* read(PyObject* options) {
  std::unique_ptr<Traits> made;
  PyObject *key, *value;
  Py_ssize_t at = 0;
  while (PyDict_Next(options, &at, &key, &value)) {
    const auto reader = readers().find(text(key));
    if (reader == readers().end()) continue;
    if (!made) made = std::make_unique<Traits>();
    reader->second(*made, value, text(key));
  }
  return made ? made.release() : &kNoTraits;
}

}  // namespace
}  // namespace record_traits

const Traits* read_traits(PyObject* options) { return record_traits::read(options); }

}  // namespace shim
