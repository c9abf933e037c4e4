/* Extensions of the nvidia HIP runtime: what the harness asks of it after a launch. Plain C. */
#ifndef BITGATE_NVIDIA_H
#define BITGATE_NVIDIA_H

#include <stddef.h>
#include <stdint.h>

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

/* ---- for kernel files, whose library has a CUDA runtime of its own ---- */

/* The hipError_t of one of its CUDA errors. */
BITGATE_NVIDIA_API int bitgateNvidiaTranslate(int cuda_error);
/* The same for a launch, which counts, and which hipGetLastError then tells. */
BITGATE_NVIDIA_API int bitgateNvidiaLaunched(int cuda_error);

#ifdef __cplusplus
}
#endif
#endif
