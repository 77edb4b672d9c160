#pragma once
// A learner without torch for whole runs: its one weight is a hash of all it was shown, so any difference shows.

#include <bit>
#include <cstring>
#include <functional>

#include "sampling/core/random.h"
#include "stages/model/compute.h"

namespace flowtrain::testing {

class HashingLearner : public Learner {
 public:
  /// Called at the start of the method of that name; may throw.
  struct Hooks {
    std::function<void(const Slab&)> backward;
    std::function<void()> update, validate, copy_state;
  };
  explicit HashingLearner(Hooks hooks = {}) : hooks_(std::move(hooks)) {}

  void set_hyper(std::span<const HyperParameters> hyper) override { lr_ = hyper[0].lr; }
  void forward_backward(Slab& slab, const StepFlags&) override {
    if (hooks_.backward) hooks_.backward(slab);
    slab.owner().wait_copy(slab.ticket().slot);
    if (slab.ticket().micro == 0) gradient_ = 0;
    mix(slab, gradient_);
    slab.owner().consumed(slab.ticket().slot);
  }
  bool contribute_zeros(Slab&, const StepFlags&) override { return true; }
  StepStats stats() const override { return {0.5, 1}; }
  void update() override {
    if (hooks_.update) hooks_.update();
    weight_ = mix64(weight_ + (gradient_ ^ std::bit_cast<std::uint64_t>(lr_)));
  }
  void discard() override {}
  bool stats_are_free() const override { return true; }
  void begin_validation() override { seen_ = 0; }
  void validate(Slab& slab) override {
    if (hooks_.validate) hooks_.validate();
    slab.owner().wait_copy(slab.ticket().slot);
    mix(slab, seen_);
    slab.owner().consumed(slab.ticket().slot);
  }
  Scalars end_validation() override { return {{"loss", static_cast<double>(mix64(seen_ + weight_) >> 32)}}; }
  void copy_state(LearnerState& state) override {
    if (hooks_.copy_state) hooks_.copy_state();
    state.model.resize(1);
    state.model[0] = {"w", "I64", {}, true, std::vector<std::byte>(8)};
    std::memcpy(state.model[0].bytes.data(), &weight_, 8);
    state.optim.clear();
  }
  void load_state(const LearnerState& state) override { std::memcpy(&weight_, state.model.at(0).bytes.data(), 8); }

 private:
  // The used rows of every field; what lies between fields, and behind the last row, is of no meaning.
  static void mix(const Slab& slab, std::uint64_t& into) {
    const SlabLayout& layout = slab.layout();
    for (std::size_t field = 0; field < layout.fields().size(); ++field)
      for (std::size_t i = 0; i < layout.row_bytes(field) * slab.rows().size(); ++i)
        into = mix64(into + std::to_integer<std::uint64_t>(slab.device()[layout.offset(field) + i]));
  }

  Hooks hooks_;
  double lr_ = 0;
  std::uint64_t weight_ = 1, gradient_ = 0, seen_ = 0;
};

}  // namespace flowtrain::testing
