#pragma once
// The random decisions of the CornerNet samplers, requested one by one in the order of the reference implementation
// (princeton-vl/CornerNet-Lite), so that its samples can be rebuilt from a list of its draws.

#include <array>
#include <cstdint>
#include <span>

#include "sampling/core/random.h"

namespace flowtrain {

/// The steps of the colour jitter.
enum class JitterStep : std::uint8_t { brightness, contrast, saturation };
inline constexpr std::array all_jitter_steps{JitterStep::brightness, JitterStep::contrast, JitterStep::saturation};

/// A source of decisions.
class DrawSource {
 public:
  virtual ~DrawSource() = default;

  /// Returns one of the scales.
  virtual double choice(std::span<const double> scales) = 0;
  /// Returns an integer in [low, high); low < high.
  virtual std::int64_t integer(std::int64_t low, std::int64_t high) = 0;
  /// Returns a number in [0, 1).
  virtual double uniform() = 0;
  /// Returns an order of the three steps.
  virtual std::array<JitterStep, 3> shuffle() = 0;
  /// Returns how far a step's factor is from 1: in ±0.4.
  virtual double jitter() = 0;
  /// Returns three normal numbers of deviation 0.1.
  virtual std::array<double, 3> lighting() = 0;
};

/// Draws from a sample's own stream.
class StreamDraws final : public DrawSource {
 public:
  explicit StreamDraws(Stream& random) : random_(random) {}

  double choice(std::span<const double> scales) override;
  std::int64_t integer(std::int64_t low, std::int64_t high) override;
  double uniform() override;
  std::array<JitterStep, 3> shuffle() override;
  double jitter() override;
  std::array<double, 3> lighting() override;

 private:
  Stream& random_;
};

/// Draws without chance, for validation: scale 1, the middle of every range, no mirroring, unchanged colours.
class CentredDraws final : public DrawSource {
 public:
  double choice(std::span<const double>) override { return 1; }
  std::int64_t integer(std::int64_t low, std::int64_t high) override { return low + (high - low) / 2; }
  double uniform() override { return 0; }
  std::array<JitterStep, 3> shuffle() override { return all_jitter_steps; }
  double jitter() override { return 0; }
  std::array<double, 3> lighting() override { return {}; }
};

}  // namespace flowtrain
