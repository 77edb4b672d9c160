#pragma once
// A group on c10d, LibTorch's engine for distributed training.

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "nets/tensors.h"
#include "sampling/core/error.h"
#include "stages/core/group.h"
#include "stages/flight/flight.h"
#include "stages/torch/parallel/collective_log.h"

namespace flowtrain {

/// Options of Gloo, each time with a device of their own: groups that share one which connects lazily do not hear from
/// each other.
using MakeGlooOptions = std::function<c10::intrusive_ptr<c10d::ProcessGroupGloo::Options>()>;

/// Processes that Gloo connects, for what is on the CPU.
c10::intrusive_ptr<c10d::ProcessGroup> make_gloo_group(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                                       const MakeGlooOptions& options);

/// Collectives of a process group. CPU tensors carry what is not on the device, so the group has a CPU backend, too.
class TorchGroup : public Group {
 public:
  /// `options`: of groups beside this one.
  TorchGroup(c10::intrusive_ptr<c10d::ProcessGroup> processes, std::shared_ptr<CollectiveLog> record,
             MakeGlooOptions options = {})
      : processes_(std::move(processes)), record_(std::move(record)), options_(std::move(options)) {}

  int rank() const override { return processes_->getRank(); }
  int size() const override { return processes_->getSize(); }
  void sum(const char* what, std::span<double> values) override;
  /// The same for a tensor, on the device or not; any thread, while no other collective is called by this process.
  void sum(const char* what, at::Tensor& values);
  std::vector<std::string> gather(const char* what, const std::string& mine) override;
  std::string broadcast(const char* what, const std::string& mine) override;
  /// Rank 0's values into everyone's tensors, of one device.
  void broadcast(const char* what, const std::vector<at::Tensor>& tensors);
  /// For what is on the CPU.
  Group& beside() override;

  const c10::intrusive_ptr<c10d::ProcessGroup>& processes() const { return processes_; }

  CollectiveLog& record() { return *record_; }
  void at_iteration(std::uint64_t iteration) override { record_->at_iteration(iteration); }
  double take_link_time() override { return record_->take_longest_answer(); }

 private:
  // Without a record.
  void add_up(std::span<double> values);
  void share(const std::vector<at::Tensor>& tensors);

  c10::intrusive_ptr<c10d::ProcessGroup> processes_;
  std::shared_ptr<CollectiveLog> record_;
  MakeGlooOptions options_;
  std::vector<std::unique_ptr<TorchGroup>> beside_;
};

/// Rank 0's values into everyone's tensors; `what` says why (Group). A collective of a TorchGroup; a process alone has
/// them.
void share_tensors(Group& group, const char* what, const nets::NamedTensors& tensors);

/// A collective that failed, as a UserError(distributed).
[[noreturn]] void throw_lost(const char* what, const std::exception& error);

/// Calls `collective`; what c10d and Gloo throw there becomes a UserError(distributed) that names `what` and the
/// reason.
template <class Collective>
auto in_collective(TorchGroup& group, const char* what, Collective collective) -> decltype(collective()) {
  // Left open where the collective throws: that one did not end.
  struct Leave {
    CollectiveLog& record;
    std::uint64_t number;
    int exceptions = std::uncaught_exceptions();
    ~Leave() {
      if (std::uncaught_exceptions() == exceptions) record.leave(number);
    }
  };
  const auto number = group.record().enter(what);
  const FlightSpan flight({.name = what, .number = number, .kind = FlightKind::collective});
  try {
    const Leave leave{group.record(), number};
    return collective();
  } catch (const UserError&) {
    throw;
  } catch (const c10::DistError& error) {
    throw_lost(what, error);
  } catch (const c10::Error&) {
    throw;  // a fault of this process alone: a shape, memory
  } catch (const std::exception& error) {
    throw_lost(what, error);
  }
}

}  // namespace flowtrain
