#pragma once
// Validation beside training: a thread of its own measures a copy of the net.

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "pipeline/validation/validation.h"

namespace flowtrain {

class Interrupt;

/// At most one validation at a time. One thread calls.
class OverlappedValidation {
 public:
  /// What `sets` refer to, and `interrupt` (may be null), outlive it.
  OverlappedValidation(std::vector<ValidationSet> sets, const Interrupt* interrupt, ErrorPolicy::Action on_error)
      : sets_(std::move(sets)), interrupt_(interrupt), on_error_(on_error) {}
  /// Gives up what is under way.
  ~OverlappedValidation() { give_up(); }
  OverlappedValidation(const OverlappedValidation&) = delete;

  /// From now on a thread measures `net`, which nobody else touches until finish().
  void start(NetCopy& net, std::uint64_t iteration);
  /// From start() to finish().
  bool under_way() const { return thread_.joinable(); }
  /// Under way, and finish() will not wait.
  bool is_over() const { return under_way() && over_; }
  /// What is under way ends after its batch; so it does by itself where `interrupt` asks for the end. Nothing can be
  /// started after this.
  void give_up();
  /// Waits. Rethrows an error that `on_error` does not let pass.
  Validated finish();

 private:
  const std::vector<ValidationSet> sets_;
  const Interrupt* interrupt_;
  const ErrorPolicy::Action on_error_;
  std::atomic<bool> given_up_ = false, over_ = false;
  Validated found_;  // the thread's until it has ended, as is `error_`
  std::exception_ptr error_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace flowtrain
