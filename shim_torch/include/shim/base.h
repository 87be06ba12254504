#pragma once
#include <shim/arrays.h>
