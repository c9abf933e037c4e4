// Memory of three dimensions: allocated, filled, copied there and back.
#include <driver_types.h>
#include <vector_types.h>

#include "check.h"

__global__ void doubled(cudaPitchedPtr volume, cudaExtent extent) {
  char* plane = static_cast<char*>(volume.ptr) + blockIdx.x * volume.pitch * extent.height;
  for (size_t row = 0; row < extent.height; ++row) {
    auto* cells = reinterpret_cast<float*>(plane + row * volume.pitch);
    for (size_t at = threadIdx.x; at < extent.width / sizeof(float); at += blockDim.x)
      cells[at] *= 2;
  }
}

int main() {
  const size_t width = 10, height = 5, depth = 3, cells = width * height * depth;
  std::vector<float> from(cells), to(cells, -1), zeros(cells, 1);
  for (size_t at = 0; at < cells; ++at)
    from[at] = at;
  const cudaExtent extent = make_cudaExtent(width * sizeof(float), height, depth);
  cudaPitchedPtr volume;
  HIP_CHECK(cudaMalloc3D(&volume, extent));
  cudaMemcpy3DParms there = {};
  there.srcPtr = make_cudaPitchedPtr(from.data(), width * sizeof(float), width, height);
  there.dstPtr = volume, there.extent = extent, there.kind = cudaMemcpyHostToDevice;
  HIP_CHECK(cudaMemcpy3D(&there));
  doubled<<<depth, 32>>>(volume, extent);
  cudaMemcpy3DParms back = {};
  back.srcPtr = volume, back.srcPos = make_cudaPos(0, 0, 1); // all but the first plane
  back.dstPtr = make_cudaPitchedPtr(to.data(), width * sizeof(float), width, height);
  back.extent = make_cudaExtent(width * sizeof(float), height, depth - 1), back.kind = cudaMemcpyDeviceToHost;
  HIP_CHECK(cudaMemcpy3DAsync(&back, 0));
  HIP_CHECK(cudaStreamSynchronize(0));
  bool isRight = true;
  for (size_t at = 0; at < cells; ++at)
    isRight &= to[at] == (at < width * height * (depth - 1) ? 2.0f * (at + width * height) : -1.0f);
  HIP_CHECK(cudaMemset3D(volume, 0, extent));
  back.srcPos = make_cudaPos(0, 0, 0), back.extent = extent;
  back.dstPtr.ptr = zeros.data();
  HIP_CHECK(cudaMemcpy3D(&back));
  isRight &= zeros == std::vector<float>(cells, 0);

  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  HIP_CHECK(cudaMallocArray(&array, &format, width, height));
  cudaMemcpy3DParms packed = {};
  packed.srcPtr = there.srcPtr, packed.dstArray = array, packed.kind = cudaMemcpyHostToDevice;
  packed.extent = make_cudaExtent(width, height, 1); // in elements, since there is an array
  HIP_CHECK(cudaMemcpy3D(&packed));
  std::vector<float> plane(width * height);
  HIP_CHECK(
      cudaMemcpyFromArray(plane.data(), array, 0, 0, plane.size() * sizeof(float), cudaMemcpyDeviceToHost));
  isRight &= plane == std::vector<float>(from.begin(), from.begin() + width * height);
  HIP_CHECK(cudaFreeArray(array));
  return verdict(isRight);
}
