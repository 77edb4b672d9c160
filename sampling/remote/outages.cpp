#include "sampling/remote/outages.h"

#include "sampling/core/warning.h"
#include "sampling/remote/location.h"

namespace flowtrain {

void Outages::add(const std::string& url, const std::string& why) {
  ++retries_;
  {
    const MutexLock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now < silent_until_) return;
    silent_until_ = now + std::chrono::minutes(1);
  }
  warn(public_name(url) + ": " + why +
       "; it is asked again (requests repeated so far: " + std::to_string(retries_.load()) + ")");
}

}  // namespace flowtrain
