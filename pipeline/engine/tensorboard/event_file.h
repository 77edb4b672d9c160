#pragma once
// Files of records with checksums (TFRecord), which TensorBoard reads while they grow.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace flowtrain {

/// CRC-32C (Castagnoli), as RFC 3720 has it.
std::uint32_t crc32c(std::string_view bytes);

/// The record as it stands in a file: length, its checksum, the bytes, theirs.
std::string frame(std::string_view record);

/// Appends records. Each call is one write(), so that a kill leaves whole records, and a reader sees it at once.
class EventFile {
 public:
  /// Creates the file. Throws std::system_error where that cannot be, or where there is one.
  explicit EventFile(const std::filesystem::path& path);
  ~EventFile();
  EventFile(const EventFile&) = delete;

  /// `framed`: one record or several. Throws std::system_error; no part of them stays behind then.
  void append(std::string_view framed);

 private:
  int file_;
};

/// Calls `visit` with each record of a file that is whole, up to the first that is not. Returns the number of bytes up
/// to there. Throws std::system_error where the file cannot be read.
std::uint64_t each_record(const std::filesystem::path& path, const std::function<void(std::string_view)>& visit);

}  // namespace flowtrain
