// CUDA's smaller headers: complex numbers, a profiler's marks, parts of words, memory types, callbacks.
#include <cuComplex.h>
#include <cuda_fp16.h>
#include <math_constants.h>
#include <math_functions.h>
#include <nvToolsExt.h>
#include <nvtx3/nvToolsExt.h>
#include <vector_functions.h>

#include "check.h"

__global__ void complex_numbers(cuDoubleComplex* to, cuFloatComplex* squares) {
  const cuDoubleComplex squared = cuCmul(*to, cuConj(*to));
  *to = make_cuDoubleComplex(cuCreal(squared), cuCabs(*to) + cuCimag(cuCdiv(squared, squared)));
  squares[threadIdx.x] = cuCmulf(make_cuFloatComplex(threadIdx.x, 1), make_cuFloatComplex(threadIdx.x, 1));
}

__global__ void parts(unsigned* to) {
  int at = 0;
  to[at++] = __vadd4(0x01FF0304, 0x01010101);
  to[at++] = __vaddus4(0xFF00FF00, 0x01010101);
  to[at++] = __vaddss2(0x7FFF8000, 0x0001FFFF);
  to[at++] = __vsubus2(0x00050001, 0x00030003);
  to[at++] = __vavgu4(0x04040405, 0x06060606);
  to[at++] = __vmins2(0xFFFF0001, 0x00030003);
  to[at++] = __vmaxs4(0xFF010203, 0x00020202);
  to[at++] = __vabsdiffs4(0xFF050505, 0x01030703);
  to[at++] = __vcmpgtu2(0x00020001, 0x00010001);
  to[at++] = __vcmplts4(0xFF000100, 0x00000000);
  to[at++] = __vsadu4(0x05050505, 0x03070307);
  to[at++] = __vsadu2(0x00050007, 0x00070005);
  const half2 quotient = __h2div(__floats2half2_rn(3, 8), __floats2half2_rn(2, 4));
  to[at++] = __low2float(quotient) == 1.5f && __high2float(quotient) == 2.0f;
}

void CUDART_CB called(void* calls) {
  ++*static_cast<int*>(calls);
}

int main() {
  nvtxRangePushA("all");
  const std::vector<unsigned> expected = {0x02000405, 0xFF01FF01, 0x7FFF8000, 0x00020000, 0x05050506,
                                          0xFFFF0001, 0x00020203, 0x02020202, 0xFFFF0000, 0xFF000000,
                                          8,          4,          1};
  unsigned* words = to_device(std::vector<unsigned>(expected.size()));
  parts<<<1, 1>>>(words);
  bool isRight = to_host(words, expected.size()) == expected;
  cuDoubleComplex* number = to_device(std::vector<cuDoubleComplex>{make_cuDoubleComplex(3, 4)});
  cuFloatComplex* squares = to_device(std::vector<cuFloatComplex>(4));
  complex_numbers<<<1, 1>>>(number, squares);
  isRight &= to_host(number, 1)[0].x == 25 && to_host(number, 1)[0].y == 5 && to_host(squares, 1)[0].x == -1;
  int calls = 0;
  HIP_CHECK(cudaLaunchHostFunc(0, called, &calls));
  HIP_CHECK(cudaStreamSynchronize(0));
  cudaPointerAttributes attributes;
  HIP_CHECK(cudaPointerGetAttributes(&attributes, words));
  nvtxMarkA("end");
  nvtxRangePop();
  return verdict(isRight && calls == 1 && attributes.type == cudaMemoryTypeDevice);
}
