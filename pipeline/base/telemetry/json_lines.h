#pragma once
// Files of one JSON object a line, for programs to read while the run goes on: metrics.jsonl, bad_samples.jsonl.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "sampling/core/mutex.h"

namespace flowtrain {

using nlohmann::ordered_json;
/// Members in the order given: {{"iter", 20}, {"loss", 0.5}}. ordered_json{{…}} would leak its memory if an allocation
/// fails in the middle (nlohmann 3.11).
using JsonObject = ordered_json::object_t;

/// Returns the object as a line without its newline: {"iter":20,…}, keys in the order given. Numbers read back to the
/// same bits; NaN and infinities become null, since JSON has no word for them. Bytes of a text that are not UTF-8
/// become U+FFFD, and secrets in texts `***` (without_secrets).
std::string json_line(JsonObject object);

/// Appends lines. Any thread. Each line is one write(), so that no kill can tear it. When the disk is full, training
/// goes on: the first failure is a warning, lost lines are counted, and no half line stays behind.
class JsonLinesFile {
 public:
  /// Opens or creates the file. Throws UserError(snapshot) if that fails.
  explicit JsonLinesFile(const std::filesystem::path& path);
  /// Warns if lines were lost.
  ~JsonLinesFile();
  JsonLinesFile(const JsonLinesFile&) = delete;
  JsonLinesFile& operator=(const JsonLinesFile&) = delete;

  /// Appends a line: file.write({{"iter", 20}, {"loss", 0.5}}).
  void write(JsonObject object);
  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_;
  const int file_;
  Mutex mutex_;  // keeps a write and the removal of a torn line together, too
  std::uint64_t lost_lines_ FT_GUARDED_BY(mutex_) = 0;
};

/// Makes a file end at `iteration`, for a run that resumes there: removes the lines whose "iter" is greater, lines of
/// the kinds "end" and "verdict", those of validations ("val" as kind or split) after iteration `validated` (by default
/// `iteration`), which will be done again, and lines that are no JSON objects, such as one torn by a power cut. Other
/// lines keep their bytes. The file is replaced atomically (write, fsync, rename), or left alone if there is nothing to
/// remove. Returns the number of lines removed; 0 if there is no file. Throws UserError(snapshot).
std::uint64_t cut_back(const std::filesystem::path& path, std::uint64_t iteration,
                       std::optional<std::uint64_t> validated = {});

}  // namespace flowtrain
