#include "sampling/datasets/shard_index.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <system_error>
#include <thread>

#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/datasets/kept_index.h"
#include "sampling/io/descriptor.h"
#include "sampling/io/files.h"
#include "sampling/io/tar.h"
#include "sampling/remote/remote.h"

namespace flowtrain {
namespace {

std::unique_ptr<Descriptor> open_local(const std::string& path) {
  try {
    return std::make_unique<Descriptor>(Descriptor::file(path.c_str()));
  } catch (const std::system_error& error) {
    const bool too_many = error.code() == std::errc::too_many_files_open;
    throw UserError(ExitCode::data, path + ": " + error.code().message(),
                    too_many ? "every shard stays open: raise the limit with ulimit -n" : "");
  }
}

/// Combines a shard's files into samples.
class Indexer {
 public:
  /// Reads the shard through `bytes`; labels must be below `labels_end`.
  Indexer(Shard& shard, const ByteSource& bytes, std::int64_t labels_end)
      : shard_(shard), bytes_(bytes), labels_end_(labels_end) {}

  void run() {
    scan_tar(bytes_, shard_.path, [this](const TarEntry& entry) { take(entry); });
    finish_sample();
    shard_.names.shrink_to_fit();
    shard_.samples.shrink_to_fit();
  }

 private:
  void take(const TarEntry& entry) {
    const auto base = entry.name.rfind('/') + 1;  // 0 if there is no slash
    const auto dot = entry.name.find('.', base);
    if (dot == entry.name.npos || dot == base) return;
    const auto key = entry.name.substr(0, dot);
    if (key != key_) {
      finish_sample();
      key_ = key;
    }
    const auto ending = ending_of(entry.name);
    if (entry.name.size() - dot != ending.size() + 1) return;  // a file such as "a.seg.png" is not the sample's image
    if (ending != "cls" && !is_picture(entry.name)) return;
    refuse_twice(ending);
    if (ending == "cls") {
      sample_.label = read_label(entry);
    } else if (picture_.empty()) {
      picture_ = entry.name;
      sample_.offset = entry.offset;
      sample_.size_bytes = entry.size_bytes;
    }
  }

  /// Refuses a second file of one kind, as in two adjacent samples with one key: their labels would be ambiguous.
  void refuse_twice(const std::string& ending) {
    if (std::ranges::find(endings_, ending) != endings_.end())
      fail("it has two ." + ending + " files", "give each sample of a shard a key of its own");
    endings_.push_back(ending);
  }

  /// Finishes a sample; files without an image and a label are no sample.
  void finish_sample() {
    if (picture_.empty() && sample_.label >= 0)
      fail(concat("it has a label (.cls), but no image (", picture_endings, ") beside it"),
           "put the files of a sample next to each other in the shard; convert images of other kinds");
    if (!picture_.empty()) {
      shard_.names.add(picture_);
      shard_.samples.push_back(sample_);
    }
    picture_.clear();
    endings_.clear();
    sample_ = {0, 0, -1};
  }

  std::int32_t read_label(const TarEntry& entry) const {
    char digits[32];
    if (entry.size_bytes > sizeof(digits)) fail("the .cls is not an integer");
    const auto got = bytes_.read_at(entry.offset, std::as_writable_bytes(std::span(digits, entry.size_bytes)));
    const auto parsed = parse_number<std::int64_t>(trimmed({digits, got}));
    if (!parsed) fail("the .cls is not an integer");
    const auto label = *parsed;
    if (label < 0 || label >= labels_end_)
      fail("label " + std::to_string(label) + " is not within 0 to " + std::to_string(labels_end_ - 1));
    return static_cast<std::int32_t>(label);
  }

  [[noreturn]] void fail(const std::string& what, const std::string& hint = {}) const {
    throw UserError(ExitCode::data, shard_.path + ": sample '" + key_ + "': " + what, hint);
  }

  Shard& shard_;
  const ByteSource& bytes_;
  std::int64_t labels_end_;
  std::string key_, picture_;
  std::vector<std::string> endings_;  ///< extensions of the sample's label and images; there are seven at most
  ShardSample sample_{0, 0, -1};
};

/// The name of an index in the cache. Its number changes with the layout and with the rules for samples (see also
/// KeptIndex).
constexpr std::string_view index_name = "webdataset index 2";

template <class T>
void put(std::vector<std::byte>& bytes, const T& value) {
  const auto part = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), part.begin(), part.end());
}

/// Encodes each sample: offset and size of its image (u64), label (i32), length of the name (u32), the name.
std::vector<std::byte> encode(const Shard& shard) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < shard.samples.size(); ++i) {
    const auto& sample = shard.samples[i];
    const auto name = shard.names[i];
    put(bytes, sample.offset);
    put(bytes, sample.size_bytes);
    put(bytes, sample.label);
    put(bytes, static_cast<std::uint32_t>(name.size()));
    const auto characters = std::as_bytes(std::span(name));
    bytes.insert(bytes.end(), characters.begin(), characters.end());
  }
  return bytes;
}

template <class T>
std::optional<T> take(std::span<const std::byte>& bytes) {
  T value;
  if (bytes.size() < sizeof(value)) return {};
  std::memcpy(&value, bytes.data(), sizeof(value));
  bytes = bytes.subspan(sizeof(value));
  return value;
}

/// Fills in names and samples; returns false for bytes that encode() would not write, or forbidden labels.
bool decode(std::span<const std::byte> bytes, std::int64_t labels_end, Shard& shard) {
  const auto file_bytes = shard.file->size_bytes();
  while (!bytes.empty()) {
    const auto offset = take<std::uint64_t>(bytes), size_bytes = take<std::uint64_t>(bytes);
    const auto label = take<std::int32_t>(bytes);
    const auto length = take<std::uint32_t>(bytes);
    if (!length || *length > bytes.size() || *offset > file_bytes || *size_bytes > file_bytes - *offset ||
        *label < -1 || *label >= labels_end)
      return false;
    shard.names.add({reinterpret_cast<const char*>(bytes.data()), *length});
    shard.samples.push_back({*offset, *size_bytes, *label});
    bytes = bytes.subspan(*length);
  }
  shard.names.shrink_to_fit();
  shard.samples.shrink_to_fit();
  return true;
}

/// Scans the shard through `bytes`, after removing the samples of an index that does not fit.
void scan(Shard& shard, const ByteSource& bytes, std::int64_t labels_end) {
  shard.names = {};
  shard.samples.clear();
  Indexer(shard, bytes, labels_end).run();
}

void index_local(Shard& shard, std::int64_t labels_end) {
  auto opened = open_local(shard.path);
  const auto& file = *opened;
  shard.file = std::move(opened);
  const KeptIndex index(shard.path, file);
  if (const auto kept = index.recall(); kept && decode(*kept, labels_end, shard)) return;
  scan(shard, file, labels_end);
  index.keep(encode(shard));
}

void index_remote(Shard& shard, const std::string& url, std::int64_t labels_end,
                  const std::shared_ptr<const RemoteAccess>& access) {
  try {
    auto opened = std::make_unique<RemoteFile>(url, access);
    const auto& file = *opened;
    shard.remote = &file;
    shard.file = std::move(opened);
    if (const auto kept = file.recall(index_name); kept && decode(*kept, labels_end, shard)) return;
    scan(shard, ScanWindow(file), labels_end);
    file.keep(index_name, encode(shard));
  } catch (const RemoteError& error) {
    throw UserError(ExitCode::data, shard.path + ": " + error.what(), error.hint());
  }
}

}  // namespace

Shards index_shards(const std::vector<std::string>& paths, std::int64_t labels_end, const Settings& settings) {
  const bool remote = is_remote(paths.front());  // all are remote then
  std::vector<Shard> shards;
  for (const auto& path : paths) shards.push_back({remote ? public_name(path) : path, nullptr});
  const auto access = remote ? remote_access(settings) : nullptr;
  std::vector<std::exception_ptr> failures(shards.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < shards.size();) {
      try {
        if (remote)
          index_remote(shards[i], paths[i], labels_end, access);
        else
          index_local(shards[i], labels_end);
      } catch (...) {
        failures[i] = std::current_exception();
        next = shards.size();  // the shards before it are being read: the first failure is the same each time
      }
    }
  };
  {
    // A cold header costs a disk access or a round trip to the server, so several are read at once.
    std::vector<std::jthread> others(std::min<std::size_t>(shards.size(), 8) - 1);
    for (auto& thread : others) thread = std::jthread(work);
    work();
  }
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
  return {std::move(shards), access};
}

}  // namespace flowtrain
