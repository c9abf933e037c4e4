// Powers of 2 in stated steps, so that all targets get the same bits, whatever their library's exp is.
#pragma once

#include "bitgate/bits.hpp"
#include "bitgate/number.hpp"

namespace bitgate {

// 2^exponent within 1 ulp; of what is below -150 it is 0, above 128 infinity.
BITGATE_HD inline float power_of_2(float exponent) {
  if (exponent != exponent)
    return exponent;
  if (exponent < -150.0f)
    return 0.0f;
  const float most = exponent < 129.0f ? exponent : 129.0f;
  const int whole = static_cast<int>(most + (most < 0.0f ? -0.5f : 0.5f)); // the nearest integer
  const float rest = most - static_cast<float>(whole);
  // Taylor's polynomial of 2^rest, for |rest| up to a half: the first term left out is below 2^-27.
  float power = 1.52527338e-5f;
  power = fused(power, rest, 1.54035304e-4f);
  power = fused(power, rest, 1.33335581e-3f);
  power = fused(power, rest, 9.61812911e-3f);
  power = fused(power, rest, 5.55041087e-2f);
  power = fused(power, rest, 2.40226507e-1f);
  power = fused(power, rest, 6.93147181e-1f);
  power = fused(power, rest, 1.0f);
  // In two steps: 2^whole itself may be no normal number.
  const int half = whole / 2;
  const auto scale = [](int by) { return bits_as<float>(static_cast<uint32_t>(by + 127) << 23); };
  return power * scale(half) * scale(whole - half);
}

inline constexpr float log2_e = 1.44269504f;

// The logarithm to base 2 of a positive normal number, within 2 ulp of the larger of it and 1.
BITGATE_HD inline float log_2(float number) {
  const uint32_t bits = bits_as<uint32_t>(number), root = 0x3F3504F3u; // of a half
  const int whole = static_cast<int>(bits - root) >> 23;
  const float rest = bits_as<float>(bits - (static_cast<uint32_t>(whole) << 23)); // from root 1/2 to root 2
  // ln(rest) = 2 atanh(part): the first term left out is below 2^-34.
  const float part = (rest - 1.0f) / (rest + 1.0f), square = part * part;
  float series = 1.0f / 11;
  series = fused(series, square, 1.0f / 9);
  series = fused(series, square, 1.0f / 7);
  series = fused(series, square, 1.0f / 5);
  series = fused(series, square, 1.0f / 3);
  series = fused(series, square, 1.0f);
  return fused(2.0f * log2_e * part, series, static_cast<float>(whole));
}

} // namespace bitgate
