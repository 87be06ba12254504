#pragma once
#include <shim/python.h>
