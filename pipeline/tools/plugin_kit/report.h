#pragma once
// The report of a check. Its process writes lines to a file, which are read after it has ended, even by a crash.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace flowtrain::plugin_kit {

/// Thrown by a check that fails.
struct CheckFailure {
  std::string what;  ///< the message, with the record, the field and the byte
  std::string hint;  ///< the way out, as an imperative
};

/// A part that a plugin adds and that can be checked.
struct CheckedPart {
  std::string kind;  ///< "sampler", "data set" or "order"
  std::string name;
};

/// Reports from the process of a check. Each call writes one line at once, so a crash does not lose it.
class Report {
 public:
  /// `run`: 0, or 1 in the second process of a check that runs twice.
  Report(int file, unsigned run) : file_(file), run_(run) {}

  unsigned run() const { return run_; }
  /// Names the next action, which is reported if the process dies of it.
  void at(std::string_view place);
  /// Returns the argument of the last at().
  const std::string& place() const { return place_; }
  /// Adds a note that is shown beside "pass".
  void note(std::string_view text);
  /// Reports that the data cannot be used with this part, which is not the part's fault.
  void refuse(std::string_view reason);
  /// Reports the hash of what was computed for `item`. A check that runs twice must report the same in both processes.
  void result(std::string_view item, std::uint64_t hash);
  void part(const CheckedPart& part);
  void fail(const CheckFailure& failure);
  /// Writes the last line. If it is missing, the process ended before the check did.
  void end();

 private:
  void line(std::string_view word, std::string_view text);

  int file_;
  unsigned run_;
  std::string place_;
};

/// The lines of one process.
struct ReportLines {
  std::string at, note, refusal, failure, hint;
  std::map<std::string, std::string> results;  ///< hashes by item
  std::vector<CheckedPart> parts;
  bool ended = false;
};

/// Reads the file from its beginning.
ReportLines read_report(int file);

}  // namespace flowtrain::plugin_kit
