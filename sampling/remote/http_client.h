#pragma once
// Fetches ranges of remote files, and repeats requests that failed for a while.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sampling/core/mutex.h"
#include "sampling/remote/exchange.h"
#include "sampling/remote/location.h"

namespace flowtrain {

/// Counts the repeated requests, and warns of the first one, then at most once a minute, because an absent server fails
/// hundreds. Any thread.
class Outages {
 public:
  /// Records that a request for `url` failed and will be repeated.
  void add(const std::string& url, const std::string& why);
  /// Returns the number of repeated requests.
  std::uint64_t retries() const { return retries_; }

 private:
  std::atomic<std::uint64_t> retries_{0};
  Mutex mutex_;
  std::chrono::steady_clock::time_point silent_until_ FT_GUARDED_BY(mutex_) = {};
};

/// Fetches ranges. Methods may be called from any thread; each call has its own connection, and connections are kept.
class HttpClient {
 public:
  struct Patience {
    int retries = 5;                             ///< tries after the first one
    std::chrono::seconds timeout{30};            ///< limit without a connection, or nearly without bytes
    std::chrono::milliseconds first_delay{250};  ///< delay before the first retry; doubled for each further one
  };

  /// The longest delay between two tries, and the longest wait that a server may ask for with Retry-After.
  static constexpr std::chrono::milliseconds longest_delay = std::chrono::seconds(30),
                                             longest_wait = std::chrono::seconds(60);

  /// `outages` records each retry, and must outlive this. Throws UserError(data) if there is no libcurl.
  HttpClient(Patience patience, Outages& outages);

  /// Fills `into` (not empty) from byte `first` on; after a broken transfer only the rest is requested again. The file
  /// must have the version `expected`, unless that is null. Returns its current version. Throws RemoteError, also if
  /// the thread's ReadsUntil ends the wait.
  RemoteVersion fetch(const RemoteLocation& from, const RemoteVersion* expected, std::uint64_t first,
                      std::span<std::byte> into) const;

 private:
  using Handle = std::unique_ptr<void, void (*)(void*)>;
  Handle borrow() const;
  void give_back(void* handle) const;
  void wait(std::chrono::milliseconds delay) const;

  Patience patience_;
  Outages& outages_;
  mutable Mutex mutex_;
  mutable std::size_t handles_ FT_GUARDED_BY(mutex_) = 0;  ///< handles that are idle or at work
  /// The handle used last comes first, because its connection is most likely open.
  mutable std::vector<Handle> idle_ FT_GUARDED_BY(mutex_);
};

}  // namespace flowtrain
