#pragma once
// Files of one JSON object a line, for programs to read while the run goes on: metrics.jsonl, bad_samples.jsonl.

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "sampling/core/mutex.h"

namespace flowtrain {

/// A value of a line: bool, any integer, any floating-point number, or text.
class JsonValue {
 public:
  JsonValue(bool value) : value_(value) {}
  template <std::signed_integral T>
  JsonValue(T value) : value_(std::int64_t{value}) {}
  template <std::unsigned_integral T>
  JsonValue(T value) : value_(std::uint64_t{value}) {}
  template <std::floating_point T>
  JsonValue(T value) : value_(static_cast<double>(value)) {}
  JsonValue(std::string value) : value_(std::move(value)) {}
  JsonValue(std::string_view value) : value_(std::string(value)) {}
  JsonValue(const char* value) : value_(std::string(value)) {}

  const auto& variant() const { return value_; }

 private:
  std::variant<bool, std::int64_t, std::uint64_t, double, std::string> value_;
};

using JsonField = std::pair<std::string, JsonValue>;

/// A line without its newline: {"iter":20,…}, keys in the order given. Numbers are written so that
/// they read back to the same bits; NaN and infinities are written as null, since JSON has no word for them. Bytes of
/// a text that are not UTF-8 become U+FFFD.
std::string json_line(std::span<const JsonField> fields);

/// Appends lines. Any thread. Each line is one write(), so that no kill can tear it. When the disk is full, training
/// goes on: the first failure is a warning, lines that cannot be written are counted, and no half line stays behind.
class JsonLinesFile {
 public:
  /// Opens or creates the file. Throws UserError(snapshot) if that fails.
  explicit JsonLinesFile(const std::filesystem::path& path);
  /// Warns if lines were lost.
  ~JsonLinesFile();
  JsonLinesFile(const JsonLinesFile&) = delete;
  JsonLinesFile& operator=(const JsonLinesFile&) = delete;

  /// file.write({{"iter", 20}, {"loss", 0.5}});
  void write(std::initializer_list<JsonField> fields);
  void write(std::span<const JsonField> fields);
  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_;
  const int file_;
  Mutex mutex_;  // also keeps a write and the removal of a torn line together
  std::uint64_t lost_lines_ FT_GUARDED_BY(mutex_) = 0;
};

/// Makes a file end at `iteration`, for a run that resumes there: removes the lines whose "iter" is greater,
/// lines of kind "end", those of validations ("val" as kind or split) after iteration `validated` (by default
/// `iteration`), which will be done again, and lines that are no JSON objects, such as one torn by a power cut. Other
/// lines keep their bytes. Atomic: the file is replaced as a whole (write, fsync, rename), or left alone if there is
/// nothing to remove. Returns the number of lines removed; 0 if there is no file. Throws UserError(snapshot).
std::uint64_t cut_back(const std::filesystem::path& path, std::uint64_t iteration,
                       std::optional<std::uint64_t> validated = {});

}  // namespace flowtrain
