#include "pipeline/engine/loader/batch_memory.h"

namespace flowtrain {

BatchMemory::~BatchMemory() {
  const MutexLock lock(mutex_);
  for (std::byte* block : free_) device_->free_host(block);
}

std::byte* BatchMemory::take() {
  {
    const MutexLock lock(mutex_);
    if (!free_.empty()) {
      std::byte* block = free_.back();
      free_.pop_back();
      return block;
    }
    ++made_;
    if (reuse_) free_.reserve(made_);  // keeps give_back() from failing
  }
  return static_cast<std::byte*>(device_->allocate_host(bytes_));
}

std::shared_ptr<std::byte> BatchMemory::hold(std::byte* block) {
  return {block, [pool = shared_from_this()](std::byte* returned) { pool->give_back(returned); }};
}

void BatchMemory::give_back(std::byte* block) noexcept {
  if (getpid() != made_in_) return;  // a forked process may lack the thread that holds the lock
  if (!reuse_) return device_->free_host(block);
  const MutexLock lock(mutex_);
  if (free_.size() == free_.capacity()) return device_->free_host(block);  // a slab's block
  free_.push_back(block);
}

std::size_t BatchMemory::made() const {
  const MutexLock lock(mutex_);
  return made_;
}

}  // namespace flowtrain
