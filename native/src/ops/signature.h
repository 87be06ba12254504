#pragma once
// Operators' signatures as texts: in errors, in documentation, and of orders of arguments that PyTorch has given up.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "ops/operator.h"

namespace shim {

enum class Form : uint8_t { function, method, op };  // torch.f(input, ...), x.f(...), torch.ops.ns.f(self, ...)

std::string parameter_type_name(const Argument&);                         // "Tensor", "tuple of ints"
std::string shown_name(const Argument&, Form);                            // a function's self is its input
bool out_variant(const std::vector<Operator*>& all, const Operator* op);  // whether one of them is its out= overload
// "(Tensor input, *, Number alpha = 1)"; `number_at`: a number stands for this tensor.
std::string signature_text(const Operator&, Form, bool with_out, size_t number_at = SIZE_MAX);
// "add(input, other, *, alpha=1, out=None) -> Tensor", as the first lines of PyTorch's docstrings; a method's leave self out.
std::string documented_signature(const Schema&, Form, bool takes_out);

// What None stands for where it is given: itself (also an undefined tensor's place), an empty list, or nothing that fits.
enum class NoneAs : uint8_t { itself, empty_list, misfit };
NoneAs none_as(const Argument&);
// "Dict(str, Tensor)": the types of its keys and values, empty where it does not say them.
std::pair<std::string_view, std::string_view> dictionary_types(std::string_view type);
// Errors of lists whose element does not fit; `position` of an operator's argument.
Error wrong_element_error(
    const Argument&, const char* function, size_t element, size_t position, const char* given, const char* note);
Error unreadable_error(const Argument&, const char* function, size_t element, bool in_list);

struct OldOrder {
  explicit OldOrder(std::string_view names);  // "beta self alpha mat1 mat2"
  // The positional arguments in their order, as a method has them: the tensor itself first.
  std::string places_of(Form) const;
  std::string signature(const char* name, Form) const;
  // Whether the arguments stand so; `numbers_too`: of sums, whose functions take numbers for their tensors.
  bool fits(Form, const Value* args, size_t n, bool numbers_too) const;
  static const char* keyword_of(char place) { return place == 'a' ? "alpha" : place == 'b' ? "beta" : "value"; }

 private:
  std::string places_;  // 's' the tensor itself, 't' a further tensor, 'a' alpha, 'b' beta, 'v' value
  std::vector<std::string_view> tensors_;
};

}  // namespace shim
