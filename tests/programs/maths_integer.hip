// Integer intrinsics: bits, bytes, averages, dot products.
#include "check.h"

__global__ void bits(unsigned* u, unsigned long long* l) {
  u[0] = __byte_perm(0x33221100, 0x77665544, 0x7531), u[1] = __funnelshift_l(0x80000000, 1, 1);
  u[2] = __funnelshift_r(2, 1, 1), u[3] = __funnelshift_lc(5, 6, 32), u[4] = __sad(-2, 3, 10),
  u[5] = __usad(7, 2, 1);
  u[6] = __hadd(3, 4), u[7] = __rhadd(3, 4), u[8] = __uhadd(0xFFFFFFFF, 1), u[9] = __brev(1),
  u[10] = __clz(1);
  u[11] = __popc(255), u[12] = __ffs(8), u[13] = __mulhi(1 << 30, 8), u[14] = __umulhi(1u << 31, 4);
  u[15] = __dp4a(0x01020304, 0x01010101, 5), u[16] = __vadd4(0x01FF0203, 0x01010101),
  u[17] = __vmaxu4(0x01050302, 0x04020306);
  u[18] = umin(3u, 4u) + umax(5u, 6u), u[19] = __mul24(1000, 1000), u[20] = __bitextract_u32(0xABCD, 4, 8);
  u[21] = __vabsdiffu4(0x01050302, 0x04020306), u[22] = __float_as_uint(1.0f), u[23] = __clz(0);
  l[0] = __brevll(1), l[1] = __umul64hi(1ull << 63, 4), l[2] = __popcll(~0ull), l[3] = __ffsll(1ll << 40),
  l[4] = llmax(3, -4);
}

int main() {
  unsigned* u = to_device(std::vector<unsigned>(24, 0));
  auto* l = to_device(std::vector<unsigned long long>(5, 0));
  bits<<<1, 1>>>(u, l);
  const std::vector<unsigned> expected = {
      0x77553311, 3, 0x80000001, 5,          15,         6, 3,       4,    0x80000000, 0x80000000, 31, 8, 4,
      2,          2, 15,         0x02000304, 0x04050306, 9, 1000000, 0xBC, 0x03030004, 0x3F800000, 32};
  return verdict(to_host(u, 24) == expected &&
                 to_host(l, 5) == std::vector<unsigned long long>{1ull << 63, 2, 64, 41, 3});
}
