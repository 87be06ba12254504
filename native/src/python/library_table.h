#pragma once
#include "dispatch/library.h"

namespace shim {

void install_library();  // what torch.library's part of the table needs of Python

}  // namespace shim
