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
  if (info->struct_size != sizeof *info) return BITGATE_BAD_ARGUMENT; /* as ours of any version does */
#ifdef CRASH_IN_ABI
  *(volatile int*)8 = 1;
#endif
#ifdef OVERRUN
  memset(info, 1, sizeof *info + 64);
#endif
  info->version = VERSION;
  info->sizeof_value = sizeof(bitgate_value);
  info->sizeof_tensor = sizeof(bitgate_tensor);
  info->sizeof_problem = sizeof(bitgate_problem);
  info->sizeof_options = sizeof(bitgate_options);
  info->sizeof_buffers = sizeof(bitgate_buffers);
  info->sizeof_reason = sizeof(bitgate_reason);
  info->sizeof_instance_info = sizeof(bitgate_instance_info);
  info->sizeof_option_info = sizeof(bitgate_option_info);
  info->sizeof_launch = sizeof(bitgate_launch);
  info->sizeof_dispatch_record = sizeof(bitgate_dispatch_record);
#ifdef WRONG_SIZE
  info->sizeof_launch += 8;
#endif
  strcpy(info->family, FAMILY);
  strcpy(info->target, "host");
  return BITGATE_OK;
}

static const int64_t tile[] = {16, 16, 8};
static const bitgate_value facts[] = {
    {.name = "dtypes", .kind = BITGATE_TEXT, .text = "f32,f16"},
    {.name = "layouts", .kind = BITGATE_TEXT, .text = "nhwgc"},
    {.name = "tile", .kind = BITGATE_INTEGERS, .integers = tile, .count = 3},
    {.name = "block_size", .kind = BITGATE_INTEGER, .integer = BLOCK_SIZE},
    {.name = "colour", .kind = BITGATE_TEXT, .text = "of which no declaration says anything"},
};

int32_t bitgate_list_instances(bitgate_instance_info* out, int32_t capacity) {
  const char* names[] = {"plain", "extra"};
#ifdef EXTRA_INSTANCE
  const int count = 2;
#else
  const int count = 1;
#endif
  for (int i = 0; i < count && i < capacity; ++i) {
    out[i].family = FAMILY, out[i].name = names[i], out[i].operation = "bwd_data";
    out[i].facts = facts, out[i].fact_count = sizeof facts / sizeof *facts;
  }
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

static int place_of(const bitgate_problem* problem, const char* role) {
  int i = 0;
  while (strcmp(problem->tensors[i].role, role) != 0) ++i;
  return i;
}

static const int64_t* stride_of(const bitgate_problem* problem) {
  const bitgate_value* attribute = problem->attributes;
  while (strcmp(attribute->name, "stride") != 0) ++attribute;
  return attribute->integers;
}

int32_t bitgate_is_supported(const bitgate_problem* problem, const char* instance, const bitgate_options* options,
                             bitgate_reason* reason) {
  (void)instance, (void)options;
#ifdef WRITES_PROBLEM
  ((int64_t*)stride_of(problem))[0] += 1;
#endif
  if (problem->tensors[place_of(problem, "in")].lengths[2] % 4 == 0) return STATUS;
  strcpy(reason->clause, "c_vector");
  strcpy(reason->text, "C is not a multiple of 4");
  return BITGATE_REFUSED;
}

#ifndef NO_WORKSPACE_SIZE
int64_t bitgate_workspace_size(const bitgate_problem* problem, const char* instance, const bitgate_options* options,
                               bitgate_reason* reason) {
  const int32_t status = bitgate_is_supported(problem, instance, options, reason);
  return status == BITGATE_OK ? 4 * problem->tensors[place_of(problem, "in")].lengths[1] : -status;
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
  float* dx = buffers->tensors[place_of(problem, "in")];
  const float* dy = buffers->tensors[place_of(problem, "out")];
  for (int i = 0; i < 4; ++i) dx[i] = factor * dy[i];

  strcpy(record->path, "grouped");
  strcpy(record->instance, instance);
  record->launches = 1;
  const int64_t gemms = stride_of(problem)[0] * stride_of(problem)[1];
  const bitgate_value count = {.name = "gemms_count", .kind = BITGATE_INTEGER, .integer = gemms};
  record->facts[record->fact_count++] = count;
  record->part_columns = "index,launched,place";
  for (int64_t i = 0; i < gemms; ++i) {
    const int64_t part[] = {i, i != 1, 10 * i};
    const size_t begin = 3 * record->part_count++;
    if (begin + 3 <= record->part_capacity) memcpy(record->parts + begin, part, sizeof part);
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
