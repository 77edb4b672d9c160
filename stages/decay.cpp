#include "stages/decay.h"

#include <cmath>

namespace flowtrain {

double Decay::at(std::uint64_t iteration) const {
  const double steps = stepsize ? static_cast<double>((iteration - 1) / stepsize) : 0;
  const double decayed = base / std::pow(decay_rate, steps);
  if (iteration > warmup) return decayed;
  const double done = static_cast<double>(iteration - 1) / static_cast<double>(warmup);
  const double start = mode == Warmup::fix      ? init_lr
                       : mode == Warmup::factor ? factor * decayed
                                                : decayed / static_cast<double>(warmup);
  return start + (decayed - start) * done;
}

}  // namespace flowtrain
