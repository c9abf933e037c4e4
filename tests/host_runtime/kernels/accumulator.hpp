// One kernel template, put into two libraries: each must have its own LDS.
#pragma once

#include <hip/hip_runtime.h>

template <class T> __global__ void leave_behind(T* out, T value) {
  __shared__ T kept[4];
  struct Kept {
    T values[4];
  };
  BITGATE_LDS(Kept, lds);
  out[0] = kept[0], out[1] = lds.values[0];
  kept[0] = lds.values[0] = value;
}

template <class T> __global__ void address(unsigned long long* out, T) {
  __shared__ T kept[4];
  kept[0] = T{};
  out[0] = reinterpret_cast<unsigned long long>(&kept[0]);
}
