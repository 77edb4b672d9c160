#include "sampling/io/text_lines.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

std::string_view clean_line(std::string_view line, std::uint64_t number, const std::string& name) {
  if (number == 1) {
    constexpr std::string_view mark = "\xef\xbb\xbf", little_endian = "\xff\xfe", big_endian = "\xfe\xff";
    if (line.starts_with(little_endian) || line.starts_with(big_endian) || line.find('\0') != line.npos)
      throw UserError(ExitCode::data, name + ": its first line is not UTF-8 (it looks like UTF-16)",
                      "save the file as UTF-8, with one entry per line");
    if (line.starts_with(mark)) line.remove_prefix(mark.size());
  }
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::vector<std::string_view> text_lines(std::string_view text, const std::string& name) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    lines.push_back(clean_line(text.substr(0, end), lines.size() + 1, name));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string> read_text_lines(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);)
    lines.emplace_back(clean_line(line, lines.size() + 1, path.string()));
  if (stream.bad() || !stream.eof())
    throw UserError(ExitCode::data,
                    concat(path.string(), ": the file cannot be read: ", std::generic_category().message(errno)),
                    "name a file of text that may be read");
  return lines;
}

}  // namespace flowtrain
