// Pointers that only the host could follow: here they work by chance, on a GPU they fault.
#pragma once

namespace bitgate_host {

// True of mapped memory of the process that is no buffer of this runtime (device, pinned, managed,
// registered), lies in no buffer's guard zones, and not beside a variable that hipGetSymbolAddress told of.
bool isHostPointer(const volatile void* pointer);

// Whether the address is in such a library's data.
bool isDeviceSymbol(const void* address);

// The address of a __device__ variable has been handed out: its library's data may be pointed into.
void registerSymbol(const void* symbol);

} // namespace bitgate_host
