#pragma once
// Reads a file of lines that another process appends to: metrics.jsonl, train.log.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace flowtrain {

/// The position up to which a file was read. It needs no open descriptor, so a client of a server can keep it.
struct ReadMark {
  std::uint64_t offset = 0;       ///< the number of bytes that were read
  std::uint64_t before_hash = 0;  ///< xxh64 of the last bytes before `offset`, at most 256 of them
  bool operator==(const ReadMark&) const = default;
};

struct AppendedLines {
  std::string text;        ///< whole lines, each with its newline
  ReadMark next;           ///< the position to continue from
  bool restarted = false;  ///< the earlier content is gone: `text` begins at the file's beginning
};

/// The limit of a line. Longer ones are skipped, so that a damaged file does not fill the memory.
inline constexpr std::size_t longest_line = 64 << 20;

/// Returns the whole lines after `from`, about `most_bytes` of them. A last line without its newline is still being
/// written, and is left for the next call. A resume shortens files, and may have appended lines since: if the bytes
/// before `from` have changed, reading restarts. A line of `longest` bytes and more is skipped, up to its newline or
/// the file's end. A missing or unreadable file is empty.
AppendedLines read_appended(const std::filesystem::path& file, ReadMark from, std::size_t most_bytes = 4 << 20,
                            std::size_t longest = longest_line);

/// Calls `take` with each line of an AppendedLines' text, without its newline.
template <class Take>
void for_each_line(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const auto length = text.find('\n');
    take(text.substr(0, length));
    text.remove_prefix(length + 1);
  }
}

/// Calls `take` with each whole line of a file from its beginning, in bounded memory, and `restart` if the file was
/// shortened meanwhile and its lines come again.
template <class Take, class Restart>
void for_each_line_of(const std::filesystem::path& file, const Take& take, const Restart& restart) {
  for (ReadMark mark;;) {
    const auto appended = read_appended(file, mark);
    if (appended.restarted) restart();
    mark = appended.next;
    if (appended.text.empty()) return;
    for_each_line(appended.text, take);
  }
}

/// Returns the end of the last whole line, or the file's beginning if an unfinished last line is longer than a MiB.
ReadMark mark_at_end(const std::filesystem::path& file);
/// Returns the beginning of the first whole line within the last `bytes` of the file.
ReadMark mark_near_end(const std::filesystem::path& file, std::uint64_t bytes);

}  // namespace flowtrain
