// Variables of the older kind, bound to memory and to an array.
#include "check.h"

texture<float, hipTextureType1D, hipReadModeElementType> line;
texture<int, hipTextureType2D> plane;

__global__ void fetch(float* out) {
  out[threadIdx.x] =
      tex1Dfetch(line, threadIdx.x) + tex2D(plane, threadIdx.x % 4 + 0.5f, threadIdx.x / 4 + 0.5f);
}

int main() {
  float* data = to_device(std::vector<float>(16, 0.5f));
  std::vector<int> h(16);
  for (int i = 0; i < 16; ++i)
    h[i] = i;
  hipChannelFormatDesc desc = hipCreateChannelDesc<int>();
  hipArray_t array;
  HIP_CHECK(hipMallocArray(&array, &desc, 4, 4));
  HIP_CHECK(hipMemcpyToArray(array, 0, 0, h.data(), 64, hipMemcpyHostToDevice));
  HIP_CHECK(hipBindTexture(nullptr, line, data, 64));
  HIP_CHECK(hipBindTextureToArray(plane, array));
  float* out = to_device(std::vector<float>(16, 0));
  fetch<<<1, 16>>>(out);
  const auto found = to_host(out, 16);
  HIP_CHECK(hipUnbindTexture(line));
  HIP_CHECK(hipUnbindTexture(plane));
  return verdict(found[0] == 0.5f && found[15] == 15.5f && found[6] == 6.5f);
}
