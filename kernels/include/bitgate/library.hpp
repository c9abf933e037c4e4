// The exported functions of a kernel library. Included by exactly one translation unit a family, which also
// defines bitgate::family; instances come from the registry. Nothing throws out of here.
#pragma once

#include <exception>

#include "bitgate/problem.hpp"
#include "bitgate/registry.hpp"

namespace bitgate {

namespace detail {

template <size_t N> void put(char (&to)[N], const char* text) noexcept {
  std::snprintf(to, N, "%s", text);
}

inline int32_t unknown_instance(const char* name, bitgate_reason* reason) noexcept {
  char known[BITGATE_REASON_BYTES] = "";
  for (const Registered* at = Registered::first(); at != nullptr; at = at->next()) {
    const size_t used = std::strlen(known);
    std::snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", at->described().name);
  }
  BITGATE_BAD(reason, "instance", "%s has no instance '%.48s': known are %s", family.name,
              name ? name : "(null)", known);
}

// Checks what every entry point is given, then calls `use(instance, options)`.
template <class Use>
int32_t with_instance(const bitgate_problem* problem, const char* name, const bitgate_options* options,
                      bitgate_reason* reason, Use use) noexcept {
  if (reason != nullptr)
    *reason = {};
  if (problem == nullptr || problem->struct_size != sizeof(bitgate_problem))
    BITGATE_BAD(reason, "struct_size", "bitgate_problem has %zu bytes here, the caller says %u",
                sizeof(bitgate_problem), problem ? problem->struct_size : 0u);
  if (const int32_t status = check_form(*problem, reason); status != BITGATE_OK)
    return status;
  const Registered* instance = name ? find_instance(name) : nullptr;
  if (instance == nullptr)
    return unknown_instance(name, reason);
  Options resolved(family.options, family.option_count);
  if (const int32_t status = resolved.read(options, reason); status != BITGATE_OK)
    return status;
  try {
    if (std::strcmp(problem->operation, instance->described().operation) != 0)
      BITGATE_REFUSE(reason, "operation", "%s computes %s, the problem is %s", name,
                     instance->described().operation, problem->operation);
    if (const int32_t status = instance->supports(*problem, resolved, reason); status != BITGATE_OK)
      return status;
    return use(*instance, resolved);
  } catch (const std::exception& error) {
    BITGATE_BAD(reason, "exception", "%s: %s", name, error.what());
  }
}

inline void describe(const Registered& instance, bitgate_instance_info& info) noexcept {
  info = {};
  info.struct_size = sizeof info;
  info.family = family.name;
  info.name = instance.described().name;
  info.operation = instance.described().operation;
  info.facts = instance.facts().values();
  info.fact_count = instance.facts().count();
}

inline int32_t check_buffers(const bitgate_problem& problem, const bitgate_buffers* buffers,
                             bitgate_reason* reason) noexcept {
  if (buffers == nullptr || buffers->struct_size != sizeof(bitgate_buffers))
    BITGATE_BAD(reason, "struct_size", "bitgate_buffers has %zu bytes here, the caller says %u",
                sizeof(bitgate_buffers), buffers ? buffers->struct_size : 0u);
  if (buffers->tensor_count != problem.tensor_count ||
      (buffers->tensor_count > 0 && buffers->tensors == nullptr))
    BITGATE_BAD(reason, "buffers", "%u buffers are given, the problem has %u tensors", buffers->tensor_count,
                problem.tensor_count);
  for (uint32_t i = 0; i < problem.tensor_count; ++i)
    if (problem.tensors[i].rank > 0 && buffers->tensors[i] == nullptr)
      BITGATE_BAD(reason, "buffers", "buffer %s is null", problem.tensors[i].role);
  return BITGATE_OK;
}

inline int32_t run(const Registered& instance, const bitgate_problem& problem, const Options& options,
                   const bitgate_buffers* buffers, bitgate_dispatch_record& record, void* stream) {
  const Described& described = instance.described();
  put(record.instance, described.name);
  if (const int32_t status = check_buffers(problem, buffers, &record.reason); status != BITGATE_OK)
    return status;
  record.workspace_bytes = instance.workspace_bytes(problem, options);
  if (record.workspace_bytes > 0 &&
      (buffers->workspace == nullptr || buffers->workspace_bytes < record.workspace_bytes))
    return because(BITGATE_WORKSPACE, &record.reason, "workspace",
                   "%s needs %lld bytes of workspace, %lld are given", described.name,
                   static_cast<long long>(record.workspace_bytes),
                   static_cast<long long>(buffers->workspace ? buffers->workspace_bytes : 0));
  Context context{record, static_cast<hipStream_t>(stream), static_cast<unsigned>(described.wave_size)};
  instance.run(problem, options, *buffers, context);
  if (context.error == hipSuccess)
    return BITGATE_OK;
  record.hip_error = static_cast<int32_t>(context.error);
  return because(BITGATE_HIP_ERROR, &record.reason, "hip", "%s: event %u failed: %s (%s)", described.name,
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
  bitgate::detail::put(info->family, bitgate::family.name);
  bitgate::detail::put(info->target, BITGATE_TARGET);
  return BITGATE_OK;
}

BITGATE_EXPORT int32_t bitgate_list_instances(bitgate_instance_info* out, int32_t capacity) noexcept {
  int32_t count = 0;
  for (const auto* at = bitgate::Registered::first(); at != nullptr; at = at->next(), ++count)
    if (out != nullptr && count < capacity)
      bitgate::detail::describe(*at, out[count]);
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
  return bitgate::detail::with_instance(
      problem, instance, options, reason,
      [](const bitgate::Registered&, const bitgate::Options&) { return int32_t{BITGATE_OK}; });
}

BITGATE_EXPORT int64_t bitgate_workspace_size(const bitgate_problem* problem, const char* instance,
                                              const bitgate_options* options,
                                              bitgate_reason* reason) noexcept {
  int64_t bytes = 0;
  const int32_t status =
      bitgate::detail::with_instance(problem, instance, options, reason,
                                     [&](const bitgate::Registered& found, const bitgate::Options& resolved) {
                                       bytes = found.workspace_bytes(*problem, resolved);
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
  record->fact_capacity = caller.fact_capacity, record->facts = caller.facts;
  record->part_capacity = caller.part_capacity, record->parts = caller.parts;
  record->event_capacity = caller.event_capacity, record->events = caller.events;
  record->kernarg_capacity = caller.kernarg_capacity, record->kernargs = caller.kernargs;
  return bitgate::detail::with_instance(
      problem, instance, options, &record->reason,
      [&](const bitgate::Registered& found, const bitgate::Options& resolved) {
        return bitgate::detail::run(found, *problem, resolved, buffers, *record, stream);
      });
}

} // extern "C"
