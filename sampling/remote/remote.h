#pragma once
// Files on servers. The door to everything under sampling/remote/: data sets open files here, and read them like local
// ones, through the cache if there is one.

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

/// Sixteen random hexadecimal digits.
std::string random_name();

/// What all files of a data set share.
struct RemoteAccess {
  /// `requests`: of the read-ahead, at once; 0: none.
  RemoteAccess(const HttpClient::Patience& patience, std::unique_ptr<DiskCache> where, std::size_t requests = 0)
      : client(patience, outages), cache(std::move(where)) {
    if (requests > 0) ahead = std::make_unique<ReadAhead>(requests, patience.timeout, patience.first_delay, outages);
  }

  Outages outages;
  HttpClient client;
  std::unique_ptr<DiskCache> cache;  ///< may be null
  /// Stands in the cache for the version of a file where the server names none: nobody can tell then whether the file
  /// is that of an earlier start, so what is kept counts for this one alone.
  const std::string this_start = random_name();
  mutable std::atomic_flag told_of_versions;  ///< set once it was said that a server names none
  std::unique_ptr<ReadAhead> ahead = {};      ///< may be null
};

/// One version of a file on a server: once the server has another one, reading fails. Without a cache exactly the bytes
/// asked for are fetched; with one, the blocks that they lie in.
class RemoteFile final : public ByteSource {
 public:
  /// The size of a block, which is fetched and kept as one piece.
  static constexpr std::uint64_t block_bytes = 1 << 20;

  /// Asks the server for the file's version. Throws RemoteError.
  RemoteFile(const std::string& path, std::shared_ptr<const RemoteAccess> access);

  std::uint64_t size_bytes() const override { return target_->version.size_bytes; }
  /// Throws RemoteError.
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) const override;
  /// The bytes will be read once, though not yet: when something near them is fetched, they may come along. This and
  /// begin() return at once, and do nothing without a read-ahead.
  void expect(std::uint64_t offset, std::uint64_t size_bytes) const;
  /// Fetches what was expected, so that read_at() finds it there, or on its way.
  void begin(std::uint64_t offset, std::uint64_t size_bytes) const;
  /// The bytes were expected, and will not be read.
  void forget(std::uint64_t offset, std::uint64_t size_bytes) const;

  /// What was kept in the cache for this version of the file under this name; nothing where it is not there any more.
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
  mutable std::set<std::uint64_t> being_fetched_ FT_GUARDED_BY(mutex_);  ///< blocks
};

/// The keys of a data set that may be remote: `requests`, `retries`, `timeout_s`, `cache` and `cache_mb`.
std::vector<Key> remote_keys();

/// The connections and the cache that the settings ask for. Throws UserError(data) for a cache folder that cannot be
/// written.
std::shared_ptr<const RemoteAccess> remote_access(const Settings& settings);

}  // namespace flowtrain
