#pragma once
// A learner for tests of what is decided about a step: it notes what it is asked for.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "stages/model/compute.h"

namespace flowtrain::testing {

class ScriptedLearner : public Learner {
 public:
  void set_hyper(std::span<const HyperParameters> given) override {
    hyper.assign(given.begin(), given.end());
    calls.emplace_back("rates");
  }
  void set_threads(unsigned threads) override { calls.emplace_back("threads " + std::to_string(threads)); }
  void forward_backward(Slab&, const StepFlags& given) override {
    flags = given;
    calls.emplace_back("forward_backward");
    if (fails) fails();
  }
  bool contribute_zeros(Slab&, const StepFlags& given) override {
    flags = given;
    calls.emplace_back("zeros");
    return takes_zeros;
  }
  StepStats stats() const override { return {}; }
  bool stats_are_free() const override { return true; }
  void update() override { calls.emplace_back("update"); }
  void discard() override { calls.emplace_back("discard"); }
  void begin_validation() override {}
  void validate(Slab&) override {}
  Scalars end_validation() override { return {}; }
  void copy_state(LearnerState& state) override {
    calls.emplace_back("copy_state");
    state.model = {{"w", "I64", {}, true, std::vector<std::byte>(8)}};
    state.optim = state.model;
  }
  void load_state(const LearnerState&) override { calls.emplace_back("load_state"); }

  /// What it was asked for since the last call.
  std::vector<std::string> take_calls() { return std::exchange(calls, {}); }

  std::function<void()> fails;  ///< called by forward_backward()
  bool takes_zeros = true;
  std::vector<HyperParameters> hyper;
  StepFlags flags;  ///< that were given last
  std::vector<std::string> calls;
};

using Calls = std::vector<std::string>;

/// One rank of several whose others say nothing.
class QuietGroup : public Group {
 public:
  QuietGroup(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void sum(const char* what, std::span<double> values) override {
    collectives.emplace_back(what);
    if (adds) adds(values);
  }
  std::vector<std::string> gather(const char* what, const std::string& mine) override {
    collectives.emplace_back(what);
    std::vector<std::string> all(static_cast<std::size_t>(size_), "[]");
    all[static_cast<std::size_t>(rank_)] = mine;
    return all;
  }
  std::string broadcast(const char* what, const std::string& mine) override {
    collectives.emplace_back(what);
    return mine;
  }
  Group& beside() override { return *this; }

  std::function<void(std::span<double>)> adds;  ///< what the others add to a sum
  std::vector<std::string> collectives;

 private:
  int rank_, size_;
};

}  // namespace flowtrain::testing
