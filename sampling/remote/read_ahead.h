#pragma once
// Fetches bytes of remote files before they are read: many requests at once, on one thread.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "sampling/core/mutex.h"
#include "sampling/remote/http_client.h"

namespace flowtrain {

/// A file on a server, in the version that is read.
struct RemoteTarget {
  RemoteLocation location;
  RemoteVersion version = {};
};

/// A caller names pieces of a file: it first expects a piece, then begins it, then takes it. Beginning a piece fetches
/// it together with those of its neighbours that are expected, as one request if they are close together. An order that
/// stays within a part of a file for a while thus makes few requests. All methods may be called from any thread; all
/// but take() return at once.
///
/// It does not repeat a request that failed for good, and it throws nothing: the reader of a missing piece asks for it
/// through HttpClient, and meets the error, or the waiting, there. After a failure that may pass it pauses, longer each
/// time, and then goes on fetching. Memory: the pieces that are begun, and up to 256 MiB fetched along with them.
class ReadAhead {
 public:
  using File = std::shared_ptr<const RemoteTarget>;

  /// Allows `requests` under way. A HttpClient must have been made before; the rest is as there.
  ReadAhead(std::size_t requests, std::chrono::seconds timeout, std::chrono::milliseconds first_delay,
            Outages& outages);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;

  /// Announces that the bytes will be taken, or forgotten, as often as they are expected; with `once`, one take() gets
  /// the bytes of many calls.
  void expect(const File& file, std::uint64_t offset, std::uint64_t size_bytes, bool once = false);
  /// Announces that the bytes will be taken soon. Does nothing if they are not expected.
  void begin(const File& file, std::uint64_t offset);
  /// Fills `into`, waiting for a request under way, until the thread's ReadsUntil ends that. Returns false if the
  /// caller must fetch the bytes itself.
  bool take(const File& file, std::uint64_t offset, std::span<std::byte> into);
  /// Withdraws bytes that are not needed any more.
  void forget(const File& file, std::uint64_t offset);

 private:
  struct Request;
  struct Place {
    File file;
    std::uint64_t offset;
    auto operator<=>(const Place&) const = default;
  };
  struct Piece {
    std::uint64_t size_bytes;
    std::uint64_t wanted = 1;                    ///< number of times that it will be taken
    bool begun = false;                          ///< begun and not failed since: there will be a request
    std::shared_ptr<Request> request = nullptr;  ///< request that brings or brought it; null if it failed
  };
  using Pieces = std::map<Place, Piece>;

  void let_go(Pieces::iterator piece) FT_REQUIRES(mutex_);
  void loop();
  void start_requests();
  std::shared_ptr<Request> next_request() FT_EXCLUDES(mutex_);
  std::shared_ptr<Request> request_for(Pieces::iterator piece) FT_REQUIRES(mutex_);
  void finish_requests();
  void finish(Request& request, const std::optional<RemoteFailure>& failure) FT_EXCLUDES(mutex_);
  int idle_ms() const FT_REQUIRES(mutex_);

  const std::size_t most_requests_;
  const std::chrono::seconds timeout_;
  const std::chrono::milliseconds first_delay_;
  Outages& outages_;

  Mutex mutex_;
  std::condition_variable_any changed_;
  Pieces pieces_ FT_GUARDED_BY(mutex_);
  std::deque<Place> begun_ FT_GUARDED_BY(mutex_);       ///< pieces in order; some were fetched or taken meanwhile
  std::uint64_t held_bytes_ FT_GUARDED_BY(mutex_) = 0;  ///< bytes of all requests that pieces hold
  bool asleep_ FT_GUARDED_BY(mutex_) = false;
  bool over_ FT_GUARDED_BY(mutex_) = false;

  // These members belong to the thread alone.
  void* multi_;                                        ///< CURLM
  std::vector<void*> idle_;                            ///< CURL handles
  std::map<void*, std::shared_ptr<Request>> running_;  ///< keyed by handle
  std::chrono::milliseconds delay_;
  std::chrono::steady_clock::time_point not_before_ = {};
  std::jthread thread_;
};

}  // namespace flowtrain
