// A block's memory: BITGATE_LDS(Struct, name) declares one struct a kernel. On the host the runtime owns it,
// with guard pages and poison; on a GPU it is an ordinary shared variable.
#pragma once

#include "bitgate/platform.hpp"

// Bytes that a block may have without asking for more.
#ifndef BITGATE_LDS_BYTES
#define BITGATE_LDS_BYTES 65536
#endif

#ifndef BITGATE_LDS
#define BITGATE_LDS(Struct, name) __shared__ Struct name
#endif
