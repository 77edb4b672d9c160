#pragma once
// Recorded work that a device repeats as a whole (a CUDA graph). This file needs neither torch nor CUDA.

#include <functional>
#include <memory>

namespace flowtrain {

class WorkGraph {
 public:
  virtual ~WorkGraph() = default;
  /// Records the requests of `work` to the device and runs none of them; called once. Throws whatever `work` throws,
  /// and std::exception if a request cannot be recorded (it waits for the device, for example) or there is none;
  /// the device is then as before.
  virtual void capture(const std::function<void()>& work) = 0;
  /// Enqueues the recorded work, in the same memory, behind all earlier requests.
  virtual void replay() = 0;
};

/// The maker returns null if the device has no such graphs.
using MakeWorkGraph = std::function<std::unique_ptr<WorkGraph>()>;

/// Returns the maker of libflowtrain_cuda.so, which make_cuda_device() has opened. It is null if there is none.
MakeWorkGraph cuda_work_graphs(int index);

}  // namespace flowtrain
