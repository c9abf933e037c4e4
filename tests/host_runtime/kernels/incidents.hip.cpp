// Libraries that clear their errors away, leave work behind, pass host pointers, or change how floats are
// computed.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <xmmintrin.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

__global__ void copy_cell(int* to, const int* from) {
  to[0] = from[0];
}

__device__ int device_variable[2] = {7, 8};

struct Padded {
  char tag;
  const int* pointer; // members are not looked at
};

__global__ void copy_padded(int* to, Padded from) {
  to[0] = from.pointer[0];
}

__global__ void call(int* to, int (*function)(int)) {
  to[0] = function(1);
}
int add_one(int value) {
  return value + 1;
}

// Changes the control bits named by `mask` of MXCSR to `bits` in one block.
__global__ void set_control(unsigned mask, unsigned bits, bool restore) {
  if (blockIdx.x != 1 || threadIdx.x != 3)
    return;
  const unsigned before = _mm_getcsr();
  _mm_setcsr((before & ~mask) | bits);
  if (restore)
    _mm_setcsr(before);
}

__global__ void set_x87(bool) {
  const uint16_t control = 0x0E7F; // towards zero
  asm volatile("fldcw %0" : : "m"(control));
}

__global__ void read_control(unsigned* out) {
  out[blockIdx.x] = _mm_getcsr() & 0xFFC0;
}

__global__ void read_lds(unsigned* out) {
  struct Lds {
    unsigned word;
  };
  BITGATE_LDS(Lds, lds);
  __shared__ volatile unsigned plain; // else nobody writes it, and it is 0
  out[0] = lds.word, out[1] = plain;
}

EXPORT hipError_t swallow_fault(int* cells) {
  hipLaunchKernelGGL(copy_cell, dim3(1), dim3(1), 0, nullptr, cells, static_cast<const int*>(nullptr));
  (void)hipDeviceSynchronize();
  (void)hipGetLastError();
  return hipSuccess;
}

EXPORT hipError_t swallow_launch(int* cells) {
  hipLaunchKernelGGL(copy_cell, dim3(1), dim3(2048), 0, nullptr, cells, cells);
  (void)hipGetLastError();
  return hipSuccess;
}

EXPORT void launch_copy(int* to, const int* from, hipStream_t stream) {
  hipLaunchKernelGGL(copy_cell, dim3(1), dim3(1), 0, stream, to, from);
}

EXPORT void launch_copy_of_a_variable(int* to, bool ask) {
  void* address = device_variable;
  if (ask)
    (void)hipGetSymbolAddress(&address, device_variable);
  launch_copy(to, static_cast<int*>(address) + 1, nullptr);
}

EXPORT void launch_copy_padded(int* to, const int* from) {
  hipLaunchKernelGGL(copy_padded, dim3(1), dim3(1), 0, nullptr, to, Padded{'x', from});
}

EXPORT void launch_call(int* to) {
  hipLaunchKernelGGL(call, dim3(1), dim3(1), 0, nullptr, to, add_one);
}

EXPORT void launch_set_control(unsigned mask, unsigned bits, bool restore) {
  hipLaunchKernelGGL(set_control, dim3(4), dim3(8), 0, nullptr, mask, bits, restore);
}
EXPORT void launch_set_x87() {
  hipLaunchKernelGGL(set_x87, dim3(1), dim3(1), 0, nullptr, true);
}
EXPORT void launch_read_control(unsigned* out, unsigned blocks) {
  hipLaunchKernelGGL(read_control, dim3(blocks), dim3(1), 0, nullptr, out);
}
EXPORT void launch_read_lds(unsigned* out) {
  hipLaunchKernelGGL(read_lds, dim3(1), dim3(1), 0, nullptr, out);
}
