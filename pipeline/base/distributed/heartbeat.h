#pragma once
// A rank's heart: tells the others that it lives, listens to one of them, and ends the process where it does not end by
// itself after a failure. Within this folder.

#include <memory>
#include <string>

#include "pipeline/base/distributed/store.h"
#include "stages/torch/parallel/collective_log.h"

namespace flowtrain {

/// Two threads, on a connection of their own. The first beats, and watches over the next rank (the last one over rank
/// 0), so that each rank is heard by one other and the store gets five requests per rank and beat. The second touches
/// no store: it sees that the first gets answers, and that the process ends once a failure is known. Neither is
/// waited for where the store does not answer.
class Heartbeat {
 public:
  Heartbeat(const RankInfo& place, StorePtr store, const Timeouts& timeouts, std::shared_ptr<CollectiveLog> record);
  /// Tells the rank that listens that there is no more to hear.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// The process is about to end with exit code `code`. If it has not after the time that Timeouts gives, it is ended;
  /// what is to be said then is `text`, unless shown() came before.
  void expect_end(const std::string& text, int code);
  /// Whether this process is the one to show the failure, see is_first_to_show().
  bool shows(c10d::Store& store);
  /// What was to be said is said by somebody.
  void shown();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace flowtrain
