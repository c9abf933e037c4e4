// What one lane loads of each operand, and which elements of the result it holds, for every fragment of a
// target.
#include <cstring>

#include "bitgate/fragment.hpp"

// The lane's operands as they lie in registers; returns how many elements each has.
template <class T, int M, int N, int K, int Wave>
static int load(int lane, const T* a, const T* b, T* a_registers, T* b_registers) {
  using Fragment = bitgate::Fragment<T, T, M, N, K, Wave>;
  current_lane = lane;
  typename Fragment::OperandA operand_a;
  typename Fragment::OperandB operand_b;
  Fragment::load_a(a, K, operand_a);
  Fragment::load_b(b, N, operand_b);
  static_assert(sizeof operand_a == sizeof operand_b);
  std::memcpy(a_registers, &operand_a, sizeof operand_a);
  std::memcpy(b_registers, &operand_b, sizeof operand_b);
  return sizeof operand_a / sizeof(T);
}

// The lane's part of the result, from its accumulator's registers.
template <class T, int M, int N, int K, int Wave>
static void store(int lane, const float* registers, float* result) {
  using Fragment = bitgate::Fragment<T, T, M, N, K, Wave>;
  current_lane = lane;
  typename Fragment::Accumulator accumulator;
  static_assert(sizeof accumulator == M * N / Wave * sizeof(float));
  std::memcpy(&accumulator, registers, sizeof accumulator);
  Fragment::for_each(accumulator,
                     [result](int row, int column, float value) { result[row * N + column] = value; });
}

// A fragment that needs no instruction, from the operands to the result.
template <class T, int M, int N, int K, int Wave>
static void multiply(int lane, const T* a, const T* b, float* result) {
  using Fragment = bitgate::Fragment<T, T, M, N, K, Wave>;
  current_lane = lane;
  typename Fragment::OperandA operand_a;
  typename Fragment::OperandB operand_b;
  typename Fragment::Accumulator accumulator;
  Fragment::load_a(a, K, operand_a);
  Fragment::load_b(b, N, operand_b);
  Fragment::clear(accumulator);
  Fragment::multiply(operand_a, operand_b, accumulator);
  Fragment::for_each(accumulator,
                     [result](int row, int column, float value) { result[row * N + column] = value; });
}

#define FRAGMENT(name, T, M, N, K, Wave)                                                                     \
  extern "C" int load_##name(int lane, const T* a, const T* b, T* a_registers, T* b_registers) {             \
    return load<T, M, N, K, Wave>(lane, a, b, a_registers, b_registers);                                     \
  }                                                                                                          \
  extern "C" void store_##name(int lane, const float* registers, float* result) {                            \
    store<T, M, N, K, Wave>(lane, registers, result);                                                        \
  }

using bitgate::bf16;
using bitgate::f16;
FRAGMENT(f16_16, f16, 16, 16, 16, BITGATE_WAVE)
FRAGMENT(bf16_16, bf16, 16, 16, 16, BITGATE_WAVE)
#if BITGATE_WAVE == 64
FRAGMENT(f16_32, f16, 32, 32, 8, 64)
FRAGMENT(bf16_32, bf16, 32, 32, 8, 64)
FRAGMENT(f32_16, float, 16, 16, 4, 64)
#else
extern "C" void multiply_f32_16(int lane, const float* a, const float* b, float* result) {
  multiply<float, 16, 16, 4, 32>(lane, a, b, result);
}
#endif
