// The launch functions of hip_ext.h are with the others.
#pragma once

#include <hip/hip_runtime.h>
