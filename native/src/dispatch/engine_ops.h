#pragma once

namespace shim {

void install_engine_ops();  // what the core asks of operators (autograd/autograd.h)

}  // namespace shim
