// From the options of a record to Traits.
#include "ops/traits.h"

#include <cstring>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "core/error.h"
#include "ops/out_dtype.h"
#include "ops/value.h"

namespace shim {
namespace record_traits {
namespace {

template <class T> struct Word {
  const char* word;
  T value;
};

using TraitReader = void (*)(Traits&, const Value&, const char* option);

constexpr Word<CastPolicy> kAutocast[] = {{"off", CastPolicy::off}, {"lower_precision", CastPolicy::lower_precision},
    {"promote", CastPolicy::promote}, {"float32", CastPolicy::float32}, {"float32_cpu", CastPolicy::float32_cpu},
    {"float32_cuda", CastPolicy::float32_cuda}, {"float16", CastPolicy::float16},
    {"lower_precision_cpu", CastPolicy::lower_precision_cpu},
    {"lower_precision_cuda", CastPolicy::lower_precision_cuda}, {"promote_cuda", CastPolicy::promote_cuda},
    {"float32_cpu_promote_cuda", CastPolicy::float32_cpu_promote_cuda},
    {"off_cpu_promote_cuda", CastPolicy::off_cpu_promote_cuda}};
constexpr Word<Numbers> kNumbers[] = {
    {"any", Numbers::any}, {"not_first", Numbers::not_first}, {"not_all", Numbers::not_all}};
constexpr Word<OutOverlap> kOverlap[] = {{"refused", OutOverlap::refused}, {"unchecked", OutOverlap::unchecked}};
constexpr Word<OutOrder> kOrder[] = {
    {"contiguous", OutOrder::contiguous}, {"contiguous_when_resized", OutOrder::contiguous_when_resized}};
constexpr Word<OutResize> kResize[] = {
    {"silent", OutResize::silent}, {"rounded", OutResize::rounded}, {"first", OutResize::first}};

// The texts that many operators have for an out= of another dtype; out_dtype.cpp explains {R}, {O}, {r} and {o}.
constexpr Word<const char*> kOutDtype[] = {{"same", "Found dtype {O} but expected {R}"}, {"structured", kStructuredOut},
    {"exact", kExactOut}, {"kernel", "expected scalar type {R} but found {O}"}};

const char* text(const Value& value) {
  CHECK(Kind::Type, value.tag == Value::text, "an option that is a text got another value");
  return value.chars;
}

const char* text_or_none(const Value& value) { return value.tag == Value::none ? nullptr : text(value); }

template <auto field> void flag(Traits& t, const Value& value, const char*) {
  t.*field = value.tag == Value::boolean && value.i;
}
template <auto field> void name(Traits& t, const Value& value, const char*) { t.*field = text(value); }
template <auto field, auto& words> void word(Traits& t, const Value& value, const char* option) {
  for (const auto& w : words)
    if (!std::strcmp(w.word, text(value))) {
      t.*field = w.value;
      return;
    }
  fail(Kind::Type, option, " cannot be '", text(value), "'");
}

void out_dtype(Traits& t, const Value& value, const char*) {
  t.out_dtype = text(value);
  for (const auto& w : kOutDtype)
    if (!std::strcmp(w.word, t.out_dtype)) t.out_dtype = w.value;
}

void number_overloads(Traits& t, const Value& value, const char*) {
  for (size_t i = 0; i < 3 && i < value.size; ++i) t.number_overloads[i] = text_or_none(value.items[i]);
}

template <auto Member> void texts(Traits& t, const Value& value, const char*) {
  for (const Value& each : std::span(value.items, value.size)) (t.*Member).push_back(text_or_none(each));
}

const std::unordered_map<std::string_view, TraitReader>& readers() {
  static const std::unordered_map<std::string_view, TraitReader> all{{"autocast", word<&Traits::autocast, kAutocast>},
      {"numbers", word<&Traits::numbers, kNumbers>}, {"number_overloads", number_overloads},
      {"overlap", word<&Traits::overlap, kOverlap>}, {"expanded", name<&Traits::expanded>},
      {"reads_math_bits", flag<&Traits::reads_math_bits>}, {"out_overload", name<&Traits::out_overload>},
      {"out_dtype", out_dtype}, {"cast_error", name<&Traits::cast_error>},
      {"sums_in_out_dtype", flag<&Traits::sums_in_out_dtype>}, {"out_order", word<&Traits::out_order, kOrder>},
      {"out_resize", word<&Traits::out_resize, kResize>}, {"any_out_shape", flag<&Traits::any_out_shape>},
      {"saves_tables", flag<&Traits::saves_tables>}, {"writes_out_last", flag<&Traits::writes_out_last>},
      {"out_error_name", name<&Traits::out_error_name>}, {"forward_error_name", name<&Traits::forward_error_name>},
      {"never_differentiable", flag<&Traits::never_differentiable>}, {"part_of", name<&Traits::part_of>},
      {"gradient_name", name<&Traits::gradient_name>}, {"channels_last", name<&Traits::channels_last>},
      {"dim_names", flag<&Traits::dim_names>}, {"renews_numbers", flag<&Traits::renews_numbers>},
      {"old_orders", texts<&Traits::old_orders>}, {"python_names", texts<&Traits::python_names>}};
  return all;
}

}  // namespace
}  // namespace record_traits

const Traits* read_traits(const Value& options) {
  std::unique_ptr<Traits> made;
  for (uint32_t i = 0; i < options.size; ++i) {
    const char* option = record_traits::text(options.items[2 * i]);
    const auto reader = record_traits::readers().find(option);
    if (reader == record_traits::readers().end()) continue;
    if (!made) made = std::make_unique<Traits>();
    reader->second(*made, options.items[2 * i + 1], option);
  }
  return made ? made.release() : &kNoTraits;
}

}  // namespace shim
