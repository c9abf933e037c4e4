// What a compiler calls in code that is compiled with -fsanitize=thread, supplied here in place of libtsan's.
// Outside of kernels, and for addresses that are neither LDS nor device memory, they do nothing. Atomic
// operations are real.
#include <cstdint>
#include <dlfcn.h>
#include <mutex>
#include <set>

#include "block.hpp"

namespace bitgate_host {
namespace {

// Where the instrumented libraries of this process begin.
class Libraries {
public:
  void add(const void* address) {
    std::lock_guard lock(guard);
    begins.insert(beginOf(address));
  }
  bool areAny() {
    std::lock_guard lock(guard);
    return !begins.empty();
  }
  bool contain(const void* address) {
    std::lock_guard lock(guard);
    return !begins.empty() && begins.contains(beginOf(address));
  }

private:
  static const void* beginOf(const void* address) {
    Dl_info info{};
    return dladdr(address, &info) ? info.dli_fbase : nullptr;
  }
  std::mutex guard;
  std::set<const void*> begins;
};

Libraries& instrumented() {
  static Libraries& only = *new Libraries;
  return only;
}

inline void note(const void* address, uint64_t bytes, bool write, const void* from, bool atomic = false,
                 bool reads = false) {
  if (BlockRunner* const runner = currentRunner())
    runner->access({reinterpret_cast<uint64_t>(address), bytes, write, atomic, from, false, reads});
}

inline void noteAtomic(const volatile void* address, uint64_t bytes, bool write, int order,
                       const void* from) {
  // An operation that orders by itself does what a fence and a relaxed one do.
  if (order != __ATOMIC_RELAXED)
    if (BlockRunner* const runner = currentRunner())
      runner->fence();
  note(const_cast<const void*>(address), bytes, write, from, true);
}

} // namespace

bool isInstrumented(const void* kernel) {
  return instrumented().contain(kernel);
}
bool isAnyInstrumented() {
  return instrumented().areAny();
}

} // namespace bitgate_host

using namespace bitgate_host;

#define EXPORT __attribute__((visibility("default")))
#define HERE __builtin_return_address(0)

#define ACCESSES(bytes)                                                                                      \
  EXPORT void __tsan_read##bytes(void* address) {                                                            \
    note(address, bytes, false, HERE);                                                                       \
  }                                                                                                          \
  EXPORT void __tsan_write##bytes(void* address) {                                                           \
    note(address, bytes, true, HERE);                                                                        \
  }                                                                                                          \
  EXPORT void __tsan_unaligned_read##bytes(void* address) {                                                  \
    note(address, bytes, false, HERE);                                                                       \
  }                                                                                                          \
  EXPORT void __tsan_unaligned_write##bytes(void* address) {                                                 \
    note(address, bytes, true, HERE);                                                                        \
  }                                                                                                          \
  EXPORT void __tsan_read_write##bytes(void* address) {                                                      \
    note(address, bytes, true, HERE, false, true);                                                           \
  }                                                                                                          \
  EXPORT void __tsan_unaligned_read_write##bytes(void* address) {                                            \
    note(address, bytes, true, HERE, false, true);                                                           \
  }                                                                                                          \
  EXPORT void __tsan_volatile_read##bytes(void* address) {                                                   \
    note(address, bytes, false, HERE);                                                                       \
  }                                                                                                          \
  EXPORT void __tsan_volatile_write##bytes(void* address) {                                                  \
    note(address, bytes, true, HERE);                                                                        \
  }                                                                                                          \
  EXPORT void __tsan_unaligned_volatile_read##bytes(void* address) {                                         \
    note(address, bytes, false, HERE);                                                                       \
  }                                                                                                          \
  EXPORT void __tsan_unaligned_volatile_write##bytes(void* address) {                                        \
    note(address, bytes, true, HERE);                                                                        \
  }

#define FETCH(bits, operation, builtin)                                                                      \
  EXPORT uint##bits##_t __tsan_atomic##bits##_##operation(volatile uint##bits##_t* address,                  \
                                                          uint##bits##_t value, int order) {                 \
    noteAtomic(address, bits / 8, true, order, HERE);                                                        \
    return builtin(address, value, __ATOMIC_SEQ_CST);                                                        \
  }
#define COMPARE(bits, strength, weak)                                                                        \
  EXPORT int __tsan_atomic##bits##_compare_exchange_##strength(                                              \
      volatile uint##bits##_t* address, uint##bits##_t* expected, uint##bits##_t value, int order, int) {    \
    noteAtomic(address, bits / 8, true, order, HERE);                                                        \
    return __atomic_compare_exchange_n(address, expected, value, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);  \
  }
#define ATOMICS(bits)                                                                                        \
  EXPORT uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t* address, int order) {      \
    noteAtomic(address, bits / 8, false, order, HERE);                                                       \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                                       \
  }                                                                                                          \
  EXPORT void __tsan_atomic##bits##_store(volatile uint##bits##_t* address, uint##bits##_t value,            \
                                          int order) {                                                       \
    noteAtomic(address, bits / 8, true, order, HERE);                                                        \
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                          \
  FETCH(bits, exchange, __atomic_exchange_n)                                                                 \
  FETCH(bits, fetch_add, __atomic_fetch_add)                                                                 \
  FETCH(bits, fetch_sub, __atomic_fetch_sub)                                                                 \
  FETCH(bits, fetch_and, __atomic_fetch_and)                                                                 \
  FETCH(bits, fetch_or, __atomic_fetch_or)                                                                   \
  FETCH(bits, fetch_xor, __atomic_fetch_xor)                                                                 \
  FETCH(bits, fetch_nand, __atomic_fetch_nand)                                                               \
  COMPARE(bits, strong, false)                                                                               \
  COMPARE(bits, weak, true)                                                                                  \
  EXPORT uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                                          \
      volatile uint##bits##_t* address, uint##bits##_t expected, uint##bits##_t value, int order, int) {     \
    noteAtomic(address, bits / 8, true, order, HERE);                                                        \
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
    return expected;                                                                                         \
  }

extern "C" {

// Called when an instrumented library is loaded.
EXPORT void __tsan_init(void) {
  instrumented().add(HERE);
}
EXPORT void __tsan_func_entry(void*) {}
EXPORT void __tsan_func_exit(void) {}
EXPORT void __tsan_vptr_update(void**, void*) {}
EXPORT void __tsan_vptr_read(void**) {}
EXPORT void __tsan_ignore_thread_begin(void) {}
EXPORT void __tsan_ignore_thread_end(void) {}

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

EXPORT void __tsan_read_range(void* address, unsigned long bytes) {
  note(address, bytes, false, HERE);
}
EXPORT void __tsan_write_range(void* address, unsigned long bytes) {
  note(address, bytes, true, HERE);
}

ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)

EXPORT void __tsan_atomic_thread_fence(int) {
  if (BlockRunner* const runner = currentRunner())
    runner->fence();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
EXPORT void __tsan_atomic_signal_fence(int) {}

// Around an atomic operation whose scope is no wider than the block (hip/host_detail/atomic.hpp).
EXPORT void __bitgate_block_scope(bool on) {
  if (BlockRunner* const runner = currentRunner())
    runner->setBlockScope(on);
}

// What clang calls in place of these.
EXPORT void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
  note(from, bytes, false, HERE);
  note(to, bytes, true, HERE);
  return __builtin_memcpy(to, from, bytes);
}
EXPORT void* __tsan_memmove(void* to, const void* from, size_t bytes) {
  note(from, bytes, false, HERE);
  note(to, bytes, true, HERE);
  return __builtin_memmove(to, from, bytes);
}
EXPORT void* __tsan_memset(void* to, int value, size_t bytes) {
  note(to, bytes, true, HERE);
  return __builtin_memset(to, value, bytes);
}

} // extern "C"
