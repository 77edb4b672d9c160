#pragma once
// Files on servers. Data sets open files here, and read them like local ones, through the cache if there is one.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/core/mutex.h"
#include "sampling/io/descriptor.h"
#include "sampling/remote/disk_cache.h"
#include "sampling/remote/http_client.h"
#include "sampling/remote/read_ahead.h"

namespace flowtrain {

struct Key;
class Settings;

/// Returns sixteen random hexadecimal digits.
std::string random_name();

/// The objects that all files of a data set share.
struct RemoteAccess {
  /// `requests` is the number of simultaneous requests of the read-ahead; 0: none.
  RemoteAccess(const HttpClient::Patience& patience, std::unique_ptr<DiskCache> where, std::size_t requests = 0)
      : client(patience, outages), cache(std::move(where)) {
    if (requests > 0) ahead = std::make_unique<ReadAhead>(requests, patience.timeout, patience.first_delay, outages);
  }

  Outages outages;
  HttpClient client;
  std::unique_ptr<DiskCache> cache;  ///< may be null
  /// Replaces the version of a file in the cache if the server names none: the file may then differ from that of an
  /// earlier start, so its blocks count for this start only.
  const std::string this_start = random_name();
  mutable std::atomic_flag warned_of_versions;  ///< set once the user was told that a server names none
  std::unique_ptr<ReadAhead> ahead = {};        ///< may be null
};

/// One version of a file on a server: reading fails once the server has another one. Without a cache exactly the
/// requested bytes are fetched; with one, their blocks.
class RemoteFile final : public ByteSource {
 public:
  /// The size of a block, which is fetched and kept as one piece.
  static constexpr std::uint64_t block_bytes = 1 << 20;

  /// Asks the server for the file's version. Throws RemoteError.
  RemoteFile(const std::string& path, std::shared_ptr<const RemoteAccess> access);

  std::uint64_t size_bytes() const override { return target_->version.size_bytes; }
  /// Throws RemoteError.
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) const override;
  /// Announces that the bytes will be read once, but not yet: they may be fetched along with others nearby. This and
  /// begin() return at once, and do nothing without a read-ahead.
  void expect(std::uint64_t offset, std::uint64_t size_bytes) const;
  /// Fetches expected bytes, so that read_at() finds them here, or on their way.
  void begin(std::uint64_t offset, std::uint64_t size_bytes) const;
  /// Withdraws expected bytes, which will not be read.
  void forget(std::uint64_t offset, std::uint64_t size_bytes) const;

  /// Returns the contents in the cache for this version of the file under this name; nothing if they are gone.
  std::optional<std::vector<std::byte>> recall(std::string_view name) const;
  void keep(std::string_view name, std::span<const std::byte> bytes) const;

 private:
  std::uint64_t claim(std::uint64_t first, std::uint64_t last) const;
  void release(std::uint64_t first, std::uint64_t end) const;
  std::string key(std::string_view name) const;
  std::string key(std::uint64_t block) const;
  std::size_t read_cached(std::uint64_t offset, std::span<std::byte> into) const;
  std::size_t fetch_blocks(std::uint64_t offset, std::span<std::byte> into) const;
  bool take(std::uint64_t offset, std::span<std::byte> into) const;
  std::uint64_t block_size(std::uint64_t block) const;

  std::shared_ptr<const RemoteAccess> access_;
  std::shared_ptr<const RemoteTarget> target_;
  mutable Mutex mutex_;
  mutable CondVar fetched_;
  mutable std::set<std::uint64_t> being_fetched_ FT_GUARDED_BY(mutex_);  ///< numbers of blocks
};

/// Returns the keys of a data set that may be remote: `requests`, `retries`, `timeout_s`, `cache` and `cache_mb`.
std::vector<Key> remote_keys();

/// Makes the connections and the cache of the settings. Throws UserError(data) for a cache folder that cannot be
/// written.
std::shared_ptr<const RemoteAccess> remote_access(const Settings& settings);

}  // namespace flowtrain
