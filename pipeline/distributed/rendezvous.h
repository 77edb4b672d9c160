#pragma once
// How the ranks of a job find each other: a store that all can reach (TCPStore or FileStore of c10d), and on top of it
// the process group.

#include <memory>
#include <string>

#include "pipeline/launch/place.h"
#include "sampling/settings.h"
#include "stages/group.h"

namespace flowtrain {

/// The store, as the process that starts the ranks of a node has it; it outlives them.
class LauncherStore {
 public:
  /// `url` empty: serves a store on a free port of this machine's loopback. Else joins the one at `url`, and serves it
  /// where `serves` (the first node). Throws UserError(distributed) with the system's reason.
  LauncherStore(const std::string& url, bool serves);
  ~LauncherStore();

  /// For the ranks.
  const std::string& url() const { return url_; }
  /// Tells the ranks of start `restart` (from 0) how one of them ended.
  void tell_death(int restart, int rank, const std::string& how);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::string url_;
};

/// A rank's membership in its job.
class Membership {
 public:
  /// Joins as `place` says, with the settings of [dist]; waits until all are there. Throws UserError(distributed).
  Membership(const Place& place, const Settings& dist);
  ~Membership();

  Group& group();

  /// What is to be said about this rank's error. A rank that failed by itself says so, and tells the others; one that
  /// only lost them (`lost`) names who failed first and what that one did last, once it is known. Empty: another rank
  /// says it.
  std::string explain(const std::string& message, bool lost);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowtrain
