// A texture of pitched memory.
#include "check.h"

__global__ void transpose(hipTextureObject_t texture, int* out, int width, int height) {
  const int x = threadIdx.x, y = threadIdx.y;
  if (x < width && y < height)
    out[x * height + y] = tex2D<int2>(texture, x + 0.5f, y + 0.5f).y;
}

int main() {
  const int width = 5, height = 3;
  std::vector<int2> h(width * height);
  for (int i = 0; i < width * height; ++i)
    h[i] = {i, 2 * i};
  int2* data = nullptr;
  size_t pitch = 0;
  HIP_CHECK(hipMallocPitch((void**)&data, &pitch, width * sizeof(int2), height));
  HIP_CHECK(hipMemcpy2D(data, pitch, h.data(), width * sizeof(int2), width * sizeof(int2), height,
                        hipMemcpyHostToDevice));
  hipResourceDesc resource{};
  resource.resType = hipResourceTypePitch2D;
  resource.res.pitch2D.devPtr = data;
  resource.res.pitch2D.desc = hipCreateChannelDesc<int2>();
  resource.res.pitch2D.width = width;
  resource.res.pitch2D.height = height;
  resource.res.pitch2D.pitchInBytes = pitch;
  hipTextureDesc how{};
  hipTextureObject_t texture = 0;
  HIP_CHECK(hipCreateTextureObject(&texture, &resource, &how, nullptr));
  int* out = to_device(std::vector<int>(15, 0));
  transpose<<<1, dim3(8, 4)>>>(texture, out, width, height);
  const auto found = to_host(out, 15);
  return verdict(found[0] == 0 && found[1] == 10 && found[14] == 28 && found[3] == 2);
}
