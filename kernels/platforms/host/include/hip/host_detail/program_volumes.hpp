// Memory in three dimensions, by its copies and fills of two: rows that lie a pitch apart, and planes of
// rows.
#pragma once

#include "hip/host_detail/texture_types.hpp"

struct hipPos {
  size_t x, y, z;
};
struct hipExtent {
  size_t width, height, depth; // the width in bytes, or in elements where an array takes part
};
struct hipPitchedPtr {
  void* ptr;
  size_t pitch, xsize, ysize;
};
struct hipMemcpy3DParms {
  hipArray_t srcArray;
  hipPos srcPos;
  hipPitchedPtr srcPtr;
  hipArray_t dstArray;
  hipPos dstPos;
  hipPitchedPtr dstPtr;
  hipExtent extent;
  hipMemcpyKind kind;
};

inline hipPos make_hipPos(size_t x, size_t y, size_t z) {
  return {x, y, z};
}
inline hipExtent make_hipExtent(size_t width, size_t height, size_t depth) {
  return {width, height, depth};
}
inline hipPitchedPtr make_hipPitchedPtr(void* memory, size_t pitch, size_t xsize, size_t ysize) {
  return {memory, pitch, xsize, ysize};
}

inline hipError_t hipMalloc3D(hipPitchedPtr* memory, hipExtent extent) {
  *memory = {nullptr, 0, extent.width, extent.height};
  return hipMallocPitch(&memory->ptr, &memory->pitch, extent.width, extent.height * extent.depth);
}

namespace bitgate_host {
// One side of a copy: its first byte, and the distances of rows and of planes.
struct VolumeSide {
  char* first;
  size_t pitch, plane;
};
inline VolumeSide volume_side(hipArray_t array, const hipPitchedPtr& memory, const hipPos& at) {
  const VolumeSide side =
      array ? VolumeSide{array->data, array->pitch, 0}
            : VolumeSide{static_cast<char*>(memory.ptr), memory.pitch, memory.pitch * memory.ysize};
  const size_t x = array ? at.x * bytes_of(array->desc) : at.x;
  return {side.first + at.z * side.plane + at.y * side.pitch + x, side.pitch, side.plane};
}
template <class Copy> hipError_t copy_planes(const hipMemcpy3DParms& asked, Copy copy) {
  const hipArray_t array = asked.srcArray ? asked.srcArray : asked.dstArray;
  if (array && asked.extent.depth > 1)
    return hipErrorNotSupported; // arrays have two dimensions here
  const VolumeSide from = volume_side(asked.srcArray, asked.srcPtr, asked.srcPos),
                   to = volume_side(asked.dstArray, asked.dstPtr, asked.dstPos);
  const size_t width = array ? asked.extent.width * bytes_of(array->desc) : asked.extent.width;
  hipError_t error = hipSuccess;
  for (size_t z = 0; z < asked.extent.depth && error == hipSuccess; ++z)
    error = copy(to.first + z * to.plane, to.pitch, from.first + z * from.plane, from.pitch, width,
                 asked.extent.height, asked.kind);
  return error;
}
} // namespace bitgate_host

inline hipError_t hipMemcpy3D(const hipMemcpy3DParms* asked) {
  return bitgate_host::copy_planes(*asked, [](auto... of) { return hipMemcpy2D(of...); });
}
inline hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms* asked, hipStream_t stream = nullptr) {
  return bitgate_host::copy_planes(*asked, [stream](auto... of) { return hipMemcpy2DAsync(of..., stream); });
}
inline hipError_t hipMemset3D(hipPitchedPtr memory, int value, hipExtent extent) {
  hipError_t error = hipSuccess;
  for (size_t z = 0; z < extent.depth && error == hipSuccess; ++z)
    error = hipMemset2D(static_cast<char*>(memory.ptr) + z * memory.pitch * memory.ysize, memory.pitch, value,
                        extent.width, extent.height);
  return error;
}
