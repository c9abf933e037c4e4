/* What a program gave the device to do, as our own runtimes (host, nvidia) saw it. Plain C. */
#ifndef BITGATE_WORK_H
#define BITGATE_WORK_H

#include <stdint.h>

enum BitgateWorkKind { bitgateWorkKernel = 0, bitgateWorkFill = 1 };

/* One launch of a kernel, or one fill of device memory. */
typedef struct BitgateWork {
  int kind;
  uint32_t grid[3]; /* in blocks */
  uint32_t block[3];
  uint32_t reserved;
  uint64_t function; /* the kernel as the host names it */
  uint64_t address;  /* of a fill */
  uint64_t bytes;
  char name[64]; /* of the kernel, empty where it is not known; of a fill: the call */
} BitgateWork;

#endif
