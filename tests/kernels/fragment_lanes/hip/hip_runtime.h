// Stands in for HIP's header so that fragment headers for AMD GPUs compile for the CPU, one lane at a time.
// The matrix instructions write down their name and what the lane's registers hold: the test does their work,
// by the tables of the instruction set.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define __HIP_PLATFORM_AMD__ 1
#define __HIP_DEVICE_COMPILE__ 1
#define __host__
#define __device__
#define __forceinline__ inline

inline int current_lane = 0;
inline unsigned __lane_id() {
  return static_cast<unsigned>(current_lane);
}

inline void __syncthreads() {} // of no wave alone

// What the instructions of one lane were given, one after the other: names, a line each, and registers.
struct Calls {
  char names[1000];
  unsigned char a[256], b[256];
  size_t named, bytes;
};
inline Calls calls;

template <class A, class B, class C> C called(const char* name, A a, B b, C c) {
  static_assert(sizeof a == sizeof b);
  std::strcpy(calls.names + calls.named, name);
  calls.named += std::strlen(name);
  calls.names[calls.named++] = '\n';
  std::memcpy(calls.a + calls.bytes, &a, sizeof a);
  std::memcpy(calls.b + calls.bytes, &b, sizeof b);
  calls.bytes += sizeof a;
  return c;
}
template <class A, class B, class C>
C called(const char* name, bool a_signed, A a, bool b_signed, B b, C c, bool clamp) {
  called(a_signed && b_signed && !clamp ? name : "a wrong kind of i8", a, b, c);
  return c;
}

#define __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, ...) called("f32_32x32x8f16", a, b, c)
#define __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, ...) called("f32_16x16x16f16", a, b, c)
#define __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, c, ...) called("f32_32x32x8bf16_1k", a, b, c)
#define __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, ...) called("f32_16x16x16bf16_1k", a, b, c)
#define __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, ...) called("f32_16x16x4f32", a, b, c)
#define __builtin_amdgcn_mfma_i32_16x16x16i8(a, b, c, ...) called("i32_16x16x16i8", a, b, c)
#define __builtin_amdgcn_mfma_i32_16x16x32_i8(a, b, c, ...) called("i32_16x16x32_i8", a, b, c)
#define __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a, b, c, ...) called("f32_16x16x32_fp8_fp8", a, b, c)
#define __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(a, b, c, ...) called("f32_16x16x32_fp8_bf8", a, b, c)
#define __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8(a, b, c, ...) called("f32_16x16x32_bf8_fp8", a, b, c)
#define __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8(a, b, c, ...) called("f32_16x16x32_bf8_bf8", a, b, c)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(...) called("f32_16x16x16_f16", __VA_ARGS__)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(...) called("f32_16x16x16_bf16", __VA_ARGS__)
#define __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(...) called("i32_16x16x16_iu8", __VA_ARGS__)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(...) called("f32_16x16x16_f16", __VA_ARGS__)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(...) called("f32_16x16x16_bf16", __VA_ARGS__)
#define __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(...) called("i32_16x16x16_iu8", __VA_ARGS__)
#define __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(...) called("f32_16x16x16_fp8_fp8", __VA_ARGS__)
#define __builtin_amdgcn_wmma_f32_16x16x16_fp8_bf8_w32_gfx12(...) called("f32_16x16x16_fp8_bf8", __VA_ARGS__)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf8_fp8_w32_gfx12(...) called("f32_16x16x16_bf8_fp8", __VA_ARGS__)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf8_bf8_w32_gfx12(...) called("f32_16x16x16_bf8_bf8", __VA_ARGS__)
