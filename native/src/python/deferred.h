#pragma once
namespace shim {
void run_what_is_deferred();  // before something changes that operators look at when they run
}
