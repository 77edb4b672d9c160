#pragma once
// Validation beside training: a thread of its own measures a copy of the net.

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

/// Runs one validation at a time, all on one thread, as cuDNN keeps the plans of its kernels for each thread. One
/// thread calls. In a group each rank has one, and uses it as the others do.
class OverlappedValidation {
 public:
  /// What `sets` refer to, and `interrupt` (may be null), outlive it.
  OverlappedValidation(std::vector<ValidationSet> sets, const Interrupt* interrupt, ErrorPolicy::Action on_error)
      : sets_(std::move(sets)), interrupt_(interrupt), on_error_(on_error) {}
  /// Leaves what is under way after its batch; other ranks lose this one there.
  ~OverlappedValidation();
  OverlappedValidation(const OverlappedValidation&) = delete;

  /// From now on a thread measures `net`, which nobody else touches until finish().
  void start(ValidationReplica& net, std::uint64_t iteration);
  /// From start() to finish().
  bool under_way() const { return under_way_; }
  /// Under way, and finish() will not wait.
  bool is_over() const { return under_way() && over_; }
  /// What is under way ends by `signal`, after a batch on which the ranks agree; so it does by itself where `interrupt`
  /// asks one of them for the end. Nothing can be started after this.
  void give_up(int signal);
  /// Waits. Rethrows an error that `on_error` does not let pass.
  Validated finish();
  /// After finish(): by which the validation was given up, alike on all ranks; nothing where it was not.
  std::optional<int> signal() const { return signal_; }

 private:
  struct Wanted {
    ValidationReplica* net;
    std::uint64_t iteration;
  };
  void end();
  // Runs on the thread.
  void serve();
  void validate(const Wanted& wanted);
  std::optional<int> own_signal() const;
  void cancel_reads() const;

  const std::vector<ValidationSet> sets_;
  const Interrupt* interrupt_;
  const ErrorPolicy::Action on_error_;
  Group* group_ = nullptr;         // of the net
  std::atomic<int> given_up_ = 0;  // by this signal
  std::atomic<bool> leaves_ = false, over_ = false;
  bool under_way_ = false;
  Validated found_;  // the thread's until it is over, as are the next two
  std::exception_ptr error_;
  std::optional<int> signal_;
  Mutex mutex_;
  CondVar changed_;
  std::optional<Wanted> wanted_ FT_GUARDED_BY(mutex_);
  bool ends_ FT_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // from the first start() on; last: it uses all of the above
};

}  // namespace flowtrain
