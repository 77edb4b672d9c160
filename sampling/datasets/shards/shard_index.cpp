#include "sampling/datasets/shards/shard_index.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <system_error>

#include "sampling/core/error.h"
#include "sampling/core/in_parallel.h"
#include "sampling/core/parse.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/core/warning.h"
#include "sampling/datasets/kept_index.h"
#include "sampling/io/descriptor.h"
#include "sampling/io/files.h"
#include "sampling/io/tar.h"
#include "sampling/parts/part_collector.h"
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

[[noreturn]] void fail_sample(const Shard& shard, std::string_view key, const std::string& what,
                              const std::string& hint = {}) {
  throw UserError(ExitCode::data, concat(shard.path, ": sample '", key, "': ", what), hint);
}

[[noreturn]] void fail_without_picture(const Shard& shard, std::string_view key) {
  fail_sample(shard, key, concat("it has a label (.cls), but no image (", picture_endings, ") beside it"),
              "put the files of a sample next to each other in the shard; convert images of other kinds");
}

/// Returns the part of a file's name that the files of a sample share.
std::string_view key_of(std::string_view name) { return name.substr(0, name.find('.', name.rfind('/') + 1)); }

bool has_pictures(const Shard& shard) { return std::ranges::any_of(shard.samples, &ShardSample::has_picture); }

/// Returns the index of a kind of members, which may be new; nothing if there are too many.
std::optional<std::uint32_t> kind_index(Shard& shard, std::string_view kind) {
  const auto found = std::ranges::find(shard.kinds, kind);
  if (found == shard.kinds.end() && shard.kinds.size() == max_member_kinds) return {};
  const auto index = static_cast<std::uint32_t>(found - shard.kinds.begin());
  if (found == shard.kinds.end()) shard.kinds.emplace_back(kind);
  return index;
}

/// Removes the samples without an image, which may not have labels.
void drop_without_picture(Shard& shard) {
  if (std::ranges::all_of(shard.samples, &ShardSample::has_picture)) return;
  Shard kept{shard.path, nullptr};
  for (std::size_t i = 0; i < shard.samples.size(); ++i) {
    const auto& sample = shard.samples[i];
    if (!sample.has_picture() && sample.label >= 0) fail_without_picture(shard, key_of(shard.names[i]));
    if (!sample.has_picture()) continue;
    kept.names.add(shard.names[i]);
    kept.samples.push_back(sample);
    const auto members = shard.members_of(i);
    kept.members.insert(kept.members.end(), members.begin(), members.end());
    kept.member_ends.push_back(kept.members.size());
  }
  shard.names = std::move(kept.names);
  shard.samples = std::move(kept.samples);
  shard.members = std::move(kept.members);
  shard.member_ends = std::move(kept.member_ends);
}

/// Removes kinds without members, and frees memory that is not needed: without members a sample takes none for them.
void trim(Shard& shard) {
  std::vector<bool> used(shard.kinds.size());
  for (const auto& member : shard.members) used[member.kind] = true;
  std::vector<std::uint32_t> places(used.size());
  std::vector<std::string> kinds;
  for (std::size_t i = 0; i < used.size(); ++i) {
    places[i] = static_cast<std::uint32_t>(kinds.size());
    if (used[i]) kinds.push_back(std::move(shard.kinds[i]));
  }
  for (auto& member : shard.members) member.kind = places[member.kind];
  shard.kinds = std::move(kinds);
  if (shard.members.empty()) shard.member_ends = {};
  shard.names.shrink_to_fit();
  shard.samples.shrink_to_fit();
  shard.members.shrink_to_fit();
  shard.member_ends.shrink_to_fit();
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
    if (has_pictures(shard_)) drop_without_picture(shard_);
    trim(shard_);
    if (!left_out_.empty())
      warn(concat(shard_.path, ": there are more than ", max_member_kinds, " kinds of files; those of others, such as ",
                  as_utf8(left_out_), ", are left out"));
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
    auto kind = lower_case(entry.name.substr(dot + 1));
    if (is_sound(entry.name) && kind == ending_of(entry.name)) kind = audio_part;  // one part, like all kinds of images
    const bool is_label = kind == "cls", is_image = is_picture(entry.name) && kind == ending_of(entry.name);
    if (is_label || is_image) refuse_twice(kind);
    if (is_label) {
      sample_.label = read_label(entry);
    } else if (is_image && !sample_.has_picture()) {
      name_ = entry.name;
      sample_.offset = entry.offset;
      sample_.size_bytes = entry.size_bytes;
    } else {
      add_member(entry, kind);
    }
  }

  void add_member(const TarEntry& entry, const std::string& kind) {
    if (kind.empty()) return;
    const auto index = kind_index(shard_, kind);
    if (!index) left_out_ = entry.name;
    if (!index) return;
    if (std::ranges::find(members_, *index, &ShardMember::kind) != members_.end())
      fail_twice(kind == audio_part ? "recordings" : concat(".", kind, " files"));
    if (name_.empty()) name_ = entry.name;
    members_.push_back({entry.offset, entry.size_bytes, *index});
    counts_ = counts_ || !is_other_picture(entry.name);
  }

  /// Refuses a second file of one kind, as in two adjacent samples with one key: their labels would be ambiguous.
  void refuse_twice(const std::string& ending) {
    if (std::ranges::find(endings_, ending) != endings_.end()) fail_twice(concat(".", ending, " files"));
    endings_.push_back(ending);
  }
  [[noreturn]] void fail_twice(const std::string& what) const {
    fail("it has two " + what, "give each sample of a shard a key of its own");
  }

  /// Finishes a sample; files without an image and a label are one if the whole data set has no images.
  void finish_sample() {
    if (!sample_.has_picture() && !counts_ && sample_.label >= 0) fail_without_picture(shard_, key_);
    if (sample_.has_picture() || counts_) {
      shard_.names.add(name_);
      shard_.samples.push_back(sample_);
      shard_.members.insert(shard_.members.end(), members_.begin(), members_.end());
      shard_.member_ends.push_back(shard_.members.size());
    }
    name_.clear();
    endings_.clear();
    members_.clear();
    counts_ = false;
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
    fail_sample(shard_, key_, what, hint);
  }

  Shard& shard_;
  const ByteSource& bytes_;
  std::int64_t labels_end_;
  std::string key_, name_;            ///< name_: name of the sample's image, or else of its first member
  std::vector<std::string> endings_;  ///< extensions of the sample's label and images; there are seven at most
  std::vector<ShardMember> members_;  ///< members of the sample
  bool counts_ = false;               ///< a member makes it a sample
  ShardSample sample_{0, 0, -1};
  std::string left_out_;  ///< a file of too many kinds
};

/// The name of an index in the cache. Its number changes with the layout and with the rules for samples (see also
/// KeptIndex).
constexpr std::string_view index_name = "webdataset index 5";

template <class T>
void put(std::vector<std::byte>& bytes, const T& value) {
  const auto part = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), part.begin(), part.end());
}

void put(std::vector<std::byte>& bytes, std::string_view text) {
  const auto characters = std::as_bytes(std::span(text));
  bytes.insert(bytes.end(), characters.begin(), characters.end());
}

constexpr std::uint32_t length_mask = 0xff'ffff;  // names in archives have at most 1 MiB

/// Encodes each sample: offset and size of its image (u64), label (i32), length of the name (24 bits) and number of
/// members (8 bits), the name; for each member: offset, size (u64), length of its kind (u32), the kind.
std::vector<std::byte> encode(const Shard& shard) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < shard.samples.size(); ++i) {
    const auto& sample = shard.samples[i];
    const auto name = shard.names[i];
    const auto members = shard.members_of(i);
    put(bytes, sample.offset);
    put(bytes, sample.size_bytes);
    put(bytes, sample.label);
    put(bytes, static_cast<std::uint32_t>(name.size() | members.size() << 24));
    put(bytes, name);
    for (const auto& member : members) {
      put(bytes, member.offset);
      put(bytes, member.size_bytes);
      put(bytes, static_cast<std::uint32_t>(shard.kinds[member.kind].size()));
      put(bytes, std::string_view(shard.kinds[member.kind]));
    }
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

/// Takes a text of this length; nothing if the bytes end before.
std::optional<std::string_view> take_text(std::span<const std::byte>& bytes, std::size_t length) {
  if (length > bytes.size()) return {};
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), length);
  bytes = bytes.subspan(length);
  return text;
}

/// Takes a range of the file that has `file_bytes` bytes.
std::optional<std::pair<std::uint64_t, std::uint64_t>> take_range(std::span<const std::byte>& bytes,
                                                                  std::uint64_t file_bytes) {
  const auto offset = take<std::uint64_t>(bytes), size_bytes = take<std::uint64_t>(bytes);
  if (!size_bytes || *offset > file_bytes || *size_bytes > file_bytes - *offset) return {};
  return std::pair(*offset, *size_bytes);
}

/// Fills in names, samples and members; returns false for bytes that encode() would not write, or forbidden labels.
bool decode(std::span<const std::byte> bytes, std::int64_t labels_end, Shard& shard) {
  const auto file_bytes = shard.file->size_bytes();
  while (!bytes.empty()) {
    const auto range = take_range(bytes, file_bytes);
    const auto label = take<std::int32_t>(bytes);
    const auto lengths = take<std::uint32_t>(bytes);
    if (!range || !lengths || *label < -1 || *label >= labels_end) return false;
    const auto name = take_text(bytes, *lengths & length_mask);
    if (!name) return false;
    shard.names.add(*name);
    shard.samples.push_back({range->first, range->second, *label});
    for (auto left = *lengths >> 24; left > 0; --left) {
      const auto own = take_range(bytes, file_bytes);
      const auto length = take<std::uint32_t>(bytes);
      const auto kind = length ? take_text(bytes, *length) : std::nullopt;
      const auto index = kind ? kind_index(shard, *kind) : std::nullopt;
      if (!own || !index) return false;
      shard.members.push_back({own->first, own->second, *index});
    }
    shard.member_ends.push_back(shard.members.size());
  }
  trim(shard);
  return true;
}

/// Scans the shard through `bytes`, after removing the samples of an index that does not fit.
void scan(Shard& shard, const ByteSource& bytes, std::int64_t labels_end) {
  shard.names = {};
  shard.samples.clear();
  shard.kinds.clear();
  shard.members.clear();
  shard.member_ends.clear();
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

std::span<const ShardMember> Shard::members_of(std::size_t sample) const {
  if (member_ends.empty()) return {};
  const auto begin = sample == 0 ? 0 : member_ends[sample - 1];
  return std::span(members).subspan(begin, member_ends[sample] - begin);
}

Shards index_shards(const std::vector<std::string>& paths, std::int64_t labels_end, const Settings& settings) {
  const bool remote = is_remote(paths.front());  // all are remote then
  std::vector<Shard> shards;
  shards.reserve(paths.size());
  for (const auto& path : paths) shards.push_back({remote ? public_name(path) : path, nullptr});
  const auto access = remote ? remote_access(settings) : nullptr;
  // A cold header costs a disk access or a round trip to the server, so several are read at once.
  in_parallel(shards.size(), 8, [&](std::size_t i) {
    if (remote)
      index_remote(shards[i], paths[i], labels_end, access);
    else
      index_local(shards[i], labels_end);
  });
  if (std::ranges::any_of(shards, has_pictures))
    for (auto& shard : shards) {
      drop_without_picture(shard);
      trim(shard);
    }
  return {std::move(shards), access};
}

}  // namespace flowtrain
