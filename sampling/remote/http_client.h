#pragma once
// Ranges of remote files, asked for until they are there or there is no hope.

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "sampling/core/mutex.h"
#include "sampling/remote/exchange.h"
#include "sampling/remote/location.h"
#include "sampling/remote/outages.h"

namespace flowtrain {

/// Makes CURL ready, once. Throws RemoteError.
void initialize_curl();

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

  /// What waits once `stop` is requested fails within a second. `outages` is told of each retry, and must outlive this.
  HttpClient(Patience patience, std::stop_token stop, Outages& outages);

  /// Which version of the file is there; asks for its first byte. Throws RemoteError.
  RemoteVersion version(const Location& from) const;
  /// Fills `into` (not empty) from byte `first` on, of this version of the file; of a transfer that broke only the rest
  /// is asked for again. Throws RemoteError.
  void read(const Location& from, const RemoteVersion& version, std::uint64_t first, std::span<std::byte> into) const;

 private:
  using Handle = std::unique_ptr<void, void (*)(void*)>;
  class Lease;
  Handle borrow() const;
  void give_back(Handle handle) const;
  RemoteVersion fetch(const Location& from, const RemoteVersion* expected, std::uint64_t first,
                      std::span<std::byte> into) const;

  void wait(std::chrono::milliseconds delay) const;

  Patience patience_;
  std::stop_token stop_;
  Outages& outages_;
  mutable Mutex mutex_;
  mutable std::size_t handles_ FT_GUARDED_BY(mutex_) = 0;  ///< idle or at work
  /// The one used last comes first: its connection is the likeliest to be open.
  mutable std::vector<Handle> idle_ FT_GUARDED_BY(mutex_);
};

}  // namespace flowtrain
