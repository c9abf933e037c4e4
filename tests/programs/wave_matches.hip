// Lanes that find their like, and reductions of a mask.
#include "check.h"

__global__ void lanes(int* out) {
  const int lane = threadIdx.x % warpSize;
  const unsigned long long all = warpSize == 64 ? ~0ull : 0xFFFFFFFFull;
  const auto same = __match_any_sync(all, lane % 4);
  int every = 0, none = 1;
  const auto full = __match_all_sync(all, 7, &every);
  __match_all_sync(all, lane, &none);
  const int sum = __reduce_add_sync(all, lane), most = __reduce_max_sync(all, lane);
  const unsigned any = __reduce_or_sync(all, 1u << lane % 3);
  const int first = __builtin_amdgcn_readfirstlane(lane + 5);
  const unsigned below = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
  out[threadIdx.x] = __popcll(same) == warpSize / 4 && (same >> lane & 1) && every && full == all && !none &&
                     sum == warpSize * (warpSize - 1) / 2 && most == warpSize - 1 && any == 7 && first == 5 &&
                     (int)below == lane;
}

int main() {
  int* out = to_device(std::vector<int>(128, 0));
  lanes<<<1, 128>>>(out);
  return verdict(to_host(out, 128) == std::vector<int>(128, 1));
}
