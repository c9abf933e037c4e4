// Device variables by name: `hipMemcpyToSymbol(name, ...)` and `HIP_SYMBOL(name)` alike.
#pragma once

#include <memory>
#include <type_traits>

#include "hip/hip_runtime_api.h"

#undef HIP_SYMBOL
#define HIP_SYMBOL(x) x

namespace bitgate_host {
// The variable itself is an lvalue; a pointer that an expression gives is its address.
template <class T> const void* address_of_symbol(T&& symbol) {
  if constexpr (std::is_lvalue_reference_v<T>)
    return std::addressof(symbol);
  else
    return symbol;
}
} // namespace bitgate_host

template <class T>
hipError_t hipMemcpyToSymbol(T&& symbol, const void* from, size_t bytes, size_t offset = 0,
                             hipMemcpyKind kind = hipMemcpyHostToDevice) {
  return hipMemcpyToSymbol(bitgate_host::address_of_symbol(static_cast<T&&>(symbol)), from, bytes, offset,
                           kind);
}
template <class T>
hipError_t hipMemcpyFromSymbol(void* to, T&& symbol, size_t bytes, size_t offset = 0,
                               hipMemcpyKind kind = hipMemcpyDeviceToHost) {
  return hipMemcpyFromSymbol(to, bitgate_host::address_of_symbol(static_cast<T&&>(symbol)), bytes, offset,
                             kind);
}
template <class T>
hipError_t hipMemcpyToSymbolAsync(T&& symbol, const void* from, size_t bytes, size_t offset,
                                  hipMemcpyKind kind, hipStream_t stream = nullptr) {
  auto* const to =
      static_cast<const char*>(bitgate_host::address_of_symbol(static_cast<T&&>(symbol))) + offset;
  return hipMemcpyAsync(const_cast<char*>(to), from, bytes, kind, stream);
}
template <class T>
hipError_t hipMemcpyFromSymbolAsync(void* to, T&& symbol, size_t bytes, size_t offset, hipMemcpyKind kind,
                                    hipStream_t stream = nullptr) {
  auto* const from =
      static_cast<const char*>(bitgate_host::address_of_symbol(static_cast<T&&>(symbol))) + offset;
  return hipMemcpyAsync(to, from, bytes, kind, stream);
}
template <class P, class T> hipError_t hipGetSymbolAddress(P** pointer, T&& symbol) {
  return hipGetSymbolAddress(reinterpret_cast<void**>(pointer),
                             bitgate_host::address_of_symbol(static_cast<T&&>(symbol)));
}
template <class T> hipError_t hipGetSymbolSize(size_t* bytes, const T&) {
  *bytes = sizeof(T);
  return hipSuccess;
}
