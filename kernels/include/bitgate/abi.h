/* The flat C ABI between bitgate and a kernel library. Plain C, no ownership crosses it.
 *
 * A library exports the functions at the end of this file. A problem crosses it whatever it computes: an
 * operation by name, tensors by role, attributes by name. What these names mean, the operation says
 * (bitgate/conv.hpp and bitgate/gemm.hpp read ours); this file does not know any.
 *
 * Every structure starts with its size as the caller knows it; bitgate_abi() lets the caller compare version
 * and sizes before it calls anything else.
 */
#ifndef BITGATE_ABI_H
#define BITGATE_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define BITGATE_NOEXCEPT noexcept
#else
#define BITGATE_NOEXCEPT
#endif

#define BITGATE_ABI_VERSION 2

#define BITGATE_MAX_RANK 8
#define BITGATE_MAX_ARGS 48
#define BITGATE_NAME_BYTES 160
#define BITGATE_REASON_BYTES 256

enum bitgate_dtype {
  BITGATE_F64 = 0,
  BITGATE_F32 = 1,
  BITGATE_F16 = 2,
  BITGATE_BF16 = 3,
  BITGATE_I8 = 4,
  BITGATE_F8_OCP = 5,
  BITGATE_BF8_OCP = 6,
  BITGATE_F8_FNUZ = 7,
  BITGATE_BF8_FNUZ = 8,
  BITGATE_I32 = 9
};

enum bitgate_value_kind { BITGATE_INTEGER = 0, BITGATE_REAL = 1, BITGATE_TEXT = 2, BITGATE_INTEGERS = 3 };

/* A named value: an attribute of a problem, a fact of an instance, a fact of what ran. */
typedef struct bitgate_value {
  const char* name;
  int32_t kind;   /* bitgate_value_kind: which of the four below is meant */
  uint32_t count; /* of integers */
  int64_t integer;
  double real;
  const char* text;
  const int64_t* integers;
} bitgate_value;

enum bitgate_access { BITGATE_READ = 1, BITGATE_WRITTEN = 2, BITGATE_READ_WRITTEN = 3 };

typedef struct bitgate_tensor {
  const char* role; /* "in", "wei", "out", "d0"; other operations: "x", "index" ... */
  int32_t access;   /* bitgate_access */
  int32_t dtype;
  int32_t rank; /* 0: an optional tensor that is absent; its buffer is null */
  int32_t reserved;
  int64_t lengths[BITGATE_MAX_RANK]; /* in the operation's logical order */
  int64_t strides[BITGATE_MAX_RANK]; /* in elements, same order; 0 broadcasts */
  const char* layout;                /* "nhwgc": for messages, the strides decide */
} bitgate_tensor;

/* An operation, a role or an attribute that a library does not know is BITGATE_REFUSED, by the clause
 * "operation", "unknown_role" or "unknown_attribute", never ignored: what it says would not be computed. An
 * attribute that is not stated has its default, so a library that knows less takes what asks for no more. */
typedef struct bitgate_problem {
  uint32_t struct_size;
  int32_t alignment; /* promised for every base pointer, in bytes */
  const char* operation;
  uint32_t tensor_count;
  uint32_t attribute_count;
  const bitgate_tensor* tensors; /* roles are unique */
  const bitgate_value* attributes;
} bitgate_problem;

typedef struct bitgate_option {
  const char* name;
  const char* value;
} bitgate_option;

/* Options that are not named keep their production value. An unknown name or value is BITGATE_BAD_ARGUMENT.
 */
typedef struct bitgate_options {
  uint32_t struct_size;
  uint32_t count;
  const bitgate_option* items;
} bitgate_options;

/* One pointer a tensor, in the problem's order. */
typedef struct bitgate_buffers {
  uint32_t struct_size;
  uint32_t tensor_count;
  void* const* tensors;
  void* workspace;
  int64_t workspace_bytes;
} bitgate_buffers;

typedef struct bitgate_reason {
  char clause[64];                 /* the predicate's name, e.g. "c_vector", stable across versions */
  char text[BITGATE_REASON_BYTES]; /* one sentence with the values */
} bitgate_reason;

/* Texts and facts live as long as the library. Facts that the declaration states too are compared with it:
 *   dtypes ("f16,bf16": combinations in canonical spelling), layouts (comma separated), accumulator (the type
 *   that sums), tile, vector (elements that a thread moves at once), fragment (of one matrix instruction):
 *   three integers each; block_size (threads), wave_size (0: any), lds_bytes.
 * What is not stated is not compared. */
typedef struct bitgate_instance_info {
  uint32_t struct_size;
  uint32_t fact_count;
  const char* family;
  const char* name; /* [a-z0-9_], unique in the family */
  const char* operation;
  const bitgate_value* facts;
} bitgate_instance_info;

typedef struct bitgate_option_info {
  uint32_t struct_size;
  uint32_t reserved;
  char name[64];
  char values[128]; /* "gemms_count,off" or "int" */
  char production[32];
  char help[BITGATE_REASON_BYTES];
} bitgate_option_info;

enum bitgate_event_kind { BITGATE_KERNEL = 0, BITGATE_MEMSET = 1, BITGATE_COPY = 2 };
enum bitgate_arg_kind { BITGATE_ARG_VALUE = 0, BITGATE_ARG_POINTER = 1 };

typedef struct bitgate_launch_arg {
  uint32_t offset;
  uint32_t size;
  uint32_t kind;
} bitgate_launch_arg;

struct bitgate_launch;
/* Starts event->function once more on a stream, with grid, block, LDS bytes and wave size of the event and
 * the arguments that `kernargs` holds where event->args says. Returns a hipError_t. */
typedef int32_t (*bitgate_launcher)(const struct bitgate_launch* event, const uint8_t* kernargs,
                                    void* stream);

typedef struct bitgate_launch {
  int32_t kind; /* bitgate_event_kind */
  int32_t wave_size;
  char name[BITGATE_NAME_BYTES];
  uint32_t grid[3]; /* in blocks */
  uint32_t block[3];
  uint64_t lds_bytes; /* dynamic */
  uint32_t arg_count;
  uint32_t kernarg_bytes;  /* of explicit arguments */
  uint64_t kernarg_offset; /* into record.kernargs */
  bitgate_launch_arg args[BITGATE_MAX_ARGS];
  uint64_t address, source, bytes; /* memset, copy; source holds the memset's value */
  uint64_t function;               /* the kernel as the host names it: its symbol is the code object's too */
  bitgate_launcher launcher;       /* of a kernel, in this library */
} bitgate_launch;

/* What really ran. Fields are what bitgate asks of any kernel, whatever it computes; facts are what a family
 * adds (split_k, main_loop ...), compared with the declaration's prediction by name. An operation whose
 * kernels work in parts (convolution: sub-GEMMs) lists them in rows of integers, whose columns it names.
 *
 * The caller owns the arrays and states their capacity; counts may exceed it, the rest is cut. Names and
 * texts live as long as the library. */
typedef struct bitgate_dispatch_record {
  uint32_t struct_size;
  int32_t launches;  /* kernels launched, zero-fill and transposes not counted */
  int32_t zero_fill; /* 1: the output was cleared first */
  int32_t hip_error; /* of BITGATE_HIP_ERROR */
  int64_t workspace_bytes;
  char path[64]; /* "flat", "grouped", "naive" ... */
  char instance[96];
  uint32_t fact_capacity, fact_count;
  bitgate_value* facts;
  uint32_t part_capacity, part_count; /* capacity in integers, count in rows */
  const char* part_columns;           /* comma separated, one name an integer */
  int64_t* parts;
  uint32_t event_capacity, event_count;
  bitgate_launch* events;
  uint64_t kernarg_capacity, kernarg_count;
  uint8_t* kernargs;
  bitgate_reason reason; /* why the status is not BITGATE_OK */
} bitgate_dispatch_record;

enum bitgate_status {
  BITGATE_OK = 0,
  BITGATE_REFUSED = 1, /* the problem is not for this instance: reason.clause says which predicate */
  BITGATE_BAD_ARGUMENT =
      2, /* the call itself is wrong: unknown instance or option, size mismatch, null buffer */
  BITGATE_HIP_ERROR = 3, /* a HIP call failed: hip_error */
  BITGATE_WORKSPACE = 4  /* the workspace is missing or too small */
};

/* The same size and the same two first fields in every version: any library can be asked for its version. */
typedef struct bitgate_abi_info {
  uint32_t struct_size;
  uint32_t version;
  uint32_t sizeof_value, sizeof_tensor, sizeof_problem, sizeof_options, sizeof_buffers, sizeof_reason;
  uint32_t sizeof_instance_info, sizeof_option_info, sizeof_launch, sizeof_dispatch_record;
  char family[64];
  char target[32]; /* "host", "gfx942", "sm_90" */
} bitgate_abi_info;

#define BITGATE_EXPORT __attribute__((visibility("default")))

/* All return a bitgate_status unless stated. The lists return how many entries there are. */
BITGATE_EXPORT int32_t bitgate_abi(bitgate_abi_info* info) BITGATE_NOEXCEPT;
BITGATE_EXPORT int32_t bitgate_list_instances(bitgate_instance_info* out, int32_t capacity) BITGATE_NOEXCEPT;
BITGATE_EXPORT int32_t bitgate_list_options(bitgate_option_info* out, int32_t capacity) BITGATE_NOEXCEPT;
BITGATE_EXPORT int32_t bitgate_is_supported(const bitgate_problem* problem, const char* instance,
                                            const bitgate_options* options,
                                            bitgate_reason* reason) BITGATE_NOEXCEPT;
/* Bytes, or -status. */
BITGATE_EXPORT int64_t bitgate_workspace_size(const bitgate_problem* problem, const char* instance,
                                              const bitgate_options* options,
                                              bitgate_reason* reason) BITGATE_NOEXCEPT;
/* Asynchronous on stream (a hipStream_t). Refuses what bitgate_is_supported refuses. */
BITGATE_EXPORT int32_t bitgate_run(const bitgate_problem* problem, const char* instance,
                                   const bitgate_options* options, const bitgate_buffers* buffers,
                                   bitgate_dispatch_record* record, void* stream) BITGATE_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif
