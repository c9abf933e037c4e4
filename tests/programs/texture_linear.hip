// Texture objects over linear memory, by elements of one and of four channels.
#include "check.h"

__global__ void fetch(hipTextureObject_t one, hipTextureObject_t four, float* out) {
  const int i = threadIdx.x;
  const float4 v = tex1Dfetch<float4>(four, i / 4);
  out[i] = tex1Dfetch<float>(one, i) + v.w + tex1Dfetch<float>(one, 1000000);
}
hipTextureObject_t over(float* data, size_t bytes, hipChannelFormatDesc desc) {
  hipResourceDesc resource{};
  resource.resType = hipResourceTypeLinear;
  resource.res.linear.devPtr = data;
  resource.res.linear.desc = desc;
  resource.res.linear.sizeInBytes = bytes;
  hipTextureDesc how{};
  how.readMode = hipReadModeElementType;
  hipTextureObject_t object = 0;
  HIP_CHECK(hipCreateTextureObject(&object, &resource, &how, nullptr));
  return object;
}

int main() {
  std::vector<float> h(64);
  for (int i = 0; i < 64; ++i)
    h[i] = i;
  float *data = to_device(h), *out = to_device(std::vector<float>(64, 0));
  hipTextureObject_t one = over(data, 256, hipCreateChannelDesc<float>());
  hipTextureObject_t four = over(data, 256, hipCreateChannelDesc(32, 32, 32, 32, hipChannelFormatKindFloat));
  fetch<<<1, 64>>>(one, four, out);
  const auto found = to_host(out, 64);
  HIP_CHECK(hipDestroyTextureObject(one));
  HIP_CHECK(hipDestroyTextureObject(four));
  bool right = true;
  for (int i = 0; i < 64; ++i)
    right = right && found[i] == i + i / 4 * 4 + 3;
  return verdict(right);
}
