#pragma once
// train.on_error and val.on_error: what a run does about an error that it could go on after.

#include <cstdint>
#include <exception>
#include <string>

namespace flowtrain {

class Settings;

struct ErrorPolicy {
  enum class Action {
    stop,  ///< the run ends with it
    save,  ///< likewise, but in good order: with a snapshot, run_end and result.json
    skip,  ///< the iteration's update, or the validation, is left out
  };
  Action action = Action::stop;
  std::uint64_t most = 0;  ///< updates left out in a row; one more ends the run

  /// From [train] or [val]. Throws UserError(usage) for what cannot be where `processes` train together, as those that
  /// had no error would wait for the one that had: "save", a validation left out, and an update where dist's keys let
  /// forward talk to the others or want each to be as the one before.
  static ErrorPolicy from(const Settings& settings, const Settings& dist, int processes);
};

/// Whether other batches may do where one has failed. Not so where the host has no memory left, for errors of hooks,
/// disks and other processes, and for faults of our own.
bool is_survivable(const std::exception& error);

/// The first line of what it says; LibTorch goes on with a stack.
std::string summary_of(const std::exception_ptr& error);

}  // namespace flowtrain
