#pragma once
// Work that a device repeats as a whole, without being told each part of it: a CUDA graph. No torch, no CUDA here.

#include <functional>
#include <memory>

namespace flowtrain {

class WorkGraph {
 public:
  virtual ~WorkGraph() = default;
  /// Keeps what `work` asks the device for; none of it is carried out. Throws what `work` throws, and std::exception
  /// where something in it cannot be kept (it waits for the device, say) or it asks for nothing; the device is then as
  /// before. Once.
  virtual void capture(const std::function<void()>& work) = 0;
  /// Asks for all of it, in the same memory, behind what the device was asked for before.
  virtual void replay() = 0;
};

/// Null: the device has no such thing.
using MakeWorkGraph = std::function<std::unique_ptr<WorkGraph>()>;

/// Those of a GPU: of libflowtrain_cuda.so, which make_cuda_device() has opened. Null where it is not, or has none.
MakeWorkGraph cuda_work_graphs(int index);

}  // namespace flowtrain
