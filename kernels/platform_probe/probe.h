/* What libplatform_probe.so tells beside the functions of bitgate/abi.h: the matrix fragments that this build
 * can try. A fragment is then run through bitgate_run, its place in this list being attribute `fragment`. */
#pragma once

#include "bitgate/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bitgate_fragment_info {
  uint32_t struct_size;
  int32_t a, b, sum; /* enum bitgate_dtype */
  int32_t m, n, k, wave_size;
  int64_t exact_range; /* declared: every integer in [-exact_range, exact_range] survives accumulation */
} bitgate_fragment_info;

/* Fills at most `capacity` entries, returns how many there are. */
BITGATE_EXPORT int32_t bitgate_list_fragments(bitgate_fragment_info* out, int32_t capacity) BITGATE_NOEXCEPT;

#ifdef __cplusplus
}
#endif
