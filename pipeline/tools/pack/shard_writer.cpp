#include "pipeline/tools/pack/shard_writer.h"

#include "pipeline/base/telemetry/format.h"
#include "pipeline/tools/pack/packing.h"
#include "sampling/core/error.h"
#include "sampling/io/tar.h"

namespace flowtrain {
namespace {

constexpr std::uint64_t end_bytes = 2 * tar_block_bytes;

std::string digits(int count, std::uint64_t number) { return printed("%0*ju", count, std::uintmax_t{number}); }

void append_entry(std::string& archive, const std::string& name, std::span<const std::byte> bytes) {
  const auto header = tar_header(name, bytes.size());
  archive.append(header.data(), header.size());
  archive.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  archive.resize((archive.size() + tar_block_bytes - 1) / tar_block_bytes * tar_block_bytes);
}

}  // namespace

void ShardWriter::add(std::uint64_t id, std::int64_t label, std::span<const SampleFile> files) {
  const auto key = digits(9, id), label_text = std::to_string(label);
  entries_.clear();
  // The label comes first, so a reader of labels finds it where the sample begins, whatever the size of the picture.
  if (label >= 0) append_entry(entries_, key + ".cls", std::as_bytes(std::span(label_text)));
  for (auto& file : files) append_entry(entries_, key + '.' + file.ending, file.bytes);

  const bool too_large = limits_.bytes > 0 && shard_bytes_ + entries_.size() + end_bytes > limits_.bytes;
  const bool full = limits_.samples > 0 && shard_samples_ == limits_.samples;
  if (shard_ && (too_large || full)) end_shard();
  if (!shard_) begin_shard();
  shard_->write(entries_);
  shard_bytes_ += entries_.size();
  ++shard_samples_;
  ++samples_;
}

void ShardWriter::begin_shard() {
  check_shards(shards_);
  shard_.emplace(folder_.create_file(shard_name(prefix_, shards_, ".tar")));
  shard_bytes_ = shard_samples_ = 0;
  ++shards_;
}

void ShardWriter::end_shard() {
  shard_->write(std::string(end_bytes, '\0'));
  shard_->sync();
  shard_->close();
  shard_.reset();
  bytes_ += shard_bytes_ + end_bytes;
}

void ShardWriter::finish() {
  if (shard_) end_shard();
}

}  // namespace flowtrain
