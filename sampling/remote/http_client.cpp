#include "sampling/remote/http_client.h"

#include <algorithm>
#include <condition_variable>
#include <new>
#include <utility>

#include "sampling/core/reads_until.h"
#include "sampling/core/warning.h"
#include "sampling/remote/libcurl.h"

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
       "; the request is repeated (requests repeated so far: " + std::to_string(retries_.load()) + ")");
}

HttpClient::Handle HttpClient::borrow() const {
  const MutexLock lock(mutex_);
  if (!idle_.empty()) {
    Handle handle = std::move(idle_.back());
    idle_.pop_back();
    return handle;
  }
  Handle handle(libcurl().easy_init(), libcurl().easy_cleanup);
  if (!handle) throw std::bad_alloc();
  idle_.reserve(++handles_);  // returning it then allocates nothing
  return handle;
}

void HttpClient::give_back(void* handle) const {
  const MutexLock lock(mutex_);
  idle_.emplace_back(handle, libcurl().easy_cleanup);
}

HttpClient::HttpClient(Patience patience, Outages& outages) : patience_(patience), outages_(outages) {
  libcurl();  // throws here rather than at a request
}

RemoteVersion HttpClient::fetch(const RemoteLocation& from, const RemoteVersion* expected, std::uint64_t first,
                                std::span<std::byte> into) const {
  const auto give_back_handle = [this](void* handle) { give_back(handle); };
  const std::unique_ptr<void, decltype(give_back_handle)> handle(borrow().release(), give_back_handle);
  const auto stop = ReadsUntil::token();
  auto delay = std::min(patience_.first_delay, longest_delay);
  for (int tries = 1;; ++tries) {
    Exchange exchange(from, first, into, expected);
    const auto failure = exchange.run(handle.get(), patience_.timeout, stop);
    if (failure && stop.stop_requested()) throw RemoteError("interrupted while waiting for the server");
    if (!failure) return exchange.version();
    if (!failure->passing || tries > patience_.retries) {
      const auto count = tries > 1 ? ", after " + std::to_string(tries) + " tries" : "";
      const bool no_hint = failure->hint.empty() && failure->passing;
      throw RemoteError(failure->message + (from.s3 ? " (requested: " + from.url + ")" : "") + count,
                        no_hint ? "check whether the server is up, or raise data.retries" : failure->hint);
    }
    first += exchange.received();
    into = into.subspan(exchange.received());
    outages_.add(from.url, failure->message);
    wait(std::clamp<std::chrono::milliseconds>(failure->wait_at_least, delay, longest_wait));
    delay = std::min(2 * delay, longest_delay);
  }
}

/// Waits, or returns early once the stop is requested.
void HttpClient::wait(std::chrono::milliseconds delay) const {
  Mutex mutex;  // guards nothing; a wait needs one
  MutexLock lock(mutex);
  std::condition_variable_any().wait_for(lock, ReadsUntil::token(), delay, [] { return false; });
}

}  // namespace flowtrain
