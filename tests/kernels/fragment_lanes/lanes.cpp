// What one lane gives to the matrix instructions, and which elements of the result it holds, for every
// fragment of a target.
#include <cstring>

#include "bitgate/fragment.hpp"

// Multiplies a tile of A and one of B as one lane does. The instructions' names, and their operands'
// registers one instruction after the other, are written to the last three.
template <class A, class B, int M, int N, int K>
static void multiply(int lane, const A* a, const B* b, char* names, void* a_registers, void* b_registers) {
  using Fragment = bitgate::Fragment<A, B, M, N, K, BITGATE_WAVE>;
  current_lane = lane;
  calls = {};
  typename Fragment::OperandA operand_a;
  typename Fragment::OperandB operand_b;
  typename Fragment::Accumulator accumulator;
  Fragment::load_a(a, K, operand_a);
  Fragment::load_b(b, N, operand_b);
  Fragment::clear(accumulator);
  Fragment::multiply(operand_a, operand_b, accumulator);
  std::strcpy(names, calls.names);
  std::memcpy(a_registers, calls.a, calls.bytes);
  std::memcpy(b_registers, calls.b, calls.bytes);
}

// Does a lane hold the same of operands that lie turned?
template <class A, class B, int M, int N, int K>
static bool loads_alike(int lane, const A* a, const B* b, const A* turned_a, const B* turned_b) {
  using Fragment = bitgate::Fragment<A, B, M, N, K, BITGATE_WAVE>;
  current_lane = lane;
  typename Fragment::OperandA operand_a, other_a;
  typename Fragment::OperandB operand_b, other_b;
  Fragment::load_a(a, K, operand_a);
  Fragment::load_b(b, N, operand_b);
  Fragment::load_a_turned(turned_a, M, other_a);
  Fragment::load_b_turned(turned_b, K, other_b);
  return std::memcmp(&operand_a, &other_a, sizeof other_a) == 0 &&
         std::memcmp(&operand_b, &other_b, sizeof other_b) == 0;
}

template <class Fragment, int N>
static void write(const typename Fragment::Accumulator& accumulator, typename Fragment::Sum* result) {
  using Sum = typename Fragment::Sum;
  Fragment::for_each(accumulator,
                     [result](int row, int column, Sum value) { result[row * N + column] = value; });
}

// The lane's part of the result, from its accumulator's registers.
template <class A, class B, int M, int N, int K>
static void store(int lane, const void* registers, void* result) {
  using Fragment = bitgate::Fragment<A, B, M, N, K, BITGATE_WAVE>;
  current_lane = lane;
  typename Fragment::Accumulator accumulator;
  static_assert(sizeof accumulator == M * N / BITGATE_WAVE * 4);
  std::memcpy(&accumulator, registers, sizeof accumulator);
  write<Fragment, N>(accumulator, static_cast<typename Fragment::Sum*>(result));
}

#define FRAGMENT(name, A, B, M, N, K)                                                                        \
  extern "C" void multiply_##name(int lane, const A* a, const B* b, char* names, void* a_registers,          \
                                  void* b_registers) {                                                       \
    multiply<A, B, M, N, K>(lane, a, b, names, a_registers, b_registers);                                    \
  }                                                                                                          \
  extern "C" void store_##name(int lane, const void* registers, void* result) {                              \
    store<A, B, M, N, K>(lane, registers, result);                                                           \
  }                                                                                                          \
  extern "C" const int64_t exact_range_##name = bitgate::Fragment<A, B, M, N, K, BITGATE_WAVE>::exact_range;
#define FRAGMENT_16(name, A, B, M, N, K)                                                                     \
  FRAGMENT(name, A, B, M, N, K)                                                                              \
  extern "C" bool loads_alike_##name(int lane, const A* a, const B* b, const A* turned_a,                    \
                                     const B* turned_b) {                                                    \
    return loads_alike<A, B, M, N, K>(lane, a, b, turned_a, turned_b);                                       \
  }
#define FRAGMENTS_F8(flavour, K)                                                                             \
  FRAGMENT(f8##flavour##_f8##flavour, f8##flavour, f8##flavour, 16, 16, K)                                   \
  FRAGMENT(f8##flavour##_bf8##flavour, f8##flavour, bf8##flavour, 16, 16, K)                                 \
  FRAGMENT(bf8##flavour##_f8##flavour, bf8##flavour, f8##flavour, 16, 16, K)                                 \
  FRAGMENT(bf8##flavour##_bf8##flavour, bf8##flavour, bf8##flavour, 16, 16, K)

using namespace bitgate;
using f32 = float;
using i8 = int8_t;
FRAGMENT_16(f16_f16, f16, f16, 16, 16, 16)
FRAGMENT_16(bf16_bf16, bf16, bf16, 16, 16, 16)
#if BITGATE_WAVE == 64
FRAGMENT_16(f16_f16_wide, f16, f16, 32, 32, 8)
FRAGMENT_16(bf16_bf16_wide, bf16, bf16, 32, 32, 8)
FRAGMENT(f32_f32, f32, f32, 16, 16, 4)
FRAGMENT(i8_i8, i8, i8, 16, 16, 32)
FRAGMENTS_F8(ocp, 32)
FRAGMENTS_F8(fnuz, 32)
#else
FRAGMENT(i8_i8, i8, i8, 16, 16, 16)
FRAGMENTS_F8(ocp, 16)
FRAGMENTS_F8(fnuz, 16)

// A fragment that needs no instruction, from the operands to the result.
extern "C" void sum_f32_f32(int lane, const float* a, const float* b, float* result) {
  using Fragment = bitgate::Fragment<float, float, 16, 16, 4, 32>;
  current_lane = lane;
  Fragment::OperandA operand_a;
  Fragment::OperandB operand_b;
  Fragment::Accumulator accumulator;
  Fragment::load_a(a, 4, operand_a);
  Fragment::load_b(b, 16, operand_b);
  Fragment::clear(accumulator);
  Fragment::multiply(operand_a, operand_b, accumulator);
  write<Fragment, 16>(accumulator, result);
}
#endif
