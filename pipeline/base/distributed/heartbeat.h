#pragma once
// A rank's heartbeat: it shows the others that the rank lives, watches one of them, and ends the process if that does
// not end by itself after a failure. Within this folder.

#include <memory>
#include <string>

#include "pipeline/base/distributed/store.h"
#include "stages/torch/parallel/collective_log.h"

namespace flowtrain {

/// Runs two threads, on a connection of their own. The first beats, and watches the next rank (the last one watches
/// rank 0), so that each rank is watched by one other and the store gets five requests per rank and beat. The second
/// never uses the store: it checks that the first gets answers, and that the process ends once a failure is known. No
/// thread is joined if the store does not answer.
class Heartbeat {
 public:
  Heartbeat(const RankInfo& place, StorePtr store, const Timeouts& timeouts, std::shared_ptr<CollectiveLog> record);
  /// Tells the watching rank that no more beats will come.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// Announces that the process is about to end with exit code `code`. If it is still there after the time in Timeouts,
  /// the heartbeat ends it, and shows `text` unless shown() came before.
  void expect_end(const std::string& text, int code);
  /// Returns whether this process shows the failure, see is_first_to_show().
  bool shows(c10d::Store& store);
  /// Records that somebody has shown the failure.
  void shown();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace flowtrain
