#pragma once
// A group on c10d, LibTorch's engine for distributed training.

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <atomic>

#include "sampling/error.h"
#include "stages/group.h"

namespace flowtrain {

/// Collectives of a process group. CPU tensors carry what is not on the device, so the group has a CPU backend, too.
class TorchGroup : public Group {
 public:
  explicit TorchGroup(c10::intrusive_ptr<c10d::ProcessGroup> processes) : processes_(std::move(processes)) {}

  int rank() const override { return processes_->getRank(); }
  int size() const override { return processes_->getSize(); }
  void sum(std::span<double> values) override;
  std::vector<std::string> gather(const std::string& mine) override;
  std::string broadcast(const std::string& mine) override;
  /// Rank 0's values into everyone's tensors, of one device.
  void broadcast(const std::vector<at::Tensor>& tensors);

  const c10::intrusive_ptr<c10d::ProcessGroup>& processes() const { return processes_; }

  /// Notes that a collective begins; `what` is a literal.
  void enter(const char* what) {
    last_ = what;
    ++entered_;
  }
  /// What this process did last, for the others to tell: "the averaging of gradients (collective 530)". Any thread.
  std::string last() const;

 private:
  c10::intrusive_ptr<c10d::ProcessGroup> processes_;
  std::atomic<const char*> last_ = "joining";
  std::atomic<std::uint64_t> entered_ = 0;
};

/// A collective that failed, as a UserError(distributed).
[[noreturn]] void throw_lost(const Group& group, const char* what, const std::exception& error);

/// Calls `collective`; what c10d and Gloo throw there becomes a UserError(distributed) that names `what`, the rank and the reason.
template <class Collective>
auto in_collective(TorchGroup& group, const char* what, Collective collective) -> decltype(collective()) {
  group.enter(what);
  try {
    return collective();
  } catch (const UserError&) {
    throw;
  } catch (const c10::DistError& error) {
    throw_lost(group, what, error);
  } catch (const c10::Error&) {
    throw;  // a fault of this process alone: a shape, memory
  } catch (const std::exception& error) {
    throw_lost(group, what, error);
  }
}

}  // namespace flowtrain
