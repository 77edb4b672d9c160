#pragma once
// The memory of batches that have left the loader: each block comes back once nobody holds it, and is used again.

#include <unistd.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "sampling/core/mutex.h"
#include "stages/device/device.h"

namespace flowtrain {

/// A pool of blocks of one size. Any thread. Held blocks stay valid when the pool's owner is gone.
class BatchMemory : public std::enable_shared_from_this<BatchMemory> {
 public:
  /// Takes memory of `device`, as slabs do. Without `reuse`, returned blocks go back to the device, which knows better
  /// when they may be written again.
  BatchMemory(std::shared_ptr<Device> device, std::size_t bytes, bool reuse = true)
      : device_(std::move(device)), bytes_(bytes), reuse_(reuse) {}
  ~BatchMemory();
  BatchMemory(const BatchMemory&) = delete;

  /// Returns a block that nobody holds: a returned one, or a new one.
  std::byte* take();
  /// Holds a block of take() or a slab. When the last copy of the pointer goes, the block comes back.
  std::shared_ptr<std::byte> hold(std::byte* block);
  /// Returns the number of blocks made so far: with `reuse` the most that were ever held at once.
  std::size_t made() const;

 private:
  void give_back(std::byte* block) noexcept;

  const std::shared_ptr<Device> device_;
  const std::size_t bytes_;
  const bool reuse_;
  const pid_t made_in_ = getpid();
  mutable Mutex mutex_;
  std::vector<std::byte*> free_ FT_GUARDED_BY(mutex_);
  std::size_t made_ FT_GUARDED_BY(mutex_) = 0;
};

}  // namespace flowtrain
