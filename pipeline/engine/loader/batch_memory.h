#pragma once
// The memory of batches that have left the loader: each comes back once nobody holds it, and is used again.

#include <unistd.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "sampling/core/mutex.h"
#include "stages/device/device.h"

namespace flowtrain {

/// Blocks of one size. Any thread. Blocks that are held when the pool's owner has gone are still good.
class BatchMemory : public std::enable_shared_from_this<BatchMemory> {
 public:
  /// Takes memory of `device`, as slabs do. Without `reuse` blocks that come back go back to it, as it knows better
  /// when they may be written again.
  BatchMemory(std::shared_ptr<Device> device, std::size_t bytes, bool reuse = true)
      : device_(std::move(device)), bytes_(bytes), reuse_(reuse) {}
  ~BatchMemory();
  BatchMemory(const BatchMemory&) = delete;

  /// A block that nobody holds: one that has come back, or a new one.
  std::byte* take();
  /// What take() or a slab gave. When the last copy of the pointer goes, the block comes back.
  std::shared_ptr<std::byte> hold(std::byte* block);
  /// Blocks made so far: with `reuse` those held at once at most, however many batches there were.
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
