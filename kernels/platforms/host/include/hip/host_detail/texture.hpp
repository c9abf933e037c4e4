// Textures of one and two dimensions, and linear memory: fetches as a GPU does them, with 8 bits of fraction
// between two texels.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "hip/host_detail/texture_types.hpp"

namespace bitgate_host {

// Where a coordinate leads; -1: beyond the border.
inline long texel_at(long at, long size, hipTextureAddressMode mode) {
  if (at >= 0 && at < size)
    return at;
  switch (mode) {
  case hipAddressModeWrap:
    return (at % size + size) % size;
  case hipAddressModeMirror: {
    const long place = (at % (2 * size) + 2 * size) % (2 * size);
    return place < size ? place : 2 * size - 1 - place;
  }
  case hipAddressModeBorder:
    return -1;
  default:
    return at < 0 ? 0 : size - 1;
  }
}

template <class T> T texel(const __hip_texture& texture, long x, long y) {
  using Scalar = typename TexelOf<T>::Scalar;
  const hipTextureDesc& how = texture.how;
  // Without normalised coordinates there is no wrap and no mirror.
  const auto mode = [&](int axis) {
    const hipTextureAddressMode stated = how.addressMode[axis];
    return how.normalizedCoords || stated == hipAddressModeBorder ? stated : hipAddressModeClamp;
  };
  x = texel_at(x, texture.width, mode(0)), y = texel_at(y, texture.height, mode(1));
  Scalar channels[4] = {};
  const int bits[4] = {texture.desc.x, texture.desc.y, texture.desc.z, texture.desc.w};
  const char* from = texture.data + static_cast<size_t>(y < 0 ? 0 : y) * texture.pitch +
                     static_cast<size_t>(x < 0 ? 0 : x) * bytes_of(texture.desc);
  for (unsigned channel = 0; channel < TexelOf<T>::count; ++channel) {
    if (x < 0 || y < 0) {
      channels[channel] = static_cast<Scalar>(how.borderColor[channel]);
    } else if (how.readMode == hipReadModeNormalizedFloat && bits[channel] <= 16 &&
               texture.desc.f != hipChannelFormatKindFloat) {
      const bool isSigned = texture.desc.f == hipChannelFormatKindSigned;
      int16_t value = 0;
      std::memcpy(&value, from, static_cast<size_t>(bits[channel]) / 8);
      const double raw =
          isSigned ? (bits[channel] == 8 ? static_cast<int8_t>(value) : value)
                   : (bits[channel] == 8 ? static_cast<uint8_t>(value) : static_cast<uint16_t>(value));
      channels[channel] = static_cast<Scalar>(std::fmax(raw / ((1 << (bits[channel] - isSigned)) - 1), -1.0));
    } else {
      std::memcpy(&channels[channel], from, sizeof(Scalar));
    }
    from += bits[channel] / 8;
  }
  T result{};
  std::memcpy(&result, channels, sizeof(Scalar) * TexelOf<T>::count);
  return result;
}

inline double texture_place(float at, long size, const hipTextureDesc& how) {
  return how.normalizedCoords ? static_cast<double>(at) * static_cast<double>(size) : at;
}

template <class T> T fetched(const __hip_texture& texture, float u, float v) {
  const double x = texture_place(u, texture.width, texture.how),
               y = texture_place(v, texture.height, texture.how);
  if (texture.how.filterMode == hipFilterModePoint)
    return texel<T>(texture, static_cast<long>(std::floor(x)), static_cast<long>(std::floor(y)));
  using Scalar = typename TexelOf<T>::Scalar;
  if constexpr (std::is_floating_point_v<Scalar>) {
    const bool isFlat = texture.height == 1 && texture.pitch == 0;
    const double left = std::floor(x - 0.5), top = isFlat ? 0 : std::floor(y - 0.5);
    const auto fraction = [](double of) { return static_cast<Scalar>(std::nearbyint(of * 256) / 256); };
    const Scalar a = fraction(x - 0.5 - left), b = isFlat ? 0 : fraction(y - 0.5 - top);
    const auto at = [&](int dx, int dy) {
      return texel<T>(texture, static_cast<long>(left) + dx, static_cast<long>(top) + dy);
    };
    const T upper = at(0, 0) * (1 - a) + at(1, 0) * a;
    return b == 0 ? upper : upper * (1 - b) + (at(0, 1) * (1 - a) + at(1, 1) * a) * b;
  } else {
    return texel<T>(texture, static_cast<long>(std::floor(x)), static_cast<long>(std::floor(y)));
  }
}

} // namespace bitgate_host

template <class T> T tex1Dfetch(hipTextureObject_t object, int at) {
  // Behind its end a linear texture reads 0.
  return at < 0 || at >= object->width ? T{} : bitgate_host::texel<T>(*object, at, 0);
}
template <class T> T tex1D(hipTextureObject_t object, float x) {
  return bitgate_host::fetched<T>(*object, x, 0);
}
template <class T> T tex2D(hipTextureObject_t object, float x, float y) {
  return bitgate_host::fetched<T>(*object, x, y);
}
template <class T> void tex1Dfetch(T* to, hipTextureObject_t object, int at) {
  *to = tex1Dfetch<T>(object, at);
}
template <class T> void tex1D(T* to, hipTextureObject_t object, float x) {
  *to = tex1D<T>(object, x);
}
template <class T> void tex2D(T* to, hipTextureObject_t object, float x, float y) {
  *to = tex2D<T>(object, x, y);
}

// The older form: a variable of the program, bound to memory or an array.
struct textureReference {
  int normalized = 0;
  hipTextureReadMode readMode = hipReadModeElementType;
  hipTextureFilterMode filterMode = hipFilterModePoint;
  hipTextureAddressMode addressMode[3] = {hipAddressModeClamp, hipAddressModeClamp, hipAddressModeClamp};
  hipChannelFormatDesc channelDesc{};
  hipTextureObject_t object = nullptr;
};
template <class T, int type = hipTextureType1D, hipTextureReadMode mode = hipReadModeElementType>
struct texture : textureReference {
  texture() { readMode = mode, channelDesc = hipCreateChannelDesc<T>(); }
};
namespace bitgate_host {
inline hipError_t bind(textureReference& reference, const hipResourceDesc& of) {
  hipTextureDesc how{};
  for (int axis = 0; axis < 3; ++axis)
    how.addressMode[axis] = reference.addressMode[axis];
  how.filterMode = reference.filterMode, how.readMode = reference.readMode;
  how.normalizedCoords = reference.normalized;
  return hipCreateTextureObject(&reference.object, &of, &how);
}
} // namespace bitgate_host
template <class T, int type, hipTextureReadMode mode>
hipError_t hipBindTexture(size_t* offset, texture<T, type, mode>& reference, const void* pointer,
                          size_t bytes = std::numeric_limits<int>::max()) {
  hipResourceDesc of{};
  of.resType = hipResourceTypeLinear;
  of.res.linear = {const_cast<void*>(pointer), reference.channelDesc, bytes};
  if (offset)
    *offset = 0;
  return bitgate_host::bind(reference, of);
}
template <class T, int type, hipTextureReadMode mode>
hipError_t hipBindTexture(size_t* offset, texture<T, type, mode>& reference, const void* pointer,
                          const hipChannelFormatDesc&, size_t bytes = std::numeric_limits<int>::max()) {
  return hipBindTexture(offset, reference, pointer, bytes);
}
template <class T, int type, hipTextureReadMode mode>
hipError_t hipBindTexture2D(size_t* offset, texture<T, type, mode>& reference, const void* pointer,
                            const hipChannelFormatDesc& desc, size_t width, size_t height, size_t pitch) {
  hipResourceDesc of{};
  of.resType = hipResourceTypePitch2D;
  of.res.pitch2D = {const_cast<void*>(pointer), desc, width, height, pitch};
  if (offset)
    *offset = 0;
  return bitgate_host::bind(reference, of);
}
template <class T, int type, hipTextureReadMode mode>
hipError_t hipBindTextureToArray(texture<T, type, mode>& reference, hipArray_const_t array) {
  hipResourceDesc of{};
  of.resType = hipResourceTypeArray;
  of.res.array.array = const_cast<hipArray_t>(array);
  return bitgate_host::bind(reference, of);
}
template <class T, int type, hipTextureReadMode mode>
hipError_t hipBindTextureToArray(texture<T, type, mode>& reference, hipArray_const_t array,
                                 const hipChannelFormatDesc&) {
  return hipBindTextureToArray(reference, array);
}
inline hipError_t hipUnbindTexture(textureReference& reference) {
  const hipError_t error = reference.object ? hipDestroyTextureObject(reference.object) : hipSuccess;
  reference.object = nullptr;
  return error;
}
namespace bitgate_host {
template <class T, hipTextureReadMode mode> struct Fetched {
  using Type = T;
};
template <class T> struct Fetched<T, hipReadModeNormalizedFloat> {
  using Type = float;
};
} // namespace bitgate_host
#define BITGATE_REFERENCE(name, parameters, arguments)                                                       \
  template <class T, int type, hipTextureReadMode mode>                                                      \
  typename bitgate_host::Fetched<T, mode>::Type name parameters {                                            \
    return name<typename bitgate_host::Fetched<T, mode>::Type> arguments;                                    \
  }
BITGATE_REFERENCE(tex1Dfetch, (const texture<T, type, mode>& from, int x), (from.object, x))
BITGATE_REFERENCE(tex1D, (const texture<T, type, mode>& from, float x), (from.object, x))
BITGATE_REFERENCE(tex2D, (const texture<T, type, mode>& from, float x, float y), (from.object, x, y))
#undef BITGATE_REFERENCE
