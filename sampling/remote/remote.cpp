#include "sampling/remote/remote.h"

#include <filesystem>
#include <random>

#include "sampling/core/settings.h"
#include "sampling/fingerprint.h"

namespace flowtrain {

std::string random_name() {
  std::random_device random;
  return hash_hex(std::uint64_t{random()} << 32 | random());
}

std::vector<Key> remote_keys() {
  return {
      {"requests", Kind::integer, std::int64_t{64},
       "number of simultaneous requests to remote shards, for samples that loader.read_ahead covers", 1, 1024},
      {"retries", Kind::integer, std::int64_t{5}, "number of retries of a failed request to remote shards", 0, 100},
      {"timeout_s", Kind::integer, std::int64_t{30},
       "seconds after which a request to remote shards fails if the server sends nothing, or hardly anything", 1, 3600},
      {.name = "cache",
       .kind = Kind::text,
       .fallback = std::string(),
       .help = "folder that keeps fetched parts of remote shards; empty: none",
       .is_path = true},
      {"cache_mb", Kind::integer, std::int64_t{10240}, "largest size of the cache folder, in MiB", 16, 1 << 30}};
}

std::shared_ptr<const RemoteAccess> remote_access(const Settings& settings) {
  const HttpClient::Patience patience{.retries = static_cast<int>(settings.integer("retries")),
                                      .timeout = std::chrono::seconds(settings.integer("timeout_s"))};
  std::unique_ptr<DiskCache> cache;
  if (const auto& folder = settings.text("cache"); !folder.empty()) {
    try {
      cache = std::make_unique<DiskCache>(folder, static_cast<std::uint64_t>(settings.integer("cache_mb")) << 20);
    } catch (const std::filesystem::filesystem_error& error) {
      throw settings.error("cache", "cannot write to the folder " + folder + ": " + error.code().message(),
                           ExitCode::data, "name a folder that this user may write to");
    }
  }
  return std::make_shared<const RemoteAccess>(patience, std::move(cache),
                                              static_cast<std::size_t>(settings.integer("requests")));
}

}  // namespace flowtrain
