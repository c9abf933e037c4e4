// Normalised coordinates that wrap and mirror, and bytes read as parts of one.
#include "check.h"

__global__ void sample(hipTextureObject_t wrap, hipTextureObject_t mirror, float* out) {
  out[0] = tex1D<float>(wrap, 1.3f), out[1] = tex1D<float>(wrap, -0.1f);
  out[2] = tex1D<float>(mirror, 1.3f), out[3] = tex1D<float>(mirror, -0.1f);
}

int main() {
  const unsigned char h[4] = {0, 51, 102, 255};
  hipChannelFormatDesc desc = hipCreateChannelDesc<unsigned char>();
  hipArray_t array;
  HIP_CHECK(hipMallocArray(&array, &desc, 4));
  HIP_CHECK(hipMemcpyToArray(array, 0, 0, h, 4, hipMemcpyHostToDevice));
  hipResourceDesc resource{};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  hipTextureDesc how{};
  how.readMode = hipReadModeNormalizedFloat;
  how.normalizedCoords = 1;
  how.addressMode[0] = hipAddressModeWrap;
  hipTextureObject_t wrap, mirror;
  HIP_CHECK(hipCreateTextureObject(&wrap, &resource, &how, nullptr));
  how.addressMode[0] = hipAddressModeMirror;
  HIP_CHECK(hipCreateTextureObject(&mirror, &resource, &how, nullptr));
  float* out = to_device(std::vector<float>(4, 0));
  sample<<<1, 1>>>(wrap, mirror, out);
  const auto found = to_host(out, 4);
  return verdict(fabsf(found[0] - 0.2f) < 1e-6f && found[1] == 1 && fabsf(found[2] - 0.4f) < 1e-6f &&
                 found[3] == 0);
}
