#pragma once
// Shards of token ids: files of documents as the numbers of a tokenizer.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sampling/io/descriptor.h"

namespace flowtrain {

class RemoteFile;
struct RemoteAccess;

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

/// An open shard, local or on a server. Ids are read when they are asked for: a file that becomes shorter then is an
/// error, where a mapped one would end the program. Const methods may be called from any thread.
class TokenShard {
 public:
  /// The place of ids in the file.
  struct Bytes {
    std::uint64_t offset, size_bytes;
  };

  /// Opens a file, with `access` one on a server, and reads and checks its header and the places of its documents.
  /// Throws UserError(data) that names it.
  explicit TokenShard(const std::string& path, std::shared_ptr<const RemoteAccess> access = nullptr);

  /// Returns the path, or the URL without user, password and query.
  const std::string& path() const { return path_; }
  const TokenHeader& header() const { return header_; }
  /// Returns the places of the documents' first ids, and the end of the last one; empty after forget_documents().
  std::span<const std::uint64_t> documents() const { return documents_; }
  /// Returns a hash of header and places.
  std::uint64_t fingerprint() const { return fingerprint_; }
  /// Frees the memory of the places.
  void forget_documents() { documents_ = {}; }
  /// Returns the file if it is on a server, else null.
  const RemoteFile* remote() const { return remote_; }
  /// Returns the place of `count` ids from `first` on.
  Bytes place_of(std::uint64_t first, std::uint64_t count) const {
    return {ids_at_ + first * header_.width, count * header_.width};
  }
  /// Writes the ids from `first` on. Throws std::runtime_error if the file has become shorter or cannot be read, or for
  /// an id that is not below the vocabulary.
  void read(std::uint64_t first, std::span<std::int32_t> into) const;
  /// Checks a local file: all ids are below the vocabulary, and documents end with the end of a text. A large shard
  /// that passed is known beside it (kept_index.h), so that it is scanned once. The ids of one on a server are checked
  /// when they are read. Throws UserError(data) that names the file.
  void check_ids() const;

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& hint) const;
  void check_header() const;
  void read_documents();

  std::string path_;
  std::unique_ptr<const ByteSource> file_;
  const RemoteFile* remote_ = nullptr;  ///< `file_` if it is remote, else null
  std::uint64_t size_bytes_ = 0, ids_at_ = 0, fingerprint_ = 0;
  TokenHeader header_;
  std::vector<std::uint64_t> documents_;
};

}  // namespace flowtrain
