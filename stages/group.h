#pragma once
// The processes that train together. No torch here; what LibTorch's process group does is in stages/torch/.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace flowtrain {

/// One process's view of its group. Collectives are called by the compute thread, by all ranks in the same order; each
/// waits for the others. Throws UserError(distributed) where another rank is gone or late.
class Group {
 public:
  virtual ~Group() = default;

  /// 0 … size() - 1; rank 0 writes what is written once: snapshots, logs, metrics.
  virtual int rank() const = 0;
  virtual int size() const = 0;
  bool leads() const { return rank() == 0; }

  /// Replaces each value by its sum over the ranks; the same bits on each.
  virtual void sum(std::span<double> values) = 0;
  /// Everyone's bytes, by rank.
  virtual std::vector<std::string> gather(const std::string& mine) = 0;
  /// Rank 0's bytes.
  virtual std::string broadcast(const std::string& mine) = 0;

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
  void sum(std::span<double>) override {}
  std::vector<std::string> gather(const std::string& mine) override { return {mine}; }
  std::string broadcast(const std::string& mine) override { return mine; }
};

/// The one of all runs in which one process trains.
inline Group& solo_group() {
  static SoloGroup group;
  return group;
}

}  // namespace flowtrain
