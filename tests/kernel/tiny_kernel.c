/* A whole kernel library in plain C on host memory, for the loader's tests. It writes twice dy into the first cells of
 * dx. Each macro below makes it wrong in one way. */
#include "bitgate/abi.h"

#include <stdlib.h>
#include <string.h>

#ifndef VERSION
#define VERSION BITGATE_ABI_VERSION
#endif
#ifndef FAMILY
#define FAMILY "tiny"
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 64
#endif
#ifndef OPTION_VALUES
#define OPTION_VALUES "once,twice"
#endif
#ifndef STATUS
#define STATUS BITGATE_OK
#endif

#ifdef CRASH_ON_LOAD
__attribute__((constructor)) static void crash(void) { abort(); }
#endif
#ifdef EXIT_ON_LOAD
__attribute__((constructor)) static void leave(void) { _Exit(7); }
#endif
#ifdef HANG_ON_LOAD
__attribute__((constructor)) static void hang(void) {
  for (;;) {
  }
}
#endif
#ifdef UNRESOLVED
extern int a_symbol_of_nobody(void);
int (*needs)(void) = a_symbol_of_nobody;
#endif

int32_t bitgate_abi(bitgate_abi_info* info) {
#ifdef CRASH_IN_ABI
  *(volatile int*)8 = 1;
#endif
#ifdef OVERRUN
  memset(info, 1, sizeof *info + 64);
#endif
  info->version = VERSION;
  info->sizeof_tensor = sizeof(bitgate_tensor);
  info->sizeof_problem = sizeof(bitgate_problem);
  info->sizeof_options = sizeof(bitgate_options);
  info->sizeof_buffers = sizeof(bitgate_buffers);
  info->sizeof_reason = sizeof(bitgate_reason);
  info->sizeof_instance_info = sizeof(bitgate_instance_info);
  info->sizeof_option_info = sizeof(bitgate_option_info);
  info->sizeof_sub_gemm = sizeof(bitgate_sub_gemm);
  info->sizeof_launch = sizeof(bitgate_launch);
  info->sizeof_dispatch_record = sizeof(bitgate_dispatch_record);
#ifdef WRONG_SIZE
  info->sizeof_launch += 8;
#endif
  strcpy(info->family, FAMILY);
  strcpy(info->target, "host");
  return BITGATE_OK;
}

static void describe(bitgate_instance_info* info, const char* name) {
  info->operation = BITGATE_BWD_DATA;
  strcpy(info->family, FAMILY);
  strcpy(info->name, name);
  strcpy(info->dtypes, "f32,f16");
  strcpy(info->layouts, "nhwgc");
  strcpy(info->accumulator, "f32");
  info->tile_m = 16, info->tile_n = 16, info->tile_k = 8;
  info->block_size = BLOCK_SIZE;
}

int32_t bitgate_list_instances(bitgate_instance_info* out, int32_t capacity) {
  const char* names[] = {"plain", "extra"};
#ifdef EXTRA_INSTANCE
  const int count = 2;
#else
  const int count = 1;
#endif
  for (int i = 0; i < count && i < capacity; ++i) describe(&out[i], names[i]);
  return count;
}

int32_t bitgate_list_options(bitgate_option_info* out, int32_t capacity) {
  if (capacity > 0) {
    strcpy(out->name, "times");
    strcpy(out->values, OPTION_VALUES);
    strcpy(out->production, "twice");
  }
  return 1;
}

int32_t bitgate_is_supported(const bitgate_problem* problem, const char* instance, const bitgate_options* options,
                             bitgate_reason* reason) {
  (void)instance, (void)options;
  if (problem->in.lengths[2] % 4 == 0) return STATUS;
  strcpy(reason->clause, "c_vector");
  strcpy(reason->text, "C is not a multiple of 4");
  return BITGATE_REFUSED;
}

#ifndef NO_WORKSPACE_SIZE
int64_t bitgate_workspace_size(const bitgate_problem* problem, const char* instance, const bitgate_options* options,
                               bitgate_reason* reason) {
  const int32_t status = bitgate_is_supported(problem, instance, options, reason);
  return status == BITGATE_OK ? 4 * problem->in.lengths[1] : -status;
}
#endif

#ifndef NO_RUN
int32_t bitgate_run(const bitgate_problem* problem, const char* instance, const bitgate_options* options,
                    const bitgate_buffers* buffers, bitgate_dispatch_record* record, void* stream) {
  (void)stream;
  const int32_t status = bitgate_is_supported(problem, instance, options, &record->reason);
  if (status != BITGATE_OK) return status;
  float factor = 2;
  for (uint32_t i = 0; i < options->count; ++i)
    if (strcmp(options->items[i].value, "once") == 0) factor = 1;
  for (int i = 0; i < 4; ++i) ((float*)buffers->in)[i] = factor * ((const float*)buffers->out)[i];

  strcpy(record->path, "grouped");
  strcpy(record->instance, instance);
  record->gemms_count = (int32_t)(problem->stride[0] * problem->stride[1]);
  record->buckets = record->launches = record->split_k = record->split_n = 1;
  record->sub_gemm_count = (uint32_t)record->gemms_count;
  for (uint32_t i = 0; i < record->sub_gemm_count && i < record->sub_gemm_capacity; ++i) {
    memset(&record->sub_gemms[i], 0, sizeof record->sub_gemms[i]);
    record->sub_gemms[i].index = (int32_t)i;
    record->sub_gemms[i].launched = i != 1;
    record->sub_gemms[i].tilde[1] = (int32_t)i;
  }
  record->event_count = 1;
  bitgate_launch* event = &record->events[0];
  memset(event, 0, sizeof *event);
  strcpy(event->name, "tiny");
  event->grid[0] = 3, event->block[0] = BLOCK_SIZE;
  event->arg_count = 1;
  event->args[0].size = event->kernarg_bytes = sizeof factor;
  memcpy(record->kernargs, &factor, sizeof factor);
  record->kernarg_count = sizeof factor;
  return BITGATE_OK;
}
#endif
