#include "sampling/remote/remote.h"

#include <algorithm>
#include <cstring>

#include "sampling/core/warning.h"

namespace flowtrain {
namespace {

/// The largest number of blocks of one request.
constexpr std::uint64_t most_blocks = 8;

}  // namespace

/// Claims for this thread the block `first` and those after it, up to `last`, that are neither in the cache nor
/// claimed; other threads that need them wait for release(). Returns the end of the claimed blocks. If another thread
/// has `first`, waits until it is done and claims nothing.
std::uint64_t RemoteFile::claim(std::uint64_t first, std::uint64_t last) const {
  MutexLock lock(mutex_);
  if (being_fetched_.contains(first)) {
    while (being_fetched_.contains(first)) fetched_.wait(lock);
    return first;
  }
  last = std::min(last, first + most_blocks - 1);
  auto end = first;
  do being_fetched_.insert(end++);
  while (end <= last && !being_fetched_.contains(end) && !access_->cache->has(key(end)));
  return end;
}

void RemoteFile::release(std::uint64_t first, std::uint64_t end) const {
  {
    const MutexLock lock(mutex_);
    for (auto block = first; block < end; ++block) being_fetched_.erase(block);
  }
  fetched_.notify_all();
}

RemoteFile::RemoteFile(const std::string& path, std::shared_ptr<const RemoteAccess> access)
    : access_(std::move(access)) {
  RemoteTarget target{locate(path)};
  std::byte first_byte;
  target.version = access_->client.fetch(target.location, nullptr, 0, {&first_byte, 1});
  target_ = std::make_shared<const RemoteTarget>(std::move(target));
  if (access_->cache && target_->version.tag.empty() && !access_->warned_of_versions.test_and_set())
    warn(public_name(path) +
         ": the server names no version of its files (ETag or Last-Modified), so each start "
         "fetches them again; data.cache serves this start only");
}

void RemoteFile::expect(std::uint64_t offset, std::uint64_t size_bytes) const {
  if (!access_->ahead || size_bytes == 0) return;
  if (!access_->cache) return access_->ahead->expect(target_, offset, size_bytes);
  for (auto block = offset / block_bytes; block <= (offset + size_bytes - 1) / block_bytes; ++block)
    if (!access_->cache->has(key(block))) access_->ahead->expect(target_, block * block_bytes, block_size(block), true);
}

void RemoteFile::begin(std::uint64_t offset, std::uint64_t size_bytes) const {
  if (!access_->ahead || size_bytes == 0) return;
  if (!access_->cache) return access_->ahead->begin(target_, offset);
  for (auto block = offset / block_bytes; block <= (offset + size_bytes - 1) / block_bytes; ++block)
    access_->ahead->begin(target_, block * block_bytes);
}

// Blocks in a cache stay expected, because others may expect them as well: they are fetched and kept there.
void RemoteFile::forget(std::uint64_t offset, std::uint64_t size_bytes) const {
  if (access_->ahead && !access_->cache && size_bytes > 0) access_->ahead->forget(target_, offset);
}

bool RemoteFile::take(std::uint64_t offset, std::span<std::byte> into) const {
  return access_->ahead && access_->ahead->take(target_, offset, into);
}

std::uint64_t RemoteFile::block_size(std::uint64_t block) const {
  return std::min(block_bytes, size_bytes() - block * block_bytes);
}

std::size_t RemoteFile::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  if (offset >= size_bytes()) return 0;
  into = into.first(std::min<std::uint64_t>(into.size(), size_bytes() - offset));
  if (into.empty()) return 0;
  if (!access_->cache) {
    if (!take(offset, into)) access_->client.fetch(target_->location, &target_->version, offset, into);
    return into.size();
  }
  for (std::size_t done = 0; done < into.size();) {
    auto got = read_cached(offset + done, into.subspan(done));
    if (got == 0) got = fetch_blocks(offset + done, into.subspan(done));
    done += got;
  }
  return into.size();
}

/// Fills `into` up to the end of the block of `offset`; returns how many bytes, 0 if it is not cached.
std::size_t RemoteFile::read_cached(std::uint64_t offset, std::span<std::byte> into) const {
  const auto part = std::min<std::size_t>(into.size(), block_bytes - offset % block_bytes);
  const auto block = offset / block_bytes;
  if (!access_->cache->read(key(block), offset % block_bytes, into.first(part))) return 0;
  if (access_->ahead) access_->ahead->forget(target_, block * block_bytes);  // it was expected before it was cached
  return part;
}

/// Fetches the block at `offset` and missing ones after it; returns how many bytes of `into` that filled: none if
/// another thread is fetching it.
std::size_t RemoteFile::fetch_blocks(std::uint64_t offset, std::span<std::byte> into) const {
  const auto first = offset / block_bytes, begin = first * block_bytes;
  const auto end = claim(first, (offset + into.size() - 1) / block_bytes);
  if (end == first) return 0;
  const auto finish = [&](const RemoteFile* file) { file->release(first, end); };
  const std::unique_ptr<const RemoteFile, decltype(finish)> claimed(this, finish);
  if (const auto got = read_cached(offset, into)) return got;  // another thread was done just before the claim
  thread_local std::vector<std::byte> fetched;
  fetched.resize(std::min(end * block_bytes, size_bytes()) - begin);
  std::size_t there = 0;
  for (std::uint64_t size; there < fetched.size(); there += size) {
    size = block_size((begin + there) / block_bytes);
    if (!take(begin + there, std::span(fetched).subspan(there, size))) break;
  }
  if (there < fetched.size())
    access_->client.fetch(target_->location, &target_->version, begin + there, std::span(fetched).subspan(there));
  for (auto block = first; block < end; ++block) {
    const auto bytes = std::span(fetched).subspan((block - first) * block_bytes);
    access_->cache->write(key(block), bytes.first(std::min<std::uint64_t>(bytes.size(), block_bytes)));
  }
  const auto part = std::min<std::size_t>(into.size(), begin + fetched.size() - offset);
  std::memcpy(into.data(), fetched.data() + (offset - begin), part);
  return part;
}

std::string RemoteFile::key(std::string_view name) const {
  const auto& version = target_->version;
  return target_->location.url + '\n' + (version.tag.empty() ? access_->this_start : version.tag) + '\n' +
         std::to_string(version.size_bytes) + '\n' + std::string(name);
}

std::string RemoteFile::key(std::uint64_t block) const { return key("block " + std::to_string(block)); }

std::optional<std::vector<std::byte>> RemoteFile::recall(std::string_view name) const {
  return access_->cache ? access_->cache->read_all(key(name)) : std::nullopt;
}

void RemoteFile::keep(std::string_view name, std::span<const std::byte> bytes) const {
  if (access_->cache) access_->cache->write(key(name), bytes);
}

}  // namespace flowtrain
