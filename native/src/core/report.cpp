#include "core/report.h"

namespace shim {

Fact::Fact(const char* text) : value(std::string(text)) {}
Fact::Fact(std::string text) : value(std::move(text)) {}
Fact::Fact(List list) : value(std::move(list)) {}
Fact::Fact(Named named) : value(std::move(named)) {}
Fact::Fact(Tuple tuple) : value(std::move(tuple)) {}
Fact::Fact(const Fact&) = default;
Fact::Fact(Fact&&) noexcept = default;
Fact& Fact::operator=(const Fact&) = default;
Fact& Fact::operator=(Fact&&) noexcept = default;
Fact::~Fact() = default;

}  // namespace shim
