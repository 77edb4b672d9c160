#pragma once
// Flags that each process sends to all others with every step, so that all take the same decisions in the same step.

#include <algorithm>
#include <array>
#include <cstddef>

namespace flowtrain {

/// One flag. A new one is a line here and a line where it is set.
enum class Flag : std::size_t {
  bad_samples,      ///< number of bad samples in the iteration
  interrupted,      ///< SIGINT asked this process to end
  terminated,       ///< SIGTERM, SIGHUP or SIGUSR1 asked this process to end
  snapshot_failed,  ///< a snapshot could not be written, and that stops the run
  out_of_time,      ///< early_stop.hours are over
  stopped,          ///< a hook has asked for the end
  step_failed,      ///< an error kept this process from computing its part (train.on_error)
};
inline constexpr std::size_t all_flags = 7;

/// The flags of one process, or their sums over a group. Whole numbers below 2^24: they travel as f32.
class StepFlags {
 public:
  double& operator[](Flag flag) { return values_[static_cast<std::size_t>(flag)]; }
  double operator[](Flag flag) const { return values_[static_cast<std::size_t>(flag)]; }
  std::array<double, all_flags>& values() { return values_; }
  const std::array<double, all_flags>& values() const { return values_; }
  bool any() const {
    return std::any_of(values_.begin(), values_.end(), [](double value) { return value != 0; });
  }

 private:
  std::array<double, all_flags> values_{};
};

}  // namespace flowtrain
