#pragma once
// The logger of val.pictures: writes the samples of each validation, on a thread of its own.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>

#include "pipeline/base/telemetry/task_thread.h"
#include "pipeline/engine/train/logger.h"
#include "stages/core/every.h"

namespace flowtrain {

/// The place of pictures, and the rule for keeping them.
struct PicturePolicy {
  std::filesystem::path folder = {};  ///< runs/x/pictures; empty: pictures are not written
  std::size_t keep_last = 3;          ///< newest validations whose pictures stay; at least 1
  Every keep_every = {};              ///< iterations that are due by this stay for good
};

/// Writes pictures, then removes old ones by the policy. The first failure is a warning. One thread calls.
class PictureLog : public Logger {
 public:
  /// The number of validations that may wait. Training waits for a place: the files must not depend on the disk's
  /// speed.
  static constexpr std::size_t depth = 4;

  explicit PictureLog(PicturePolicy policy);

  void step(const StepEvent&, const Scalars&) override {}
  void validation(const ValidationEvent& event) override;
  std::function<void()> wait_for_written() override { return tasks_.wait_for_added(); }
  void finish() override { tasks_.finish(); }

 private:
  void write(const ValidationEvent& event);
  void warn(const std::exception& error) const;

  const PicturePolicy policy_;
  std::uint64_t iteration_ = 0;  // the validation that the thread writes
  TaskThread tasks_;             // last, because its tasks use all of the above
};

}  // namespace flowtrain
