// Arrays, and what textures are described by: HIP's names. An array is a pitched buffer of the device.
#pragma once

#include <cstdint>
#include <type_traits>

#include "hip/hip_runtime_api.h"
#include "hip/host_detail/vector_types.hpp"

enum hipChannelFormatKind {
  hipChannelFormatKindSigned,
  hipChannelFormatKindUnsigned,
  hipChannelFormatKindFloat,
  hipChannelFormatKindNone
};
struct hipChannelFormatDesc {
  int x, y, z, w;
  hipChannelFormatKind f;
};
enum hipResourceType {
  hipResourceTypeArray,
  hipResourceTypeMipmappedArray,
  hipResourceTypeLinear,
  hipResourceTypePitch2D
};
enum hipTextureAddressMode {
  hipAddressModeWrap,
  hipAddressModeClamp,
  hipAddressModeMirror,
  hipAddressModeBorder
};
enum hipTextureFilterMode { hipFilterModePoint, hipFilterModeLinear };
enum hipTextureReadMode { hipReadModeElementType, hipReadModeNormalizedFloat };
#define hipTextureType1D 0x01
#define hipTextureType2D 0x02
#define hipArrayDefault 0x00
#define hipArraySurfaceLoadStore 0x02

struct hipArray {
  char* data;
  size_t pitch, width, height; // of elements; height 0: one dimension
  hipChannelFormatDesc desc;
};
typedef hipArray* hipArray_t;
typedef const hipArray* hipArray_const_t;

struct hipResourceDesc {
  hipResourceType resType;
  union {
    struct {
      hipArray_t array;
    } array;
    struct {
      void* devPtr;
      hipChannelFormatDesc desc;
      size_t sizeInBytes;
    } linear;
    struct {
      void* devPtr;
      hipChannelFormatDesc desc;
      size_t width, height, pitchInBytes;
    } pitch2D;
  } res;
};
struct hipTextureDesc {
  hipTextureAddressMode addressMode[3];
  hipTextureFilterMode filterMode;
  hipTextureReadMode readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned maxAnisotropy;
  hipTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
};
struct hipResourceViewDesc;

// Lies in device memory, as what a kernel reads must.
struct __hip_texture {
  const char* data;
  size_t pitch;
  long width, height; // of elements
  hipChannelFormatDesc desc;
  hipTextureDesc how;
};
typedef __hip_texture* hipTextureObject_t;
typedef __hip_texture* hipSurfaceObject_t;

inline hipChannelFormatDesc hipCreateChannelDesc(int x, int y, int z, int w, hipChannelFormatKind kind) {
  return {x, y, z, w, kind};
}
namespace bitgate_host {
template <class T> struct TexelOf {
  using Scalar = T;
  static constexpr unsigned count = 1;
};
template <class T>
  requires Vector<T>
struct TexelOf<T> {
  using Scalar = Element<T>;
  static constexpr unsigned count = VectorOf<T>::size;
};
inline size_t bytes_of(const hipChannelFormatDesc& desc) {
  return static_cast<size_t>(desc.x + desc.y + desc.z + desc.w) / 8;
}
} // namespace bitgate_host
template <class T> hipChannelFormatDesc hipCreateChannelDesc() {
  using Texel = bitgate_host::TexelOf<T>;
  using Scalar = typename Texel::Scalar;
  constexpr int bits = 8 * sizeof(Scalar);
  constexpr auto kind = std::is_integral_v<Scalar> ? (std::is_signed_v<Scalar> ? hipChannelFormatKindSigned
                                                                               : hipChannelFormatKindUnsigned)
                                                   : hipChannelFormatKindFloat;
  const auto of = [](unsigned channel) { return channel < Texel::count ? bits : 0; };
  return {of(0), of(1), of(2), of(3), kind};
}

inline hipError_t hipMallocArray(hipArray_t* array, const hipChannelFormatDesc* desc, size_t width,
                                 size_t height = 0, unsigned = hipArrayDefault) {
  void* data = nullptr;
  size_t pitch = 0;
  const size_t row = width * bitgate_host::bytes_of(*desc);
  const hipError_t error =
      height ? hipMallocPitch(&data, &pitch, row, height) : hipMalloc(&data, pitch = row);
  if (error == hipSuccess)
    *array = new hipArray{static_cast<char*>(data), pitch, width, height, *desc};
  return error;
}
inline hipError_t hipFreeArray(hipArray_t array) {
  if (!array)
    return hipErrorInvalidValue;
  const hipError_t error = hipFree(array->data);
  delete array;
  return error;
}
inline hipError_t hipMemcpy2DToArray(hipArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                     size_t width, size_t height, hipMemcpyKind kind) {
  return hipMemcpy2D(to->data + y * to->pitch + x, to->pitch, from, pitch, width, height, kind);
}
inline hipError_t hipMemcpy2DToArrayAsync(hipArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                          size_t width, size_t height, hipMemcpyKind kind,
                                          hipStream_t stream = nullptr) {
  return hipMemcpy2DAsync(to->data + y * to->pitch + x, to->pitch, from, pitch, width, height, kind, stream);
}
inline hipError_t hipMemcpy2DFromArray(void* to, size_t pitch, hipArray_const_t from, size_t x, size_t y,
                                       size_t width, size_t height, hipMemcpyKind kind) {
  return hipMemcpy2D(to, pitch, from->data + y * from->pitch + x, from->pitch, width, height, kind);
}
// Row after row, as they lie without padding.
inline hipError_t hipMemcpyToArray(hipArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                                   hipMemcpyKind kind) {
  const size_t row = to->width * bitgate_host::bytes_of(to->desc);
  if (x || bytes % row)
    return hipMemcpy(to->data + y * to->pitch + x, from, bytes, kind);
  return hipMemcpy2DToArray(to, x, y, from, row, row, bytes / row, kind);
}
inline hipError_t hipMemcpyFromArray(void* to, hipArray_const_t from, size_t x, size_t y, size_t bytes,
                                     hipMemcpyKind kind) {
  const size_t row = from->width * bitgate_host::bytes_of(from->desc);
  if (x || bytes % row)
    return hipMemcpy(to, from->data + y * from->pitch + x, bytes, kind);
  return hipMemcpy2DFromArray(to, row, from, x, y, row, bytes / row, kind);
}

inline hipError_t hipCreateTextureObject(hipTextureObject_t* object, const hipResourceDesc* of,
                                         const hipTextureDesc* how, const hipResourceViewDesc* = nullptr) {
  __hip_texture texture{};
  texture.how = *how;
  if (of->resType == hipResourceTypeArray) {
    const hipArray& array = *of->res.array.array;
    texture.data = array.data, texture.pitch = array.pitch, texture.desc = array.desc;
    texture.width = static_cast<long>(array.width);
    texture.height = array.height ? static_cast<long>(array.height) : 1;
  } else if (of->resType == hipResourceTypeLinear) {
    texture.data = static_cast<const char*>(of->res.linear.devPtr), texture.desc = of->res.linear.desc;
    texture.width = static_cast<long>(of->res.linear.sizeInBytes / bitgate_host::bytes_of(texture.desc));
    texture.height = 1;
  } else if (of->resType == hipResourceTypePitch2D) {
    texture.data = static_cast<const char*>(of->res.pitch2D.devPtr), texture.desc = of->res.pitch2D.desc;
    texture.pitch = of->res.pitch2D.pitchInBytes;
    texture.width = static_cast<long>(of->res.pitch2D.width);
    texture.height = static_cast<long>(of->res.pitch2D.height);
  } else {
    return hipErrorNotSupported; // mipmaps
  }
  void* memory = nullptr;
  if (const hipError_t error = hipMalloc(&memory, sizeof texture); error != hipSuccess)
    return error;
  *object = static_cast<hipTextureObject_t>(memory);
  return hipMemcpy(memory, &texture, sizeof texture, hipMemcpyHostToDevice);
}
inline hipError_t hipDestroyTextureObject(hipTextureObject_t object) {
  return hipFree(object);
}
