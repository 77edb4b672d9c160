#include "pipeline/tools/pack/token_writer.h"

#include <algorithm>
#include <cstring>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/tools/pack/packing.h"
#include "sampling/core/error.h"

namespace flowtrain {
namespace {

constexpr const char *shard_ending = ".tokens", *bad_ending = ".bad.jsonl";

}  // namespace

TokenWriter::TokenWriter(std::filesystem::path folder, std::string prefix, ShardLimits limits, const TokenHeader& form)
    : folder_(std::move(folder)), prefix_(std::move(prefix)), limits_(limits), header_(form) {
  header_.width = token_width(header_.vocabulary);
  ids_.reserve(std::min<std::uint64_t>(limits.bytes, 1 << 28));  // growing would take the memory twice
}

std::filesystem::path TokenWriter::path(std::uint64_t shard, const char* ending) const {
  return folder_ / shard_name(prefix_, shard, ending);
}

std::uint64_t TokenWriter::resume() {
  for (auto shard = path(0, shard_ending); std::filesystem::exists(shard); shard = path(totals_.shards, shard_ending)) {
    const TokenHeader header = TokenShard(shard).header();
    if (header.first_record != header_.first_record)
      throw UserError(ExitCode::data, shard.string() + ": the shard does not follow the one before it",
                      "remove this folder to pack all again: " + folder_.string());
    const auto bad = path(totals_.shards, bad_ending);
    if (std::filesystem::exists(bad))
      totals_.bad += static_cast<std::uint64_t>(std::ranges::count(read_text(bad, std::uint64_t{1} << 32), '\n'));
    count(header);
    header_.first_record = header.end_record;
  }
  for (const auto& name : names_in(folder_))
    if (is_leftover(name) || name == path(totals_.shards, bad_ending).filename()) remove_quietly(folder_ / name);
  return header_.first_record;
}

void TokenWriter::count(const TokenHeader& header) {
  ++totals_.shards;
  totals_.documents += header.documents;
  totals_.ids += header.ids;
  totals_.text_bytes += header.text_bytes;
  totals_.bytes += sizeof header + (header.documents + 1) * sizeof(std::uint64_t) + header.ids * header.width;
}

void TokenWriter::add(std::uint64_t record, std::span<const std::uint32_t> ids, std::uint64_t text_bytes) {
  const auto bytes = ids.size() * header_.width;
  const bool too_large = limits_.bytes > 0 && ids_.size() + bytes > limits_.bytes;
  const bool full = limits_.samples > 0 && header_.documents == limits_.samples;
  if (header_.documents > 0 && (too_large || full)) end_shard(record);
  const auto begin = ids_.size();
  ids_.resize(begin + bytes);
  if (header_.width == 2) {
    auto* to = ids_.data() + begin;
    for (const auto id : ids) {
      const auto narrow = static_cast<std::uint16_t>(id);
      std::memcpy(to, &narrow, sizeof narrow);
      to += sizeof narrow;
    }
  } else {
    std::memcpy(ids_.data() + begin, ids.data(), bytes);
  }
  header_.ids += ids.size();
  header_.text_bytes += text_bytes;
  documents_.push_back(header_.ids);
  ++header_.documents;
}

void TokenWriter::end_shard(std::uint64_t next_record) {
  check_shards(totals_.shards);
  header_.end_record = next_record;
  // The list comes first: resume() removes one without its shard.
  if (!bad_samples_.empty()) write_file_atomically(path(totals_.shards, bad_ending), bad_samples_);
  totals_.bad += static_cast<std::uint64_t>(std::ranges::count(bad_samples_, '\n'));
  write_file_atomically(path(totals_.shards, shard_ending), [this](File& file) {
    file.write(std::as_bytes(std::span(&header_, 1)));
    file.write(std::as_bytes(std::span(documents_)));
    file.write(ids_);
  });
  count(header_);
  header_.first_record = next_record;
  header_.ids = header_.documents = header_.text_bytes = 0;
  documents_.assign(1, 0);
  ids_.clear();
  bad_samples_.clear();
}

void TokenWriter::finish(std::uint64_t records) {
  if (header_.documents > 0) end_shard(records);
}

}  // namespace flowtrain
