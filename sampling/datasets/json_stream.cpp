#include "sampling/datasets/json_stream.h"

#include <algorithm>

#include "sampling/core/error.h"

namespace flowtrain {

JsonStream::JsonStream(std::istream& stream, const std::string& path)
    : source_(*stream.rdbuf()),
      path_(path),
      bytes_(max_number_bytes + block_bytes),
      text_(max_text_bytes + 1),
      at_(block()),
      end_(at_) {
  refill();
  if (Peek() == '\xff' || Peek() == '\xfe') fail("the file is in UTF-16, but JSON must be in UTF-8");
  if (Peek() != '\xef') return;
  for (const char byte : {'\xef', '\xbb', '\xbf'}) {  // the mark that some editors put before UTF-8
    if (Peek() != byte) fail("expected a value");
    Take();
  }
}

void JsonStream::fail(const std::string& what, std::uint64_t byte) const {
  throw UserError(ExitCode::data, path_ + ": malformed JSON at byte " + std::to_string(byte) + ": " + what,
                  "repair the file, or make it again");
}

void JsonStream::fail_length(std::size_t most) const { fail("longer than " + std::to_string(most) + " bytes"); }

std::string_view JsonStream::last(std::size_t bytes) const {
  if (bytes > max_number_bytes) fail_length(max_number_bytes);
  return {at_ - bytes, bytes};
}

void JsonStream::refill() {
  char* const block = bytes_.data() + max_number_bytes;
  at_ = block;
  if (ended_) return;
  before_block_ += static_cast<std::uint64_t>(end_ - block);
  std::copy(end_ - max_number_bytes, end_, bytes_.data());
  const auto got = source_.sgetn(block, static_cast<std::streamsize>(block_bytes));
  ended_ = got == 0;
  if (ended_) *block = '\0';
  end_ = block + (ended_ ? 1 : got);
}

}  // namespace flowtrain
