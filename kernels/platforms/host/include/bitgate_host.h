/* Extensions of the host HIP runtime: what a test sets, and what it reads back. Plain C.
 *
 * Every setter takes effect for work launched afterwards and returns a hipError_t as int. */
#ifndef BITGATE_HOST_H
#define BITGATE_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "bitgate_work.h"

#if defined(__GNUC__)
#define BITGATE_HOST_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum BitgateHostSchedule {
  bitgateHostForward = 0, /* a wave after the other, lanes in order, each wave to its next barrier or end */
  bitgateHostReverse = 1, /* the same backwards */
  bitgateHostRandom = 2,
  bitgateHostLockstep = 3 /* all waves side by side: from wave operation to wave operation */
};
enum BitgateHostPlacement { bitgateHostRight = 0, bitgateHostLeft = 1 };
enum BitgateHostStreamMode { bitgateHostLazy = 0, bitgateHostEager = 1 };

/* ---- settings ---- */

/* OS threads that run blocks, the calling one included. 0: BITGATE_THREADS, or else the cores available. */
BITGATE_HOST_API int bitgateHostSetThreads(unsigned threads);
BITGATE_HOST_API unsigned bitgateHostGetThreads(void);
/* Lanes of a wave: 32 or 64 (the default). A launch can name its own. */
BITGATE_HOST_API int bitgateHostSetWaveSize(unsigned lanes);
BITGATE_HOST_API unsigned bitgateHostGetWaveSize(void);
/* What hipDeviceAttributeMultiprocessorCount reports (default 8). */
BITGATE_HOST_API int bitgateHostSetComputeUnits(unsigned count);
/* What hipOccupancyMaxActiveBlocksPerMultiprocessor reports; 0: computed from threads and LDS. */
BITGATE_HOST_API int bitgateHostSetOccupancy(unsigned blocks);
/* LDS bytes that a block may use (default 65536). */
BITGATE_HOST_API int bitgateHostSetLdsLimit(size_t bytes);
/* Device memory that hipMalloc may hand out in all; 0: the machine's memory. */
BITGATE_HOST_API int bitgateHostSetTotalMemory(size_t bytes);
/* Order of the threads between barriers, and of blocks. The seed counts for bitgateHostRandom. */
BITGATE_HOST_API int bitgateHostSetSchedule(int kind, uint64_t seed);
/* Where buffers and LDS lie in their pages: right (an access past the end faults) or left (one before does).
 */
BITGATE_HOST_API int bitgateHostSetPlacement(int placement);
/* Fill memory with 0xFF at allocation and LDS before each block (default on). */
BITGATE_HOST_API int bitgateHostSetPoison(int on);
/* Another byte than 0xFF: what is right by luck of the one shows with the other. */
BITGATE_HOST_API int bitgateHostSetPoisonByte(unsigned byte);
/* bitgateHostLazy (default): work runs when a synchronising call needs it. bitgateHostEager: when enqueued.
 */
BITGATE_HOST_API int bitgateHostSetStreamMode(int mode);
/* Seconds of processor time that a thread of a block may run without reaching a barrier or its end (four
 * times that where it only meets the lanes of its wave). 0: BITGATE_SPIN_SECONDS, or else 20. Holds at once.
 */
BITGATE_HOST_API int bitgateHostSetSpinLimit(double seconds);
/* 1: an access outside of memory is done (a read gives 0xFF), a block that cannot go on is left, and all else
 * runs: no error is returned. Incidents then have one fault of each kernel, kind and place. */
BITGATE_HOST_API int bitgateHostSetKeepGoing(int on);
/* 1: a fault's sentence ends with its instruction: " at folder/program+0x12ab". */
BITGATE_HOST_API int bitgateHostSetFaultPlaces(int on);
/* All settings as they were when the library was loaded. */
BITGATE_HOST_API int bitgateHostResetSettings(void);

/* All settings, for a comparison. */
typedef struct BitgateHostSettings {
  uint32_t threads, wave_size, compute_units, occupancy;
  uint64_t lds_limit, total_memory;
  int32_t schedule, placement;
  uint64_t seed;
  int32_t poison, poison_byte, stream_mode;
  uint32_t changes; /* how often something was set; counts on when all is set as it was */
  double spin_seconds;
} BitgateHostSettings;
BITGATE_HOST_API void bitgateHostGetSettings(BitgateHostSettings* settings);
BITGATE_HOST_API int bitgateHostSetSettings(const BitgateHostSettings* settings);

/* ---- device memory ---- */

/* hipMalloc with the promised alignment (a power of two up to 4096) and the placement chosen. */
BITGATE_HOST_API int bitgateHostMalloc(void** pointer, size_t bytes, size_t alignment, int placement);
/* A buffer of addresses, of which bitgateHostOpen makes memory where it is needed: an access elsewhere is a
 * fault, as one outside. The pages with the first and the last byte are open. */
BITGATE_HOST_API int bitgateHostReserve(void** pointer, size_t bytes, size_t alignment, int placement);
BITGATE_HOST_API int bitgateHostOpen(void* pointer, size_t offset, size_t bytes);
/* The name by which faults and errors call a buffer. */
BITGATE_HOST_API int bitgateHostNameBuffer(void* pointer, const char* name);
/* 1: the buffer is lent to whoever is called next, and hipFree refuses it; 0: it can be freed again. */
BITGATE_HOST_API int bitgateHostLendBuffer(void* pointer, int lent);
/* hipSuccess, or hipErrorIllegalAddress when the slack around the buffer was written. `offset` (may be null):
 * the first such byte, relative to the buffer's begin (negative before it, at least its size past it). */
BITGATE_HOST_API int bitgateHostCheckCanary(void* pointer, int64_t* offset);

/* Bytes that HIP's functions have allocated and that were not freed: of the device, managed and pinned. */
BITGATE_HOST_API uint64_t bitgateHostHeldBytes(void);

/* ---- faults ---- */

enum BitgateHostFaultKind {
  bitgateFaultNone = 0,
  bitgateFaultGlobalMemory = 1, /* outside a device buffer */
  bitgateFaultLds = 2,          /* outside the block's LDS */
  bitgateFaultNull = 3,         /* in the first 64 KiB */
  bitgateFaultWild = 4,         /* an address that belongs to no buffer */
  bitgateFaultStackOverflow = 5,
  bitgateFaultArithmetic = 6, /* integer division by zero or overflow */
  bitgateFaultTrap = 7,       /* __trap(), abort instruction */
  bitgateFaultAssert = 8,
  bitgateFaultMissedBarrier = 9,
  bitgateFaultDivergentWaveOp = 10,
  bitgateFaultLdsCanary = 11,     /* a write outside the block's LDS that no guard page met */
  bitgateFaultGlobalCanary = 12,  /* the same for a device buffer; found when it is freed */
  bitgateFaultResources = 13,     /* more LDS than the limit, or no memory for stacks */
  bitgateFaultException = 14,     /* a C++ exception left the kernel */
  bitgateFaultHostPointer = 15,   /* an argument points into memory that only the host can read */
  bitgateFaultFpEnvironment = 16, /* rounding or flush-to-zero was changed and left so */
  bitgateFaultRace = 17, /* two threads met at a cell; found in kernels built with -fsanitize=thread */
  bitgateFaultSpin = 18  /* a thread ran on and on without reaching a barrier or its end */
};

typedef struct BitgateHostFault {
  int kind;           /* BitgateHostFaultKind */
  int error;          /* hipError_t */
  int is_write;       /* 1 write, 0 read, -1 unknown */
  uint32_t block[3];  /* blockIdx */
  uint32_t thread[3]; /* threadIdx */
  uint64_t address;
  int64_t offset;       /* bytes from the buffer's or the LDS struct's begin (negative: before it) */
  uint64_t buffer_size; /* bytes of that buffer or struct, 0 where there is none */
  char kernel[128];
  char buffer[64]; /* its name, or "#n" for the n-th allocation */
  char text[768];  /* one sentence with all of it */
} BitgateHostFault;

/* The last fault's sentence, "" when there was none since bitgateHostClearFault. Valid until the next fault.
 */
BITGATE_HOST_API const char* bitgateHostLastFault(void);
/* Fills `fault`; returns its kind, 0 when there was none. */
BITGATE_HOST_API int bitgateHostLastFaultInfo(BitgateHostFault* fault);
BITGATE_HOST_API void bitgateHostClearFault(void);

/* ---- incidents: what no call can clear ---- */

/* Faults of kernels, and launches, copies, fills, frees and waits that were refused, since the library was
 * loaded. Failed allocations and questions do not count: a caller may have another way. */
BITGATE_HOST_API uint64_t bitgateHostIncidents(void);
/* Fills `fault` with one of them, counted from 0; 1 when there is none, or it is not kept (the latest 64
 * are). */
BITGATE_HOST_API int bitgateHostIncident(uint64_t number, BitgateHostFault* fault);
/* 1: the stream is lent to whoever is called next, and hipStreamDestroy refuses it; 0: it can be destroyed
 * again. */
BITGATE_HOST_API int bitgateHostLendStream(void* stream, int lent);
/* Pieces of work that have not been done on streams other than `stream`; `text`: the first of them in words.
 */
BITGATE_HOST_API uint64_t bitgateHostWorkInFlight(void* stream, char* text, size_t bytes);

/* Whether the runtime itself has started this OS thread (gettid). */
BITGATE_HOST_API int bitgateHostOwnsThread(int thread);

/* ---- what was enqueued ---- */

/* Launches and fills since the library was loaded; those of a graph that is launched again do not count. */
BITGATE_HOST_API uint64_t bitgateHostWorks(void);
/* Fills `work` with one of them, counted from 0; 1 when there is none, or it is not kept (the latest 4096
 * are). */
BITGATE_HOST_API int bitgateHostWork(uint64_t number, BitgateWork* work);

/* ---- the last kernel that ran ---- */

typedef struct BitgateHostLaunch {
  char kernel[128];
  uint32_t grid[3];
  uint32_t block[3];
  uint64_t lds_bytes; /* static struct and dynamic bytes that its blocks asked for, at most */
  uint32_t wave_size;
  uint32_t threads;  /* OS threads that could take part */
  uint64_t sequence; /* kernels run since the library was loaded */
} BitgateHostLaunch;

/* Fills `launch`; returns 0, or 1 when no kernel ran yet. */
BITGATE_HOST_API int bitgateHostLastLaunch(BitgateHostLaunch* launch);

#ifdef __cplusplus
}
#endif
#endif
