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

/// Counts the requests that are repeated, and warns of the first one, then once a minute at most: a server that is away
/// fails hundreds. Any thread.
class Outages {
 public:
  /// A request for `url` failed and will be repeated.
  void add(const std::string& url, const std::string& why);
  /// Requests that were repeated.
  std::uint64_t retries() const { return retries_; }

 private:
  std::atomic<std::uint64_t> retries_{0};
  Mutex mutex_;
  std::chrono::steady_clock::time_point silent_until_ FT_GUARDED_BY(mutex_) = {};
};

/// Methods may be called from any thread; each call has a connection of its own, and connections are kept for the next.
class HttpClient {
 public:
  struct Patience {
    int retries = 5;                             ///< after the first try
    std::chrono::seconds timeout{30};            ///< without a connection, or nearly without bytes
    std::chrono::milliseconds first_delay{250};  ///< before the first retry; doubled for each that follows
  };

  /// Between two tries, and where a server asks for more patience with Retry-After, at most.
  static constexpr std::chrono::milliseconds longest_delay = std::chrono::seconds(30),
                                             longest_wait = std::chrono::seconds(60);

  /// `outages` is told of each retry, and must outlive this. Throws UserError(data) where there is no libcurl.
  HttpClient(Patience patience, Outages& outages);

  /// Fills `into` (not empty) from byte `first` on; of a transfer that broke only the rest is asked for again. The file
  /// must be of the version `expected`, unless that is null. Returns the version that is there. Throws RemoteError,
  /// also where the thread's ReadsUntil ends the wait.
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
  mutable std::size_t handles_ FT_GUARDED_BY(mutex_) = 0;  ///< idle or at work
  /// The one used last comes first: its connection is the likeliest to be open.
  mutable std::vector<Handle> idle_ FT_GUARDED_BY(mutex_);
};

}  // namespace flowtrain
