#pragma once
// The random decisions of the CornerNet samplers, asked for one by one in the order of the reference implementation
// (princeton-vl/CornerNet-Lite), so that its samples can be rebuilt from a list of its draws.

#include <array>
#include <cstdint>
#include <span>

#include "sampling/core/random.h"

namespace flowtrain {

/// The steps of the colour jitter.
enum class JitterStep : std::uint8_t { brightness, contrast, saturation };
inline constexpr std::array all_jitter_steps{JitterStep::brightness, JitterStep::contrast, JitterStep::saturation};

/// Where decisions come from.
class DrawSource {
 public:
  virtual ~DrawSource() = default;

  /// One of the scales.
  virtual double choice(std::span<const double> scales) = 0;
  /// A whole number in [low, high); low < high.
  virtual std::int64_t integer(std::int64_t low, std::int64_t high) = 0;
  /// In [0, 1).
  virtual double uniform() = 0;
  /// An order of the three steps.
  virtual std::array<JitterStep, 3> shuffle() = 0;
  /// How far a step's factor is from 1: in ±0.4.
  virtual double jitter() = 0;
  /// Three normal numbers of deviation 0.1.
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

/// No chance at all, for validation: scale 1, the middle of every range, no mirroring, colours as they are.
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
