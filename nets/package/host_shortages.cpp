#include "nets/package/host_shortages.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <atomic>

namespace flowtrain::nets {

namespace {

/// Counts the errors of LibTorch's allocator of host memory, and removes their backtrace: compiled code prints them.
class CountingAllocator : public c10::Allocator {
 public:
  explicit CountingAllocator(c10::Allocator& allocator) : allocator_(allocator) {}

  at::DataPtr allocate(std::size_t size) override try {
    return allocator_.allocate(size);
  } catch (const c10::Error& error) {
    ++shortages_;
    throw c10::OutOfMemoryError(error.msg(), nullptr);
  }
  bool is_simple_data_ptr(const at::DataPtr& data) const override { return allocator_.is_simple_data_ptr(data); }
  c10::DeleterFnPtr raw_deleter() const override { return allocator_.raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t size) const override { allocator_.copy_data(to, from, size); }

  std::int64_t shortages() const { return shortages_; }

 private:
  c10::Allocator& allocator_;
  std::atomic<std::int64_t> shortages_ = 0;
};

}  // namespace

std::int64_t host_shortages() {
  static CountingAllocator& counting = []() -> CountingAllocator& {
    auto* const made = new CountingAllocator(*c10::GetCPUAllocator());  // lives as long as there are tensors
    c10::SetCPUAllocator(made);
    return *made;
  }();
  return counting.shortages();
}

}  // namespace flowtrain::nets
