#pragma once
// The processes that train together. This file needs no torch; stages/torch/ uses LibTorch's process group.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace flowtrain {

/// One process's view of its group. One thread calls the collectives, usually the compute thread, and all ranks call
/// them in the same order; each call waits for the other ranks. So the decision to call one must follow from state that
/// all ranks share (the configuration, the run's state, the result of an earlier collective), never from state of rank
/// 0 alone. Each call states its purpose in `what`, a literal ("the choice of a snapshot"): if ranks are in different
/// ones, the job ends with both names. Throws UserError(distributed) if another rank is gone or late.
class Group {
 public:
  virtual ~Group() = default;

  /// Returns the rank, 0 … size() - 1. Rank 0 writes everything that is written once: snapshots, logs, metrics.
  virtual int rank() const = 0;
  virtual int size() const = 0;
  bool leads() const { return rank() == 0; }

  /// Replaces each value by its sum over the ranks, with equal bits on each.
  virtual void sum(const char* what, std::span<double> values) = 0;
  /// Returns the bytes of all ranks, by rank.
  virtual std::vector<std::string> gather(const char* what, const std::string& mine) = 0;
  /// Returns rank 0's bytes.
  virtual std::string broadcast(const char* what, const std::string& mine) = 0;
  /// Calls `answer` on rank 0 alone and returns its result on all ranks.
  std::string ask_leader(const char* what, const std::function<std::string()>& answer) {
    return broadcast(what, leads() ? answer() : std::string());
  }

  /// Returns another group of the same processes for another thread, so that its collectives do not mix with this
  /// one's. It lives as long as this one. This is a collective; no other thread may be in one.
  virtual Group& beside() = 0;

  /// Records where this process is, so that the other ranks can say so if it is lost. No collective.
  virtual void at_iteration(std::uint64_t) {}
  /// Returns the longest time, in seconds, that this process waited for a network message since the last call. It is
  /// measured in the background, so it describes the network and no slow rank. No collective.
  virtual double take_link_time() { return 0; }
};

/// A group of one process.
class SoloGroup : public Group {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void sum(const char*, std::span<double>) override {}
  std::vector<std::string> gather(const char*, const std::string& mine) override { return {mine}; }
  std::string broadcast(const char*, const std::string& mine) override { return mine; }
  Group& beside() override { return *this; }
};

/// Returns the group of all runs in which one process trains.
inline Group& solo_group() {
  static SoloGroup group;
  return group;
}

}  // namespace flowtrain
