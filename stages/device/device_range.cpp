#include "stages/device/device_range.h"

#include <atomic>

namespace flowtrain {

namespace {

std::atomic<const RangeCalls*> range_calls{nullptr};

}  // namespace

void report_ranges_to(const RangeCalls* calls) { range_calls.store(calls, std::memory_order_release); }

DeviceRange::DeviceRange(const char* name) : calls_(range_calls.load(std::memory_order_acquire)) {
  if (calls_) calls_->push(name);
}

DeviceRange::~DeviceRange() {
  if (calls_) calls_->pop();
}

}  // namespace flowtrain
