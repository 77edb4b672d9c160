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

/// Where pictures are written, and which ones stay.
struct PicturePolicy {
  std::filesystem::path folder = {};  ///< runs/x/pictures; empty: nothing is written
  std::size_t keep_last = 3;          ///< newest validations whose pictures stay; at least 1
  Every keep_every = {};              ///< iterations that are due by this stay for good
};

/// Writes pictures, then removes old ones by the policy. What cannot be written is one warning, and the run goes on.
/// One thread calls.
class PictureLog : public Logger {
 public:
  /// Validations whose pictures may wait to be written. Training waits for a place, as files are to be the same however
  /// slow the disk is.
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
  bool warned_ = false;                                          // the thread's
  std::uint64_t queued_ = 0;                                     // validations, by the calling thread
  std::shared_ptr<Count> written_ = std::make_shared<Count>(0);  // and those of them that are done
  BoundedQueue<ValidationEvent*> queue_{depth};                  // owns what it points at
  std::jthread thread_;                                          // last: it uses all of the above
};

}  // namespace flowtrain
