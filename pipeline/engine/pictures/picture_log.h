#pragma once
// The logger of val.pictures: writes the samples of each validation, on a thread of its own.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>

#include "pipeline/engine/train/logger.h"
#include "stages/core/bounded_queue.h"
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
  ~PictureLog() override { finish(); }
  PictureLog(const PictureLog&) = delete;

  void step(const StepEvent&, const Scalars&) override {}
  void validation(const ValidationEvent& event) override;
  std::function<void()> wait_for_written() override;
  void finish() override;

 private:
  using Count = std::atomic<std::uint64_t>;

  void loop();
  void write(const ValidationEvent& event);

  const PicturePolicy policy_;
  bool warned_ = false;                                          // used by the thread
  std::uint64_t queued_ = 0;                                     // validations, counted by the calling thread
  std::shared_ptr<Count> written_ = std::make_shared<Count>(0);  // number of those that are done
  BoundedQueue<ValidationEvent*> queue_{depth};                  // owns the events that it points at
  std::jthread thread_;                                          // declared last: it uses all of the above
};

}  // namespace flowtrain
