// A block's memory: BITGATE_LDS(Struct, name) declares one struct a kernel. On the host the runtime owns it,
// with guard pages and poison; on a GPU it is an ordinary shared variable.
#pragma once

#include "bitgate/platform.hpp"

// Bytes that a block may have without asking for more.
#ifndef BITGATE_LDS_BYTES
#define BITGATE_LDS_BYTES 65536
#endif

#if defined(BITGATE_PLATFORM_NVIDIA)
namespace bitgate {
// What a launch has to ask for. CUDA gives a block BITGATE_LDS_BYTES without being asked.
template <class Struct>
inline constexpr size_t asked_lds_bytes = sizeof(Struct) > BITGATE_LDS_BYTES ? sizeof(Struct) : 0;

template <class Struct> __device__ __forceinline__ Struct& block_memory() {
  if constexpr (asked_lds_bytes<Struct> == 0) {
    __shared__ Struct memory;
    return memory;
  } else {
    extern __shared__ uint4 asked_memory[];
    return *reinterpret_cast<Struct*>(asked_memory);
  }
}
} // namespace bitgate
#define BITGATE_LDS(Struct, name) Struct& name = bitgate::block_memory<Struct>()
#else
namespace bitgate {
template <class Struct> inline constexpr size_t asked_lds_bytes = 0;
}
#endif

#ifndef BITGATE_LDS
#define BITGATE_LDS(Struct, name) __shared__ Struct name
#endif
