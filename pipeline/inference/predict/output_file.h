#pragma once
// Writes results to a file or to standard output.

#include <cstdio>
#include <string>
#include <string_view>

namespace flowtrain {

/// Errors are UserError(snapshot) with the system's reason: a full disk, a reader that has gone.
class OutputFile {
 public:
  /// Opens and empties the file; "-" is standard output.
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// The text has arrived when it returns, so that whoever reads along sees it at once.
  void write(std::string_view text);

 private:
  const std::string name_;  // in messages
  std::FILE* file_;
};

}  // namespace flowtrain
