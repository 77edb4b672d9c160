#pragma once
// What each process tells all others with every step, so that all decide the same in the same one.

#include <algorithm>
#include <array>
#include <cstddef>

namespace flowtrain {

/// One thing to tell. A new flag is one line here, and one where it is set.
enum class Flag : std::size_t {
  bad_samples,      ///< how many were found in the iteration
  interrupted,      ///< SIGINT asked this process to end
  terminated,       ///< SIGTERM, SIGHUP or SIGUSR1 did
  snapshot_failed,  ///< a snapshot could not be written, and the run is to stop then
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
