// Fragments of the host, a whole wave at once. Pitches are longer than rows, and tiles start anywhere.
#include "bitgate/fragment.hpp"

template <class A, class B, int M, int N, int K, int Wave>
static void multiply(const A* a, int pitch_a, const B* b, int pitch_b, void* result) {
  using Fragment = bitgate::Fragment<A, B, M, N, K, Wave>;
  using Sum = typename Fragment::Sum;
  auto* sums = static_cast<Sum*>(result);
  typename Fragment::OperandA operand_a;
  typename Fragment::OperandB operand_b;
  typename Fragment::Accumulator accumulator;
  Fragment::load_a(a, pitch_a, operand_a);
  Fragment::load_b(b, pitch_b, operand_b);
  Fragment::clear(accumulator);
  Fragment::multiply(operand_a, operand_b, accumulator);
  Fragment::for_each(accumulator, [sums](int row, int column, Sum value) { sums[row * N + column] = value; });
}

#define FRAGMENT(name, A, B, K, Wave)                                                                        \
  extern "C" void name(const A* a, int pitch_a, const B* b, int pitch_b, void* result) {                     \
    multiply<A, B, 16, 16, K, Wave>(a, pitch_a, b, pitch_b, result);                                         \
  }
#define FRAGMENTS_8(Wave, K)                                                                                 \
  FRAGMENT(i8_i8_##Wave, int8_t, int8_t, K, Wave)                                                            \
  FRAGMENT(f8ocp_f8ocp_##Wave, f8ocp, f8ocp, K, Wave)                                                        \
  FRAGMENT(f8ocp_bf8ocp_##Wave, f8ocp, bf8ocp, K, Wave)                                                      \
  FRAGMENT(bf8ocp_f8ocp_##Wave, bf8ocp, f8ocp, K, Wave)                                                      \
  FRAGMENT(bf8ocp_bf8ocp_##Wave, bf8ocp, bf8ocp, K, Wave)                                                    \
  FRAGMENT(f8fnuz_f8fnuz_##Wave, f8fnuz, f8fnuz, K, Wave)                                                    \
  FRAGMENT(f8fnuz_bf8fnuz_##Wave, f8fnuz, bf8fnuz, K, Wave)                                                  \
  FRAGMENT(bf8fnuz_f8fnuz_##Wave, bf8fnuz, f8fnuz, K, Wave)                                                  \
  FRAGMENT(bf8fnuz_bf8fnuz_##Wave, bf8fnuz, bf8fnuz, K, Wave)

using namespace bitgate;
FRAGMENTS_8(64, 32)
FRAGMENTS_8(32, 16)
