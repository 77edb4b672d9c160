#include "sampling/remote/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <condition_variable>
#include <new>
#include <utility>

namespace flowtrain {

void initialize_curl() {
  static const auto result = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (result != CURLE_OK) throw RemoteError(curl_easy_strerror(result));
}

/// A handle for the time of a call.
class HttpClient::Lease {
 public:
  explicit Lease(const HttpClient& client) : client_(client), handle_(client.borrow()) {}
  ~Lease() { client_.give_back(std::move(handle_)); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  void* get() const { return handle_.get(); }

 private:
  const HttpClient& client_;
  Handle handle_;
};

HttpClient::Handle HttpClient::borrow() const {
  const MutexLock lock(mutex_);
  if (!idle_.empty()) {
    Handle handle = std::move(idle_.back());
    idle_.pop_back();
    return handle;
  }
  Handle handle(curl_easy_init(), [](void* each) { curl_easy_cleanup(each); });
  if (!handle) throw std::bad_alloc();
  idle_.reserve(++handles_);  // giving it back then allocates nothing
  return handle;
}

void HttpClient::give_back(Handle handle) const {
  const MutexLock lock(mutex_);
  idle_.push_back(std::move(handle));
}

HttpClient::HttpClient(Patience patience, std::stop_token stop, Outages& outages)
    : patience_(patience), stop_(std::move(stop)), outages_(outages) {
  initialize_curl();
}

RemoteVersion HttpClient::version(const Location& from) const {
  std::byte first_byte;
  return fetch(from, nullptr, 0, {&first_byte, 1});
}

void HttpClient::read(const Location& from, const RemoteVersion& version, std::uint64_t first,
                      std::span<std::byte> into) const {
  fetch(from, &version, first, into);
}

RemoteVersion HttpClient::fetch(const Location& from, const RemoteVersion* expected, std::uint64_t first,
                                std::span<std::byte> into) const {
  const Lease lease(*this);
  auto delay = std::min(patience_.first_delay, longest_delay);
  for (int tries = 1;; ++tries) {
    Exchange exchange(from, first, into, expected);
    const auto failure = exchange.run(lease.get(), patience_.timeout, stop_);
    if (failure && stop_.stop_requested()) throw RemoteError("interrupted while waiting for the server");
    if (!failure) return exchange.version();
    if (!failure->passing || tries > patience_.retries) {
      const auto count = tries > 1 ? ", after " + std::to_string(tries) + " tries" : "";
      const bool no_hint = failure->hint.empty() && failure->passing;
      throw RemoteError(failure->message + (from.s3 ? " (asked for " + from.url + ")" : "") + count,
                        no_hint ? "see whether the server is up, or raise data.retries" : failure->hint);
    }
    first += exchange.received();
    into = into.subspan(exchange.received());
    outages_.add(from.url, failure->message);
    wait(std::clamp<std::chrono::milliseconds>(failure->wait_at_least, delay, longest_wait));
    delay = std::min(2 * delay, longest_delay);
  }
}

/// Or until the stop is requested.
void HttpClient::wait(std::chrono::milliseconds delay) const {
  Mutex mutex;  // of nothing; a wait needs one
  MutexLock lock(mutex);
  std::condition_variable_any().wait_for(lock, stop_, delay, [] { return false; });
}

}  // namespace flowtrain
