// Device functions that only whole programs have asked for; kernels of ours need none of them.
#pragma once

#include <climits>
#include <cmath>
#include <limits>
#include <type_traits>

#include "hip/host_detail/atomic.hpp"
#include "hip/host_detail/directed.hpp"
#include "hip/host_detail/math.hpp"
#include "hip/host_detail/vector_types.hpp"
#include "hip/host_detail/wave.hpp"

template <bitgate_host::Vector V> constexpr V operator-(const V& a) {
  return bitgate_host::each(a, a, [](auto x, auto) { return -x; });
}

// Functions of float and double whose names differ in an f alone.
#define BITGATE_BOTH(name, body)                                                                             \
  inline double name(double x) {                                                                             \
    using T = double;                                                                                        \
    return body;                                                                                             \
  }                                                                                                          \
  inline float name##f(float x) {                                                                            \
    using T = float;                                                                                         \
    return body;                                                                                             \
  }

namespace bitgate_host {
template <class T> inline constexpr T pi = static_cast<T>(3.141592653589793238462643383279502884L);

// The argument is reduced first: exact at multiples of a half.
template <class T> T sin_pi(T x) {
  T r = std::fmod(x, T{2});
  if (r > 1)
    r -= 2;
  else if (r < -1)
    r += 2;
  if (r > T(0.5))
    r = 1 - r;
  else if (r < T(-0.5))
    r = -1 - r;
  return std::abs(r) <= T(0.25) ? std::sin(pi<T> * r)
                                : std::copysign(std::cos(pi<T> * (T(0.5) - std::abs(r))), r);
}
template <class T> T cos_pi(T x) {
  const T r = std::fabs(std::fmod(x, T{2}));
  return sin_pi(T(0.5) - (r > 1 ? 2 - r : r));
}

// Newton's method on erf, from an estimate by logarithms.
template <class T> T inverse_erf(T y) {
  if (std::abs(y) >= 1)
    return std::abs(y) > 1 ? std::numeric_limits<T>::quiet_NaN() : y * std::numeric_limits<T>::infinity();
  const double v = y, l = std::log1p(-v * v), a = 0.147, t = 2 / (3.14159265358979323846 * a) + l / 2;
  double x = std::copysign(std::sqrt(std::sqrt(t * t - l / a) - t), v);
  for (int step = 0; step < 4 && x != 0; ++step)
    x -= (std::erf(x) - v) / (1.1283791670955126 * std::exp(-x * x));
  return static_cast<T>(x);
}
template <class T> T inverse_erfc(T y) {
  if (y > T(0.1) || y <= 0)
    return inverse_erf(1 - y);
  double x = std::sqrt(-std::log(static_cast<double>(y)));
  for (int step = 0; step < 40; ++step)
    x += (std::erfc(x) - y) / (1.1283791670955126 * std::exp(-x * x));
  return static_cast<T>(x);
}
// Where exp(x * x) overflows: the first terms of the asymptotic series.
template <class T> T scaled_erfc(T x) {
  const long double wide = x, step = -1 / (2 * wide * wide);
  if (x < 25)
    return static_cast<T>(std::exp(wide * wide) * std::erfc(wide));
  long double term = 1, sum = 1;
  for (int k = 1; k < 12; ++k)
    sum += term *= step * (2 * k - 1);
  return static_cast<T>(sum / (wide * 1.7724538509055160273L));
}
template <class T> T bessel_i(int order, T x) {
  double term = order ? x / 2.0 : 1.0, sum = term;
  for (int k = 1; k < 500 && term > sum * 1e-18; ++k)
    sum += term *= static_cast<double>(x) * x / 4 / (k * (k + static_cast<double>(order)));
  return static_cast<T>(sum);
}
template <class T, class... R> T length(T first, R... rest) {
  long double sum = static_cast<long double>(first) * first;
  ((sum += static_cast<long double>(rest) * rest), ...);
  return static_cast<T>(std::sqrt(sum));
}
template <class T> T length_of(int count, const T* of) {
  long double sum = 0;
  for (int i = 0; i < count; ++i)
    sum += static_cast<long double>(of[i]) * of[i];
  return static_cast<T>(std::sqrt(sum));
}
} // namespace bitgate_host

BITGATE_BOTH(sinpi, bitgate_host::sin_pi<T>(x))
BITGATE_BOTH(cospi, bitgate_host::cos_pi<T>(x))
BITGATE_BOTH(rcbrt, 1 / std::cbrt(x))
BITGATE_BOTH(erfinv, bitgate_host::inverse_erf<T>(x))
BITGATE_BOTH(erfcinv, bitgate_host::inverse_erfc<T>(x))
BITGATE_BOTH(erfcx, bitgate_host::scaled_erfc<T>(x))
BITGATE_BOTH(normcdf, static_cast<T>(0.5 * std::erfc(-static_cast<double>(x) * 0.70710678118654752)))
BITGATE_BOTH(normcdfinv, -static_cast<T>(1.4142135623730951 * bitgate_host::inverse_erfc<double>(2.0 * x)))
BITGATE_BOTH(cyl_bessel_i0, bitgate_host::bessel_i<T>(0, x))
BITGATE_BOTH(cyl_bessel_i1, bitgate_host::bessel_i<T>(1, x))
#undef BITGATE_BOTH

#define BITGATE_LENGTHS(T, f)                                                                                \
  inline void sincospi##f(T x, T* sine, T* cosine) {                                                         \
    *sine = bitgate_host::sin_pi(x), *cosine = bitgate_host::cos_pi(x);                                      \
  }                                                                                                          \
  inline T rhypot##f(T x, T y) {                                                                             \
    return 1 / bitgate_host::length(x, y);                                                                   \
  }                                                                                                          \
  inline T norm3d##f(T x, T y, T z) {                                                                        \
    return bitgate_host::length(x, y, z);                                                                    \
  }                                                                                                          \
  inline T rnorm3d##f(T x, T y, T z) {                                                                       \
    return 1 / bitgate_host::length(x, y, z);                                                                \
  }                                                                                                          \
  inline T norm4d##f(T x, T y, T z, T w) {                                                                   \
    return bitgate_host::length(x, y, z, w);                                                                 \
  }                                                                                                          \
  inline T rnorm4d##f(T x, T y, T z, T w) {                                                                  \
    return 1 / bitgate_host::length(x, y, z, w);                                                             \
  }                                                                                                          \
  inline T norm##f(int count, const T* of) {                                                                 \
    return bitgate_host::length_of(count, of);                                                               \
  }                                                                                                          \
  inline T rnorm##f(int count, const T* of) {                                                                \
    return 1 / bitgate_host::length_of(count, of);                                                           \
  }
BITGATE_LENGTHS(float, f)
BITGATE_LENGTHS(double, )
#undef BITGATE_LENGTHS

inline float fdividef(float a, float b) {
  return a / b;
}
inline float __tanf(float a) {
  return std::tan(a);
}
inline float __log2f(float a) {
  return std::log2(a);
}
inline float __log10f(float a) {
  return std::log10(a);
}
inline float __exp10f(float a) {
  return static_cast<float>(std::pow(10.0, static_cast<double>(a)));
}
inline float __exp2f(float a) {
  return std::exp2(a);
}
inline void __sincosf(float a, float* sine, float* cosine) {
  *sine = std::sin(a), *cosine = std::cos(a);
}

// Integers
inline int __clz(unsigned x) {
  return std::countl_zero(x);
}
inline unsigned umin(unsigned a, unsigned b) {
  return a < b ? a : b;
}
inline unsigned umax(unsigned a, unsigned b) {
  return a < b ? b : a;
}
inline long long llmin(long long a, long long b) {
  return a < b ? a : b;
}
inline long long llmax(long long a, long long b) {
  return a < b ? b : a;
}
inline unsigned long long ullmin(unsigned long long a, unsigned long long b) {
  return a < b ? a : b;
}
inline unsigned long long ullmax(unsigned long long a, unsigned long long b) {
  return a < b ? b : a;
}
inline int __hadd(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) + b) >> 1);
}
inline int __rhadd(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1);
}
inline unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b) >> 1);
}
inline unsigned __urhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}
inline unsigned __sad(int a, int b, unsigned c) {
  return c + static_cast<unsigned>(a < b ? static_cast<long long>(b) - a : static_cast<long long>(a) - b);
}
inline unsigned __usad(unsigned a, unsigned b, unsigned c) {
  return c + (a < b ? b - a : a - b);
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
  unsigned result = 0;
  for (unsigned byte = 0; byte < 4; ++byte)
    result |= static_cast<unsigned>(both >> (selector >> 4 * byte & 7) * 8 & 0xFF) << 8 * byte;
  return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) << (by & 31) >> 32);
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned by) {
  return by >= 32 ? low : __funnelshift_l(low, high, by);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (by & 31));
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned by) {
  return by >= 32 ? high : __funnelshift_r(low, high, by);
}
inline unsigned __bitextract_u32(unsigned from, unsigned at, unsigned width) {
  return from >> (at & 31) & (width >= 32 ? ~0u : (1u << width) - 1);
}
namespace bitgate_host {
template <class Byte> int dot4(unsigned a, unsigned b, int sum) {
  for (int shift = 0; shift < 32; shift += 8)
    sum += static_cast<Byte>(a >> shift) * static_cast<Byte>(b >> shift);
  return sum;
}
} // namespace bitgate_host
inline int __dp4a(int a, int b, int c) {
  return bitgate_host::dot4<int8_t>(static_cast<unsigned>(a), static_cast<unsigned>(b), c);
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  return static_cast<unsigned>(bitgate_host::dot4<uint8_t>(a, b, static_cast<int>(c)));
}

// Loads and stores with a hint about caches, which a CPU needs none of.
#define BITGATE_LOAD(name)                                                                                   \
  template <class T> std::remove_cv_t<T> name(const T* address) {                                            \
    return *address;                                                                                         \
  }
BITGATE_LOAD(__ldca)
BITGATE_LOAD(__ldcg)
BITGATE_LOAD(__ldcs)
BITGATE_LOAD(__ldlu)
BITGATE_LOAD(__ldcv)
#undef BITGATE_LOAD
#define BITGATE_STORE(name)                                                                                  \
  template <class T> void name(T* address, std::type_identity_t<T> value) {                                  \
    *address = value;                                                                                        \
  }
BITGATE_STORE(__stwb)
BITGATE_STORE(__stcg)
BITGATE_STORE(__stcs)
BITGATE_STORE(__stwt)
#undef BITGATE_STORE
#if !defined(__clang__)
#define __builtin_nontemporal_load(address) (*(address))
#define __builtin_nontemporal_store(value, address) (*(address) = (value))
#endif

// Waves
namespace bitgate_host {
template <class T> const WaveSlots& handed_in(T value, unsigned line) {
  uint64_t bits = 0;
  static_assert(sizeof value <= sizeof bits, "a wave exchanges values of at most 8 bytes");
  std::memcpy(&bits, &value, sizeof value);
  return *__bitgate_wave_exchange(wave_site(WaveOp::Shuffle, line), bits);
}
template <class T, class Op> T reduced(unsigned long long mask, T value, Op op, unsigned line) {
  const WaveSlots& slots = handed_in(value, line);
  T result = value;
  bool first = true;
  for (int lane = 0; lane < 64; ++lane) {
    if (!(slots.active & mask) || !((slots.active & mask) >> lane & 1))
      continue;
    T other;
    std::memcpy(&other, &slots.value[lane], sizeof other);
    result = std::exchange(first, false) ? other : op(result, other);
  }
  return result;
}
} // namespace bitgate_host
#define BITGATE_REDUCE(name, expression)                                                                     \
  template <class M, class T> T name(M mask, T value, unsigned line = __builtin_LINE()) {                    \
    return bitgate_host::reduced(                                                                            \
        static_cast<unsigned long long>(mask), value, [](T a, T b) { return static_cast<T>(expression); },   \
        line);                                                                                               \
  }
BITGATE_REDUCE(__reduce_add_sync, a + b)
BITGATE_REDUCE(__reduce_min_sync, b < a ? b : a)
BITGATE_REDUCE(__reduce_max_sync, a < b ? b : a)
BITGATE_REDUCE(__reduce_and_sync, a& b)
BITGATE_REDUCE(__reduce_or_sync, a | b)
BITGATE_REDUCE(__reduce_xor_sync, a ^ b)
#undef BITGATE_REDUCE
template <class T> unsigned long long __match_any(T value, unsigned line = __builtin_LINE()) {
  const bitgate_host::WaveSlots& slots = bitgate_host::handed_in(value, line);
  unsigned long long same = 0;
  for (int lane = 0; lane < 64; ++lane)
    same |= (slots.active >> lane & (std::memcmp(&slots.value[lane], &value, sizeof value) == 0)) << lane;
  return same;
}
template <class M, class T>
unsigned long long __match_any_sync(M mask, T value, unsigned line = __builtin_LINE()) {
  return __match_any(value, line) & static_cast<unsigned long long>(mask);
}
template <class T> unsigned long long __match_all(T value, int* all, unsigned line = __builtin_LINE()) {
  const bitgate_host::WaveSlots& slots = bitgate_host::handed_in(value, line);
  *all = 1;
  for (int lane = 0; lane < 64; ++lane)
    if (slots.active >> lane & 1 && std::memcmp(&slots.value[lane], &value, sizeof value) != 0)
      *all = 0;
  return *all ? slots.active : 0;
}
template <class M, class T>
unsigned long long __match_all_sync(M, T value, int* all, unsigned line = __builtin_LINE()) {
  return __match_all(value, all, line);
}
template <class T> T __builtin_amdgcn_readfirstlane(T value, unsigned line = __builtin_LINE()) {
  const bitgate_host::WaveSlots& slots = bitgate_host::handed_in(value, line);
  std::memcpy(&value, &slots.value[std::countr_zero(slots.active)], sizeof value);
  return value;
}
inline unsigned __builtin_amdgcn_mbcnt_lo(unsigned mask, unsigned base) {
  const unsigned lane = bitgate_host::lane_id();
  return base + static_cast<unsigned>(std::popcount(lane >= 32 ? mask : mask & ((1u << lane) - 1)));
}
inline unsigned __builtin_amdgcn_mbcnt_hi(unsigned mask, unsigned base) {
  const unsigned lane = bitgate_host::lane_id();
  return lane < 32 ? base : base + static_cast<unsigned>(std::popcount(mask & ((1u << (lane - 32)) - 1)));
}
#define __builtin_amdgcn_s_barrier() __syncthreads()
#define __builtin_amdgcn_wave_barrier() __syncwarp()
#define __builtin_amdgcn_wavefrontsize() static_cast<unsigned>(warpSize)
#define __builtin_amdgcn_s_sleep(cycles) static_cast<void>(cycles)
inline void __nanosleep(unsigned) {}
inline void __prof_trigger(int) {}

// Atomics
template <bitgate_host::AtomicInteger T>
T atomicCAS_system(T* address, bitgate_host::Value<T> compare, bitgate_host::Value<T> value) {
  return atomicCAS(address, compare, value);
}
template <bitgate_host::AtomicInteger T>
T atomicCAS_block(T* address, bitgate_host::Value<T> compare, bitgate_host::Value<T> value) {
  const bitgate_host::AtomicScope scope(__HIP_MEMORY_SCOPE_WORKGROUP);
  return atomicCAS(address, compare, value);
}
inline unsigned short atomicCAS(unsigned short* address, unsigned short compare, unsigned short value) {
  __atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return compare;
}
template <class T> void atomicAddNoRet(T* address, bitgate_host::Value<T> value) {
  (void)atomicAdd(address, value);
}

inline bool operator!=(const dim3& a, const dim3& b) {
  return a.x != b.x || a.y != b.y || a.z != b.z;
}
inline bool operator==(const dim3& a, const dim3& b) {
  return !(a != b);
}
