#pragma once
// Validation beside training: a thread of its own measures a replica of the net.

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "pipeline/engine/validation/validation.h"
#include "sampling/core/mutex.h"

namespace flowtrain {

class Interrupt;

/// Runs one validation at a time, all on one thread, because cuDNN keeps the plans of its kernels for each thread. One
/// thread calls. In a group each rank has one, and uses it as the others do.
class AsyncValidation {
 public:
  /// The parts of `sets`, and `interrupt` (may be null), outlive it.
  AsyncValidation(std::vector<ValidationSet> sets, const Interrupt* interrupt, ErrorPolicy::Action on_error)
      : sets_(std::move(sets)), interrupt_(interrupt), on_error_(on_error) {}
  /// Ends the current validation after its batch; other ranks lose this one there.
  ~AsyncValidation();
  AsyncValidation(const AsyncValidation&) = delete;

  /// Starts to measure `replica`, which nobody else uses until finish().
  void start(ValidationReplica& replica, std::uint64_t iteration);
  /// Returns true from start() to finish().
  bool under_way() const { return under_way_; }
  /// Returns whether a validation is under way and finish() will not wait.
  bool is_over() const { return under_way() && over_; }
  /// Ends the current validation by `signal`, after a batch on which the ranks agree. A signal of `interrupt` in one of
  /// them does the same. No validation can be started after this.
  void give_up(int signal);
  /// Waits for the result. Rethrows an error that `on_error` does not let pass.
  Validated finish();
  /// Returns the signal by which the finished validation was given up, which is equal on all ranks.
  std::optional<int> signal() const { return signal_; }

 private:
  struct Wanted {
    ValidationReplica* replica;
    std::uint64_t iteration;
  };
  void end();
  // Runs on the thread ft-validation.
  void serve();
  void validate(const Wanted& wanted);
  std::optional<int> own_signal() const;
  void cancel_reads() const;

  const std::vector<ValidationSet> sets_;
  const Interrupt* interrupt_;
  const ErrorPolicy::Action on_error_;
  Group* group_ = nullptr;         // the replica's group
  std::atomic<int> given_up_ = 0;  // the signal, or 0
  std::atomic<bool> leaves_ = false, over_ = false;
  bool under_way_ = false;
  Validated found_;  // used by the thread until it is over, as are the next two
  std::exception_ptr error_;
  std::optional<int> signal_;
  Mutex mutex_;
  CondVar changed_;
  std::optional<Wanted> wanted_ FT_GUARDED_BY(mutex_);
  bool ends_ FT_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // begins with the first start(); last, because it uses all of the above
};

}  // namespace flowtrain
