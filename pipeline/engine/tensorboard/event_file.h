#pragma once
// Files of records with checksums (TFRecord), which TensorBoard reads while they grow.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace flowtrain {

/// Returns CRC-32C (Castagnoli), as RFC 3720 defines it.
std::uint32_t crc32c(std::string_view bytes);

/// Returns the record in a file's form: length, its checksum, the bytes, their checksum.
std::string frame(std::string_view record);

/// Appends records. Each call is one write(), so that a kill leaves whole records, and a reader sees it at once.
class EventFile {
 public:
  /// Creates the file. Throws std::system_error if that fails, or one exists.
  explicit EventFile(const std::filesystem::path& path);
  ~EventFile();
  EventFile(const EventFile&) = delete;

  /// Appends one or several framed records. Throws std::system_error; no part of them stays behind then.
  void append(std::string_view framed);

 private:
  int file_;
};

/// Calls `visit` with each intact record of a file, up to the first damaged one. Returns the number of bytes up to
/// there. Throws std::system_error if the file cannot be read.
std::uint64_t each_record(const std::filesystem::path& path, const std::function<void(std::string_view)>& visit);

}  // namespace flowtrain
