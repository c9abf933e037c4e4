// A texture of an array: points, clamped, and between four texels.
#include "check.h"

__global__ void sample(hipTextureObject_t texture, const float2* at, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = tex2D<float>(texture, at[i].x, at[i].y);
}

int main() {
  const int width = 8, height = 4;
  std::vector<float> h(width * height);
  for (int i = 0; i < width * height; ++i)
    h[i] = i % width + 10 * (i / width);
  hipChannelFormatDesc desc = hipCreateChannelDesc<float>();
  hipArray_t array;
  HIP_CHECK(hipMallocArray(&array, &desc, width, height));
  HIP_CHECK(hipMemcpy2DToArray(array, 0, 0, h.data(), width * 4, width * 4, height, hipMemcpyHostToDevice));
  hipResourceDesc resource{};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  hipTextureDesc how{};
  how.addressMode[0] = how.addressMode[1] = hipAddressModeClamp;
  const std::vector<float2> places = {{0.5f, 0.5f}, {3.7f, 2.2f}, {-4, 1.5f}, {100, 100}, {2, 1.5f}, {3, 2}};
  float2* at = to_device(places);
  float* out = to_device(std::vector<float>(6, 0));
  hipTextureObject_t points = 0, between = 0;
  how.filterMode = hipFilterModePoint;
  HIP_CHECK(hipCreateTextureObject(&points, &resource, &how, nullptr));
  how.filterMode = hipFilterModeLinear;
  HIP_CHECK(hipCreateTextureObject(&between, &resource, &how, nullptr));
  sample<<<1, 32>>>(points, at, out, 6);
  bool right = to_host(out, 6) == std::vector<float>{0, 23, 10, 37, 12, 23};
  sample<<<1, 32>>>(between, at, out, 6);
  const auto found = to_host(out, 6);
  right = right && found[0] == 0 && found[4] == 11.5f && found[5] == 17.5f && found[3] == 37;
  HIP_CHECK(hipDestroyTextureObject(points));
  HIP_CHECK(hipDestroyTextureObject(between));
  HIP_CHECK(hipFreeArray(array));
  return verdict(right);
}
