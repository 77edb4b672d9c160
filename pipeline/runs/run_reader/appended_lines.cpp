#include "pipeline/runs/run_reader/appended_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>

namespace flowtrain {
namespace {

constexpr std::uint64_t hashed_bytes = 256;

class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat state {};
    if (descriptor_ >= 0 && ::fstat(descriptor_, &state) == 0 && S_ISREG(state.st_mode))
      size_ = static_cast<std::uint64_t>(state.st_size);
  }
  ~InputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::uint64_t size() const { return size_; }

  /// Reads bytes. There are fewer if the file ends before, or was shortened.
  std::string read(std::uint64_t offset, std::uint64_t bytes) const {
    std::string text(offset < size_ ? std::min(bytes, size_ - offset) : 0, '\0');
    std::size_t done = 0;
    while (done < text.size()) {
      const auto got = TEMP_FAILURE_RETRY(
          ::pread(descriptor_, text.data() + done, text.size() - done, static_cast<off_t>(offset + done)));
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    text.resize(done);
    return text;
  }

  std::uint64_t hash_before(std::uint64_t offset) const {
    const auto bytes = std::min(offset, hashed_bytes);
    const auto text = read(offset - bytes, bytes);
    return XXH64(text.data(), text.size(), 0);
  }

 private:
  const int descriptor_;
  std::uint64_t size_ = 0;
};

}  // namespace

AppendedLines read_appended(const std::filesystem::path& file, ReadMark from, std::size_t most_bytes,
                            std::size_t longest) {
  const InputFile input(file);
  AppendedLines result{.text = {}, .next = from};
  if (from.offset > 0 && (input.size() < from.offset || input.hash_before(from.offset) != from.before_hash)) {
    result.restarted = true;
    result.next = {};
  }
  auto offset = result.next.offset;
  bool in_long_line = false;
  for (std::uint64_t bytes = most_bytes;;) {
    result.text = input.read(offset, bytes);
    const bool at_end = result.text.size() < bytes;
    if (in_long_line) {
      const auto newline = result.text.find('\n');
      in_long_line = newline == std::string::npos;
      offset += in_long_line ? result.text.size() : newline + 1;
      if (!in_long_line || !at_end) continue;
      result.text.clear();
      break;
    }
    const auto newline = result.text.rfind('\n');
    if (newline == std::string::npos && result.text.size() >= longest) {
      in_long_line = true;
      bytes = most_bytes;
      continue;
    }
    if (newline == std::string::npos && !at_end) {
      bytes = std::min<std::uint64_t>(2 * bytes, longest);
      continue;
    }
    result.text.resize(newline == std::string::npos ? 0 : newline + 1);
    break;
  }
  if (result.text.empty() && offset == result.next.offset) return result;
  result.next.offset = offset + result.text.size();
  result.next.before_hash = input.hash_before(result.next.offset);
  return result;
}

ReadMark mark_at_end(const std::filesystem::path& file) {
  constexpr std::uint64_t most_bytes = 1 << 20;
  const InputFile input(file);
  const auto start = input.size() - std::min(input.size(), most_bytes);
  const auto newline = input.read(start, most_bytes).rfind('\n');
  if (newline == std::string::npos) return {};
  return {start + newline + 1, input.hash_before(start + newline + 1)};
}

ReadMark mark_near_end(const std::filesystem::path& file, std::uint64_t bytes) {
  const InputFile input(file);
  if (input.size() <= bytes) return {};
  const auto start = input.size() - bytes;
  const auto newline = input.read(start, bytes).find('\n');
  const auto offset = newline == std::string::npos ? input.size() : start + newline + 1;
  return {offset, input.hash_before(offset)};
}

}  // namespace flowtrain
