#pragma once
// Writes documents of token ids as shards, and continues where an earlier process was stopped.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "pipeline/tools/pack/shard_writer.h"
#include "sampling/datasets/text/token_shard.h"

namespace flowtrain {

/// Writes the shards `<prefix>-000000.tokens`, … to a folder. Each appears whole or not at all, and equal documents
/// give equal bytes. A shard is kept in memory until it is full. Used by one thread.
class TokenWriter {
 public:
  /// The sums over all shards that are on the disk.
  struct Totals {
    std::uint64_t shards = 0, documents = 0, ids = 0, text_bytes = 0, bytes = 0, bad = 0;
  };

  /// `form` has the vocabulary and the end of a text; limits.samples counts documents.
  TokenWriter(std::filesystem::path folder, std::string prefix, ShardLimits limits, const TokenHeader& form);

  /// Counts the shards that are in the folder already, and removes what an interruption left unfinished. Returns the
  /// number of records that they have taken: the next record.
  std::uint64_t resume();
  /// Adds the ids of record `record`, and ends the shard before if they do not fit into it. Throws system_error(), and
  /// UserError(usage) beyond a million shards.
  void add(std::uint64_t record, std::span<const std::uint32_t> ids, std::uint64_t text_bytes);
  /// Adds a line on a record that is left out: `<prefix>-000000.bad.jsonl` beside the shard has it.
  void leave_out(const std::string& line) { bad_samples_ += line; }
  /// Ends the last shard, which takes all records below `records`. Called once.
  void finish(std::uint64_t records);

  const Totals& totals() const { return totals_; }
  /// Returns the first record that no shard on the disk has taken.
  std::uint64_t next_record() const { return header_.first_record; }
  /// Returns the ids of all documents so far.
  std::uint64_t ids() const { return totals_.ids + header_.ids; }

 private:
  std::filesystem::path path(std::uint64_t shard, const char* ending) const;
  void count(const TokenHeader& header);
  void end_shard(std::uint64_t next_record);

  std::filesystem::path folder_;
  std::string prefix_;
  ShardLimits limits_;
  TokenHeader header_;  ///< header of the shard that is being made
  std::vector<std::uint64_t> documents_{0};
  std::vector<std::byte> ids_;
  std::string bad_samples_;
  Totals totals_;
};

}  // namespace flowtrain
