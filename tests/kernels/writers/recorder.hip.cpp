// Records which block and thread writes to two ranges of memory. It stands before the host runtime, whose
// callbacks instrumented kernels would call otherwise, so that no race is sought.
#include <cstdint>
#include <vector>

#include <hip/hip_runtime.h>

namespace {

struct Write {
  uint64_t address;
  uint32_t bytes;
  uint32_t block[3];
  uint32_t thread;
  uint32_t adds;
};
static_assert(sizeof(Write) == 32);

std::vector<Write> writes;
struct Range {
  uint64_t begin = 0, end = 0;
} ranges[2];

void note(const volatile void* to, uint64_t bytes, bool adds) {
  const auto address = reinterpret_cast<uint64_t>(to);
  const auto contains = [address](const Range& range) {
    return range.begin <= address && address < range.end;
  };
  if (contains(ranges[0]) || contains(ranges[1]))
    writes.push_back(
        {address, static_cast<uint32_t>(bytes), {blockIdx.x, blockIdx.y, blockIdx.z}, threadIdx.x, adds});
}

} // namespace

extern "C" {

__attribute__((visibility("default"))) void record_writes(uint64_t begin, uint64_t end, uint64_t begin2,
                                                          uint64_t end2) {
  writes.clear();
  ranges[0] = {begin, end};
  ranges[1] = {begin2, end2};
}
__attribute__((visibility("default"))) uint64_t recorded_writes(const void** at) {
  *at = writes.data();
  return writes.size();
}

#define EXPORT __attribute__((visibility("default")))
#define WRITES(bytes)                                                                                        \
  EXPORT void __tsan_read##bytes(void*) {}                                                                   \
  EXPORT void __tsan_unaligned_read##bytes(void*) {}                                                         \
  EXPORT void __tsan_write##bytes(void* to) {                                                                \
    note(to, bytes, false);                                                                                  \
  }                                                                                                          \
  EXPORT void __tsan_unaligned_write##bytes(void* to) {                                                      \
    note(to, bytes, false);                                                                                  \
  }                                                                                                          \
  EXPORT void __tsan_read_write##bytes(void* to) {                                                           \
    note(to, bytes, false);                                                                                  \
  }                                                                                                          \
  EXPORT void __tsan_unaligned_read_write##bytes(void* to) {                                                 \
    note(to, bytes, false);                                                                                  \
  }
WRITES(1)
WRITES(2)
WRITES(4)
WRITES(8)
WRITES(16)

#define ADDS(bits)                                                                                           \
  EXPORT uint##bits##_t __tsan_atomic##bits##_fetch_add(volatile uint##bits##_t* to, uint##bits##_t value,   \
                                                        int) {                                               \
    note(to, bits / 8, true);                                                                                \
    return __atomic_fetch_add(to, value, __ATOMIC_SEQ_CST);                                                  \
  }                                                                                                          \
  EXPORT uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t* from, int) {               \
    return __atomic_load_n(from, __ATOMIC_SEQ_CST);                                                          \
  }                                                                                                          \
  EXPORT int __tsan_atomic##bits##_compare_exchange_strong(                                                  \
      volatile uint##bits##_t* to, uint##bits##_t* expected, uint##bits##_t value, int, int) {               \
    note(to, bits / 8, true);                                                                                \
    return __atomic_compare_exchange_n(to, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);      \
  }                                                                                                          \
  EXPORT int __tsan_atomic##bits##_compare_exchange_weak(                                                    \
      volatile uint##bits##_t* to, uint##bits##_t* expected, uint##bits##_t value, int, int) {               \
    note(to, bits / 8, true);                                                                                \
    return __atomic_compare_exchange_n(to, expected, value, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
  }                                                                                                          \
  EXPORT uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                                          \
      volatile uint##bits##_t* to, uint##bits##_t expected, uint##bits##_t value, int, int) {                \
    note(to, bits / 8, true);                                                                                \
    __atomic_compare_exchange_n(to, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);            \
    return expected;                                                                                         \
  }
ADDS(16)
ADDS(32)
ADDS(64)

EXPORT void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
  note(to, bytes, false);
  return __builtin_memmove(to, from, bytes);
}
EXPORT void* __tsan_memset(void* to, int value, size_t bytes) {
  note(to, bytes, false);
  return __builtin_memset(to, value, bytes);
}
}
