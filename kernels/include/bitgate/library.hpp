// The exported functions of a kernel library. Included by exactly one translation unit a family, which also
// defines bitgate::family; instances come from the registry. Nothing throws out of here.
#pragma once

#include <exception>

#include "bitgate/registry.hpp"

namespace bitgate {

namespace detail {

template <size_t N> void put(char (&to)[N], const char* text) noexcept {
  std::snprintf(to, N, "%s", text);
}

inline int32_t unknown_instance(const char* name, bitgate_reason* reason) noexcept {
  char known[BITGATE_REASON_BYTES] = "";
  for (const Registration* at = Registration::first; at != nullptr; at = at->next) {
    const size_t used = std::strlen(known);
    std::snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", at->instance.name);
  }
  BITGATE_BAD(reason, "instance", "%s has no instance '%.48s': known are %s", family.name,
              name ? name : "(null)", known);
}

// Checks what every entry point is given, then calls `use(instance, request)`.
template <class Use>
int32_t with_request(const bitgate_problem* problem, const char* name, const bitgate_options* options,
                     bitgate_reason* reason, Use use) noexcept {
  if (reason != nullptr)
    *reason = {};
  if (problem == nullptr || problem->struct_size != sizeof(bitgate_problem))
    BITGATE_BAD(reason, "struct_size", "bitgate_problem has %zu bytes here, the caller says %u",
                sizeof(bitgate_problem), problem ? problem->struct_size : 0u);
  const Instance* instance = name ? find_instance(name) : nullptr;
  if (instance == nullptr)
    return unknown_instance(name, reason);
  Options resolved(family.options, family.option_count);
  if (const int32_t status = resolved.read(options, reason); status != BITGATE_OK)
    return status;
  const Request request{*problem, resolved};
  try {
    if (problem->operation != instance->operation)
      BITGATE_REFUSE(reason, "operation", "%s computes %s, the problem is %s", instance->name,
                     operation_name(instance->operation), operation_name(problem->operation));
    if (const int32_t status = instance->supports(request, reason); status != BITGATE_OK)
      return status;
    return use(*instance, request);
  } catch (const std::exception& error) {
    BITGATE_BAD(reason, "exception", "%s: %s", instance->name, error.what());
  }
}

inline void describe(const Instance& instance, bitgate_instance_info& info) noexcept {
  info = {};
  info.struct_size = sizeof info;
  info.operation = instance.operation;
  put(info.family, family.name);
  put(info.name, instance.name);
  put(info.dtypes, instance.dtypes);
  put(info.layouts, instance.layouts);
  put(info.accumulator, instance.accumulator);
  info.tile_m = instance.tile[0], info.tile_n = instance.tile[1], info.tile_k = instance.tile[2];
  info.vector_a = instance.vector[0], info.vector_b = instance.vector[1], info.vector_c = instance.vector[2];
  info.block_size = instance.block_size;
  info.wave_size = instance.wave_size;
  info.frag_m = instance.fragment[0], info.frag_n = instance.fragment[1], info.frag_k = instance.fragment[2];
  info.lds_bytes = instance.lds_bytes;
}

inline int32_t check_buffers(const bitgate_problem& problem, const bitgate_buffers* buffers,
                             bitgate_reason* reason) noexcept {
  if (buffers == nullptr || buffers->struct_size != sizeof(bitgate_buffers))
    BITGATE_BAD(reason, "struct_size", "bitgate_buffers has %zu bytes here, the caller says %u",
                sizeof(bitgate_buffers), buffers ? buffers->struct_size : 0u);
  const struct {
    const char* name;
    const void* pointer;
  } needed[] = {{"in", buffers->in}, {"wei", buffers->wei}, {"out", buffers->out}};
  for (const auto& buffer : needed)
    if (buffer.pointer == nullptr)
      BITGATE_BAD(reason, "buffers", "buffer %s is null", buffer.name);
  for (int i = 0; i < problem.num_d && i < BITGATE_MAX_D; ++i)
    if (buffers->d[i] == nullptr)
      BITGATE_BAD(reason, "buffers", "buffer d[%d] is null, the problem has %d D tensors", i, problem.num_d);
  return BITGATE_OK;
}

inline int32_t run(const Instance& instance, const Request& request, const bitgate_buffers* buffers,
                   bitgate_dispatch_record& record, void* stream) {
  put(record.instance, instance.name);
  if (const int32_t status = check_buffers(request.problem, buffers, &record.reason); status != BITGATE_OK)
    return status;
  record.workspace_bytes = instance.workspace_bytes(request);
  if (record.workspace_bytes > 0 &&
      (buffers->workspace == nullptr || buffers->workspace_bytes < record.workspace_bytes))
    return because(BITGATE_WORKSPACE, &record.reason, "workspace",
                   "%s needs %lld bytes of workspace, %lld are given", instance.name,
                   static_cast<long long>(record.workspace_bytes),
                   static_cast<long long>(buffers->workspace ? buffers->workspace_bytes : 0));
  Context context{record, static_cast<hipStream_t>(stream), static_cast<unsigned>(instance.wave_size)};
  instance.run(request, *buffers, context);
  if (context.error == hipSuccess)
    return BITGATE_OK;
  record.hip_error = static_cast<int32_t>(context.error);
  return because(BITGATE_HIP_ERROR, &record.reason, "hip", "%s: event %u failed: %s (%s)", instance.name,
                 record.event_count - 1, hipGetErrorName(context.error), hipGetErrorString(context.error));
}

} // namespace detail
} // namespace bitgate

extern "C" {

BITGATE_EXPORT int32_t bitgate_abi(bitgate_abi_info* info) noexcept {
  if (info == nullptr || info->struct_size != sizeof(bitgate_abi_info))
    return BITGATE_BAD_ARGUMENT;
  *info = {};
  info->struct_size = sizeof(bitgate_abi_info);
  info->version = BITGATE_ABI_VERSION;
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
  bitgate::detail::put(info->family, bitgate::family.name);
  bitgate::detail::put(info->target, BITGATE_TARGET);
  return BITGATE_OK;
}

BITGATE_EXPORT int32_t bitgate_list_instances(bitgate_instance_info* out, int32_t capacity) noexcept {
  int32_t count = 0;
  for (const auto* at = bitgate::Registration::first; at != nullptr; at = at->next, ++count)
    if (out != nullptr && count < capacity)
      bitgate::detail::describe(at->instance, out[count]);
  return count;
}

BITGATE_EXPORT int32_t bitgate_list_options(bitgate_option_info* out, int32_t capacity) noexcept {
  for (int i = 0; out != nullptr && i < bitgate::family.option_count && i < capacity; ++i) {
    const bitgate::Option& option = bitgate::family.options[i];
    out[i] = {};
    out[i].struct_size = sizeof out[i];
    bitgate::detail::put(out[i].name, option.name);
    bitgate::detail::put(out[i].values, option.values);
    bitgate::detail::put(out[i].production, option.production);
    bitgate::detail::put(out[i].help, option.help);
  }
  return bitgate::family.option_count;
}

BITGATE_EXPORT int32_t bitgate_is_supported(const bitgate_problem* problem, const char* instance,
                                            const bitgate_options* options, bitgate_reason* reason) noexcept {
  return bitgate::detail::with_request(
      problem, instance, options, reason,
      [](const bitgate::Instance&, const bitgate::Request&) { return int32_t{BITGATE_OK}; });
}

BITGATE_EXPORT int64_t bitgate_workspace_size(const bitgate_problem* problem, const char* instance,
                                              const bitgate_options* options,
                                              bitgate_reason* reason) noexcept {
  int64_t bytes = 0;
  const int32_t status =
      bitgate::detail::with_request(problem, instance, options, reason,
                                    [&](const bitgate::Instance& found, const bitgate::Request& request) {
                                      bytes = found.workspace_bytes(request);
                                      return int32_t{BITGATE_OK};
                                    });
  return status == BITGATE_OK ? bytes : -status;
}

BITGATE_EXPORT int32_t bitgate_run(const bitgate_problem* problem, const char* instance,
                                   const bitgate_options* options, const bitgate_buffers* buffers,
                                   bitgate_dispatch_record* record, void* stream) noexcept {
  if (record == nullptr || record->struct_size != sizeof(bitgate_dispatch_record))
    return BITGATE_BAD_ARGUMENT;
  const bitgate_dispatch_record caller = *record;
  *record = {};
  record->struct_size = sizeof(bitgate_dispatch_record);
  record->split_k = record->split_n = 1;
  record->sub_gemm_capacity = caller.sub_gemm_capacity, record->sub_gemms = caller.sub_gemms;
  record->event_capacity = caller.event_capacity, record->events = caller.events;
  record->kernarg_capacity = caller.kernarg_capacity, record->kernargs = caller.kernargs;
  return bitgate::detail::with_request(problem, instance, options, &record->reason,
                                       [&](const bitgate::Instance& found, const bitgate::Request& request) {
                                         return bitgate::detail::run(found, request, buffers, *record,
                                                                     stream);
                                       });
}

} // extern "C"
