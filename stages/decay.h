#pragma once
// Stepwise learning-rate decay with warm-up: a pure function of the iteration, so resume needs no state.

#include <cstdint>

namespace flowtrain {

/// How the warm-up starts. All are linear in the iteration, and the decay goes on underneath.
enum class Warmup : std::uint8_t {
  fix,        ///< from `init_lr` to the decayed rate
  factor,     ///< from `factor` × the decayed rate
  automatic,  ///< as factor, with 1 / iterations
};

/// lr(i) = base / decay_rate^((i - 1) / stepsize), iterations from 1: iteration k · stepsize still runs on the old rate.
struct Decay {
  double base = 0.1;
  std::uint64_t stepsize = 0;  ///< iterations; 0 = no decay
  double decay_rate = 10;
  std::uint64_t warmup = 0;    ///< iterations
  Warmup mode = Warmup::automatic;
  double init_lr = 0;
  double factor = 0.1;

  double at(std::uint64_t iteration) const;
};

}  // namespace flowtrain
