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

  /// Writes the text. It has arrived when the call returns, so a reader sees it at once.
  void write(std::string_view text);

 private:
  const std::string name_;  // shown in messages
  std::FILE* file_;
};

}  // namespace flowtrain
