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

/// Makes Gloo's options with a new device each time: groups that share a lazily connecting one miss each other.
using MakeGlooOptions = std::function<c10::intrusive_ptr<c10d::ProcessGroupGloo::Options>()>;

/// Connects processes by Gloo, for tensors on the CPU.
c10::intrusive_ptr<c10d::ProcessGroup> make_gloo_group(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                                       const MakeGlooOptions& options);

/// Collectives of a process group. Values outside the device travel as CPU tensors, so it has a CPU backend, too.
class TorchGroup : public Group {
 public:
  /// `options` are those of groups beside this one.
  TorchGroup(c10::intrusive_ptr<c10d::ProcessGroup> processes, std::shared_ptr<CollectiveLog> record,
             MakeGlooOptions options = {})
      : processes_(std::move(processes)), record_(std::move(record)), options_(std::move(options)) {}

  int rank() const override { return processes_->getRank(); }
  int size() const override { return processes_->getSize(); }
  void sum(const char* what, std::span<double> values) override;
  /// Sums a tensor, on the device or not. Any thread, while this process is in no other collective.
  void sum(const char* what, at::Tensor& values);
  std::vector<std::string> gather(const char* what, const std::string& mine) override;
  std::string broadcast(const char* what, const std::string& mine) override;
  /// Copies rank 0's values to everyone's tensors, all on one device.
  void broadcast(const char* what, const std::vector<at::Tensor>& tensors);
  /// Makes a group for CPU values.
  Group& beside() override;

  const c10::intrusive_ptr<c10d::ProcessGroup>& processes() const { return processes_; }

  CollectiveLog& record() { return *record_; }
  void at_iteration(std::uint64_t iteration) override { record_->at_iteration(iteration); }
  double take_link_time() override { return record_->take_longest_answer(); }

 private:
  // These leave no record.
  void add_up(std::span<double> values);
  void share(const std::vector<at::Tensor>& tensors);

  c10::intrusive_ptr<c10d::ProcessGroup> processes_;
  std::shared_ptr<CollectiveLog> record_;
  MakeGlooOptions options_;
  std::vector<std::unique_ptr<TorchGroup>> beside_;
};

/// Copies rank 0's values to everyone's tensors; `what` says why (Group). A collective of a TorchGroup.
void share_tensors(Group& group, const char* what, const nets::NamedTensors& tensors);

/// Throws the error of a failed collective as a UserError(distributed).
[[noreturn]] void throw_lost(const char* what, const std::exception& error);

/// Calls `collective`; errors of c10d and Gloo become a UserError(distributed) that names `what` and the reason.
template <class Collective>
auto in_collective(TorchGroup& group, const char* what, Collective collective) -> decltype(collective()) {
  // The entry stays open if the collective throws: it did not end.
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
    throw;  // an error of this process alone: a shape, memory
  } catch (const std::exception& error) {
    throw_lost(what, error);
  }
}

}  // namespace flowtrain
