// What a family consists of: its name and options, stated once, and its instances, each registered from the
// translation unit of its group by a static `Registration`.
#pragma once

#include <cstring>

#include "bitgate/abi.h"
#include "bitgate/launch.hpp"
#include "bitgate/options.hpp"

namespace bitgate {

// One call as an instance sees it.
struct Request {
  const bitgate_problem& problem;
  const Options& options;
};

struct Instance {
  const char* name;
  int32_t operation;
  const char* dtypes;
  const char* layouts;
  const char* accumulator;
  int32_t tile[3];
  int32_t vector[3]; // elements a thread moves at once: A, B, C
  int32_t block_size;
  int32_t wave_size; // 0: any
  int32_t fragment[3];
  int64_t lds_bytes;
  // BITGATE_OK, or BITGATE_REFUSED with the clause, or BITGATE_BAD_ARGUMENT for a problem that contradicts
  // itself.
  int32_t (*supports)(const Request& request, bitgate_reason* reason);
  int64_t (*workspace_bytes)(const Request& request);
  // Called for supported problems only. Launches through the context, writes the rest of the record.
  void (*run)(const Request& request, const bitgate_buffers& buffers, Context& context);
};

struct Family {
  const char* name;
  const Option* options;
  int option_count;
};

// Defined in the family's library.hip.cpp.
BITGATE_HIDDEN extern const Family family;

// Links an instance into this library's list.
struct BITGATE_HIDDEN Registration {
  explicit Registration(const Instance& described) noexcept : instance(described), next(first) {
    first = this;
  }
  Instance instance;
  Registration* next;
  static inline Registration* first = nullptr;
};

inline const Instance* find_instance(const char* name) noexcept {
  for (const Registration* at = Registration::first; at != nullptr; at = at->next)
    if (std::strcmp(at->instance.name, name) == 0)
      return &at->instance;
  return nullptr;
}

// Appends to the record's list; past its capacity only the count goes on.
inline void add_sub_gemm(bitgate_dispatch_record& record, const bitgate_sub_gemm& gemm) noexcept {
  if (record.sub_gemms != nullptr && record.sub_gemm_count < record.sub_gemm_capacity)
    record.sub_gemms[record.sub_gemm_count] = gemm;
  ++record.sub_gemm_count;
}

inline int64_t no_workspace(const Request&) {
  return 0;
}

} // namespace bitgate
