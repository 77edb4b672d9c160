#pragma once
// How much memory tensors take.

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace flowtrain {

/// Counts what this thread's tensors on the CPU take, as ATen's memory profiler does, while it lives.
class LiveBytes {
 public:
  LiveBytes() : counter_(std::make_shared<Counter>()), guard_(c10::DebugInfoKind::PROFILER_STATE, counter_) {}
  /// Allocated and not yet freed since the beginning.
  std::int64_t now() const { return counter_->bytes; }
  /// The most that now() ever was.
  std::int64_t most() const { return counter_->most; }

 private:
  struct Counter final : c10::MemoryReportingInfoBase {
    void reportMemoryUsage(void*, std::int64_t size, std::size_t, std::size_t, c10::Device) override {
      bytes += size;
      most = std::max(most, bytes);
    }
    bool memoryProfilingEnabled() const override { return true; }
    std::int64_t bytes = 0, most = 0;
  };
  std::shared_ptr<Counter> counter_;
  c10::DebugInfoGuard guard_;
};

}  // namespace flowtrain
