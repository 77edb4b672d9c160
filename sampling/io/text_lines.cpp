#include "sampling/io/text_lines.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <span>
#include <system_error>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

constexpr std::string_view utf8_mark = "\xef\xbb\xbf";

bool has_utf16_mark(std::string_view text) { return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"); }

void refuse_gzip(std::string_view text, const std::string& name) {
  if (text.starts_with("\x1f\x8b"))
    throw UserError(ExitCode::data, name + ": the file is packed by gzip", "unpack it: gunzip");
}

}  // namespace

std::string_view clean_line(std::string_view line, std::uint64_t number, const std::string& name) {
  if (number == 1) {
    refuse_gzip(line, name);
    if (has_utf16_mark(line) || line.find('\0') != line.npos)
      throw UserError(ExitCode::data, name + ": its first line is not UTF-8 (it looks like UTF-16)",
                      "save the file as UTF-8, with one entry per line");
  }
  return without_marks(line, number);
}

std::string_view without_marks(std::string_view line, std::uint64_t number) {
  if (number == 1 && line.starts_with(utf8_mark)) line.remove_prefix(utf8_mark.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::uint64_t mark_bytes(const ByteSource& file, const std::string& name) {
  std::array<char, 3> head{};
  const std::string_view text(head.data(), file.read_at(0, std::as_writable_bytes(std::span(head))));
  refuse_gzip(text, name);
  if (has_utf16_mark(text))
    throw UserError(ExitCode::data, name + ": the file is in UTF-16", "convert it to UTF-8: iconv -f UTF-16 -t UTF-8");
  return text == utf8_mark ? utf8_mark.size() : 0;
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
