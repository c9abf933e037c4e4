/* Extensions of the nvidia HIP runtime: what the harness asks of it after a launch. Plain C. */
#ifndef BITGATE_NVIDIA_H
#define BITGATE_NVIDIA_H

#include <stddef.h>
#include <stdint.h>

#include "bitgate_work.h"

#if defined(__GNUC__)
#define BITGATE_NVIDIA_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A call that failed: `error` is a hipError_t, `address` the pointer that it was about (0: none). */
typedef struct BitgateNvidiaIncident {
  int error;
  int reserved;
  uint64_t address;
  char text[240]; /* one sentence */
} BitgateNvidiaIncident;

/* Calls that failed since the library was loaded, and errors that ended the context; hipGetLastError takes
 * none off. Failed allocations and questions do not count: a caller may have another way. */
BITGATE_NVIDIA_API uint64_t bitgateNvidiaIncidents(void);
/* Fills `incident` with one of them, counted from 0; 1 when there is none, or it is not kept (the latest 64
 * are). */
BITGATE_NVIDIA_API int bitgateNvidiaIncident(uint64_t number, BitgateNvidiaIncident* incident);
/* 1: the stream is lent to whoever is called next, and hipStreamDestroy refuses it; 0: it can be destroyed
 * again. */
BITGATE_NVIDIA_API int bitgateNvidiaLendStream(void* stream, int lent);
/* Streams other than `stream` that have work to do, of those that were made by this library (destroyed ones
 * too), and the null stream; `text`: the first of them in words. */
BITGATE_NVIDIA_API uint64_t bitgateNvidiaWorkInFlight(void* stream, char* text, size_t bytes);

/* Launches and fills that went through HIP since the library was loaded; those of a graph that is launched
 * again do not count. */
BITGATE_NVIDIA_API uint64_t bitgateNvidiaWorks(void);
/* Fills `work` with one of them, counted from 0; 1 when there is none, or it is not kept (the latest 4096
 * are). */
BITGATE_NVIDIA_API int bitgateNvidiaWork(uint64_t number, BitgateWork* work);

/* Bytes that HIP's functions have allocated and that were not freed: of the device, managed and pinned. */
BITGATE_NVIDIA_API uint64_t bitgateNvidiaHeldBytes(void);

/* ---- for kernel files, whose library has a CUDA runtime of its own ---- */

/* The hipError_t of one of its CUDA errors. */
BITGATE_NVIDIA_API int bitgateNvidiaTranslate(int cuda_error);
/* The same for a launch, which counts, and which hipGetLastError then tells. */
BITGATE_NVIDIA_API int bitgateNvidiaLaunched(int cuda_error);
/* Before a launch: notes it; a hipError_t where it may not be, while a stream is captured. */
BITGATE_NVIDIA_API int bitgateNvidiaLaunching(const void* function, const uint32_t* grid,
                                              const uint32_t* block, void* stream);

#ifdef __cplusplus
}
#endif
#endif
