#pragma once
// The processes that train together. No torch here; what LibTorch's process group does is in stages/torch/.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace flowtrain {

/// One process's view of its group. Collectives are called by one thread, the compute thread as a rule, by all ranks in
/// the same order; each waits for the others. So whether one is called must follow from what all ranks know: the
/// configuration, the state of the run, what an earlier collective gave; never from what rank 0 alone has. Each says in
/// `what`, a literal, what it is for ("the choice of a snapshot"): where ranks are in different ones the job ends with
/// both names. Throws UserError(distributed) where another rank is gone or late.
class Group {
 public:
  virtual ~Group() = default;

  /// 0 … size() - 1; rank 0 writes what is written once: snapshots, logs, metrics.
  virtual int rank() const = 0;
  virtual int size() const = 0;
  bool leads() const { return rank() == 0; }

  /// Replaces each value by its sum over the ranks; the same bits on each.
  virtual void sum(const char* what, std::span<double> values) = 0;
  /// Everyone's bytes, by rank.
  virtual std::vector<std::string> gather(const char* what, const std::string& mine) = 0;
  /// Rank 0's bytes.
  virtual std::string broadcast(const char* what, const std::string& mine) = 0;
  /// What rank 0 answers, which alone is asked: a collective for what only rank 0 can know.
  std::string ask_leader(const char* what, const std::function<std::string()>& answer) {
    return broadcast(what, leads() ? answer() : std::string());
  }

  /// Another group of the same processes, for another thread: its collectives do not get between this one's. It lives
  /// as long as this one. A collective, while no other thread is in one.
  virtual Group& beside() = 0;

  /// No collective: where this process is, for what the others say if it is lost.
  virtual void at_iteration(std::uint64_t) {}
  /// No collective: the longest time, in seconds, that this process waited for a word over the network since the last
  /// call. Asked in the background, so that it says how good the way to the others is, whoever keeps them waiting.
  virtual double take_link_time() { return 0; }
};

/// A process alone.
class SoloGroup : public Group {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void sum(const char*, std::span<double>) override {}
  std::vector<std::string> gather(const char*, const std::string& mine) override { return {mine}; }
  std::string broadcast(const char*, const std::string& mine) override { return mine; }
  Group& beside() override { return *this; }
};

/// The one of all runs in which one process trains.
inline Group& solo_group() {
  static SoloGroup group;
  return group;
}

}  // namespace flowtrain
