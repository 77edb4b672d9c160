#pragma once
// The two kinds of failure: the user's, and our own.

#include <stdexcept>
#include <string>

namespace flowtrain {

/// Exit codes of the program; a contract that scripts rely on.
enum class ExitCode : int {
  ok = 0,
  usage = 2,        ///< command line or configuration
  data = 3,         ///< data sets, samples, samplers
  snapshot = 4,     ///< snapshots, run folders, disks
  numerics = 5,     ///< non-finite loss or gradients
  distributed = 6,  ///< ranks, rendezvous, collectives
  bug = 70,         ///< flowtrain's own fault
};

/// An error that the user can fix: shown as one message and a hint, without a stack.
class UserError : public std::runtime_error {
 public:
  UserError(ExitCode code, const std::string& message, std::string hint = {})
      : std::runtime_error(message), code_(code), hint_(std::move(hint)) {}

  ExitCode code() const { return code_; }
  /// Returns the way out, as an imperative sentence; may be empty.
  const std::string& hint() const { return hint_; }

 private:
  ExitCode code_;
  std::string hint_;
};

/// A data set without records. For validation this only switches validation off.
class EmptyDataset : public UserError {
 public:
  explicit EmptyDataset(const std::string& message, std::string hint = {})
      : UserError(ExitCode::data, message, std::move(hint)) {}
};

/// A sample that cannot be read or decoded. The loader skips and replaces it, or stops; `data.bad` chooses. The message
/// says what is wrong ("truncated JPEG"); the loader adds which sample it was.
class SampleError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A broken invariant of ours: exit 70 and "please report".
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace flowtrain
