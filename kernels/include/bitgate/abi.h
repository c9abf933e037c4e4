/* The flat C ABI between bitgate and a kernel library. Plain C, no ownership crosses it.
 *
 * A library exports the functions at the end of this file. Every structure starts with its size as the
 * caller knows it; bitgate_abi() lets the caller compare version and sizes before it calls anything else.
 * Names of tensors are those of the forward pass whatever the operation: in = x (GEMM: A), wei = w (GEMM: B),
 * out = y (GEMM: C). bwd_data reads out and wei and writes in; bwd_weight reads in and out and writes wei.
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

#define BITGATE_ABI_VERSION 1

#define BITGATE_MAX_SPATIAL 3
#define BITGATE_MAX_RANK 6 /* G, N, C|K and up to three spatial lengths */
#define BITGATE_MAX_D 4
#define BITGATE_MAX_ARGS 48
#define BITGATE_NAME_BYTES 160
#define BITGATE_REASON_BYTES 256
#define BITGATE_SPLIT_K_AUTO (-1)

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

enum bitgate_operation { BITGATE_FWD = 0, BITGATE_BWD_DATA = 1, BITGATE_BWD_WEIGHT = 2, BITGATE_GEMM = 3 };

/* Applied to a tensor's elements (in, wei) or to the accumulator (out_op), in the accumulator's type:
 * PASS v; SCALE alpha*v; BIAS v + d0; ADD v + d0 (d0 shaped like the result); BILINEAR alpha*v + beta*d0;
 * RELU max(v, 0). */
enum bitgate_elementwise {
  BITGATE_PASS = 0,
  BITGATE_SCALE = 1,
  BITGATE_BIAS = 2,
  BITGATE_ADD = 3,
  BITGATE_BILINEAR = 4,
  BITGATE_RELU = 5
};

typedef struct bitgate_tensor {
  int32_t dtype;
  int32_t rank;                      /* 0: the tensor is absent */
  int64_t lengths[BITGATE_MAX_RANK]; /* logical order: x (G,N,C,I..), w (G,K,C,F..), y (G,N,K,O..); GEMM
                                        (B,M,N) */
  int64_t strides[BITGATE_MAX_RANK]; /* in elements, same order; 0 broadcasts */
  char layout[16];                   /* "nhwgc": for messages, the strides decide */
} bitgate_tensor;

typedef struct bitgate_elementwise_op {
  int32_t kind;
  int32_t reserved;
  double alpha;
  double beta;
} bitgate_elementwise_op;

typedef struct bitgate_problem {
  uint32_t struct_size;
  int32_t operation;
  int32_t ndim; /* spatial dimensions, 1 to 3; GEMM: 0 */
  int32_t num_d;
  int32_t compute_dtype; /* type of the multiplicands inside the kernel; equals the tensors' unless stated */
  int32_t split_k;       /* 1: none; BITGATE_SPLIT_K_AUTO: the kernel resolves it */
  int32_t alignment;     /* promised for every base pointer, in bytes */
  int32_t d_aliases_output; /* bit i: d[i] is the output buffer itself */
  bitgate_tensor in;
  bitgate_tensor wei;
  bitgate_tensor out;
  bitgate_tensor d[BITGATE_MAX_D];
  bitgate_elementwise_op in_op;
  bitgate_elementwise_op wei_op;
  bitgate_elementwise_op out_op;
  int64_t stride[BITGATE_MAX_SPATIAL];
  int64_t dilation[BITGATE_MAX_SPATIAL];
  int64_t left_pad[BITGATE_MAX_SPATIAL];
  int64_t right_pad[BITGATE_MAX_SPATIAL];
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

typedef struct bitgate_buffers {
  uint32_t struct_size;
  uint32_t reserved;
  void* in;
  void* wei;
  void* out;
  const void* d[BITGATE_MAX_D];
  void* workspace;
  int64_t workspace_bytes;
} bitgate_buffers;

typedef struct bitgate_reason {
  char clause[64];                 /* the predicate's name, e.g. "c_vector", stable across versions */
  char text[BITGATE_REASON_BYTES]; /* one sentence with the values */
} bitgate_reason;

typedef struct bitgate_instance_info {
  uint32_t struct_size;
  int32_t operation;
  char family[64];
  char name[96];        /* [a-z0-9_], unique in the family */
  char dtypes[64];      /* "f16,bf16": combinations in canonical spelling */
  char layouts[128];    /* input layouts, comma separated */
  char accumulator[16]; /* dtype that sums */
  int32_t tile_m, tile_n, tile_k;
  int32_t vector_a, vector_b, vector_c; /* elements a thread moves at once */
  int32_t block_size;
  int32_t wave_size;              /* 0: any */
  int32_t frag_m, frag_n, frag_k; /* one matrix instruction; 0: none is used */
  int64_t lds_bytes;
} bitgate_instance_info;

typedef struct bitgate_option_info {
  uint32_t struct_size;
  uint32_t reserved;
  char name[64];
  char values[128]; /* "gemms_count,off" or "int" */
  char production[32];
  char help[BITGATE_REASON_BYTES];
} bitgate_option_info;

/* One member of the bwd_data decomposition (other operations: one entry for the whole GEMM). */
typedef struct bitgate_sub_gemm {
  int32_t index;                      /* in host order */
  int32_t bucket;                     /* launch set it belongs to */
  int32_t launched;                   /* 0: no launch covered it */
  int32_t main_loop;                  /* 1: the K loop runs more than one block */
  int32_t tilde[BITGATE_MAX_SPATIAL]; /* residue class per axis */
  int32_t taps[BITGATE_MAX_SPATIAL];  /* filter taps per axis (dot slice) */
  int64_t slice_begin[BITGATE_MAX_SPATIAL];
  int64_t slice_length[BITGATE_MAX_SPATIAL];
  int64_t m, n, k;
  int64_t first_block; /* in its launch's grid */
  int64_t blocks;
} bitgate_sub_gemm;

/* Do the blocks' K loops run more than one step: in all tiles of all launches, in none, in some? */
enum bitgate_main_loop {
  BITGATE_LOOP_UNTOLD = 0,
  BITGATE_LOOP_ALL = 1,
  BITGATE_LOOP_NONE = 2,
  BITGATE_LOOP_MIXED = 3
};

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

/* What really ran. The caller owns the arrays and states their capacity; counts may exceed it, the rest is
 * cut. */
typedef struct bitgate_dispatch_record {
  uint32_t struct_size;
  int32_t gemms_count;
  int32_t buckets;
  int32_t launches;  /* kernels launched, zero-fill and transposes not counted */
  int32_t split_k;   /* resolved, never -1 */
  int32_t split_n;   /* image chunks, 1: none */
  int32_t zero_fill; /* 1: the output was cleared first */
  int32_t main_loop; /* bitgate_main_loop */
  int64_t workspace_bytes;
  char path[64]; /* "flat", "grouped", "naive" ... */
  char instance[96];
  uint32_t sub_gemm_capacity, sub_gemm_count;
  bitgate_sub_gemm* sub_gemms;
  uint32_t event_capacity, event_count;
  bitgate_launch* events;
  uint64_t kernarg_capacity, kernarg_count;
  uint8_t* kernargs;
  bitgate_reason reason; /* why the status is not BITGATE_OK */
  int32_t hip_error;     /* of BITGATE_HIP_ERROR */
  int32_t reserved2;
} bitgate_dispatch_record;

enum bitgate_status {
  BITGATE_OK = 0,
  BITGATE_REFUSED = 1, /* the problem is not for this instance: reason.clause says which predicate */
  BITGATE_BAD_ARGUMENT =
      2, /* the call itself is wrong: unknown instance or option, size mismatch, null buffer */
  BITGATE_HIP_ERROR = 3, /* a HIP call failed: hip_error */
  BITGATE_WORKSPACE = 4  /* the workspace is missing or too small */
};

typedef struct bitgate_abi_info {
  uint32_t struct_size;
  uint32_t version;
  uint32_t sizeof_tensor, sizeof_problem, sizeof_options, sizeof_buffers, sizeof_reason;
  uint32_t sizeof_instance_info, sizeof_option_info, sizeof_sub_gemm, sizeof_launch, sizeof_dispatch_record;
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
