#pragma once
// Shards of token ids: files of documents as the numbers of a tokenizer, mapped into memory.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sampling/io/descriptor.h"

namespace flowtrain {

/// The beginning of a shard. Behind it are the places of the documents' first ids and the end of the last one (u64,
/// `documents` + 1 of them), and then the ids (u16 or u32, by `width`). All numbers are little-endian. If the shard has
/// an `end` id, it is the last one of each document.
struct TokenHeader {
  static constexpr std::array<char, 8> right_magic{'f', 'l', 'o', 'w', 't', 'o', 'k', 's'};
  static constexpr std::uint32_t right_version = 1, no_end = 0xffff'ffff;

  std::array<char, 8> magic = right_magic;
  std::uint32_t version = right_version;
  std::uint32_t width = 2;  ///< bytes of an id: 2 or 4
  std::uint64_t ids = 0, documents = 0;
  std::uint64_t vocabulary = 0;  ///< number above the largest id of the tokenizer
  std::uint32_t end = no_end;    ///< id of the end of a text; `no_end`: none
  std::uint32_t reserved = 0;
  std::uint64_t first_record = 0, end_record = 0;  ///< records of the packed data set that this shard has taken
  std::uint64_t text_bytes = 0;                    ///< bytes of the texts
};
static_assert(sizeof(TokenHeader) == 72);

/// The ending of the files of shards, without the dot.
inline constexpr const char* token_shard_ending = "tokens";

/// Returns the bytes that an id of a vocabulary takes.
inline std::uint32_t token_width(std::uint64_t vocabulary) { return vocabulary <= 0x1'0000 ? 2 : 4; }

/// A shard in memory, as far as its pages are used. Const methods may be called from any thread.
class TokenShard {
 public:
  /// Maps a file, and checks its size and the places of its documents. Throws UserError(data) that names it.
  explicit TokenShard(const std::string& path);
  TokenShard(TokenShard&& other) noexcept;
  TokenShard& operator=(TokenShard&&) = delete;
  ~TokenShard();

  const std::string& path() const { return path_; }
  const TokenHeader& header() const { return header_; }
  /// Returns the places of the documents' first ids, and the end of the last one.
  std::span<const std::uint64_t> documents() const { return documents_; }
  /// Writes the ids from `first` on. Throws std::runtime_error if the file has become shorter.
  void read(std::uint64_t first, std::span<std::int32_t> into) const;
  /// Checks that all ids are below the vocabulary; a large shard that passed is known beside it (kept_index.h), so that
  /// it is scanned once. Throws UserError(data) that names the file.
  void check_ids() const;

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& hint) const;
  void check_header() const;
  template <class Id>
  std::span<const Id> ids() const {
    return {reinterpret_cast<const Id*>(ids_), header_.ids};
  }

  std::string path_;
  Descriptor file_;
  std::uint64_t size_bytes_;
  const std::byte* bytes_ = nullptr;
  TokenHeader header_;
  std::span<const std::uint64_t> documents_;
  const std::byte* ids_ = nullptr;
};

}  // namespace flowtrain
