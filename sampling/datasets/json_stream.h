#pragma once
// Gives RapidJSON a file's bytes block by block. RapidJSON normally stores every text and number, however long. This
// stream claims to be parsed in place ("in situ"): the parser then leaves storing to the stream, which keeps only the
// required texts and numbers, and limits their length.

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace flowtrain {

class JsonStream {
 public:
  /// The largest sizes of stored texts and numbers. A double has at most 767 significant digits.
  static constexpr std::size_t max_text_bytes = 1 << 16, max_number_bytes = 1 << 10;

  /// `path` is for messages, and must outlive the stream.
  JsonStream(std::istream& stream, const std::string& path);

  /// Throws UserError(data) "<path>: malformed JSON at byte <n>: <what>".
  [[noreturn]] void fail(const std::string& what, std::uint64_t byte) const;
  [[noreturn]] void fail(const std::string& what) const { fail(what, Tell()); }
  bool ended() const { return ended_; }
  /// Returns the last bytes that were taken, of a number that is not stored.
  std::string_view last(std::size_t bytes) const;

  /// Set this while texts are not stored.
  bool skips = false;

  // These functions are RapidJSON's concept of a stream. RapidJSON takes any byte of 0 for the end; see ended().
  using Ch = char;
  char Peek() const { return *at_; }
  char Take() {
    const char byte = *at_;
    if (++at_ == end_) refill();
    return byte;
  }
  std::size_t Tell() const { return before_block_ + static_cast<std::size_t>(at_ - block()); }
  char* PutBegin() { return put_at_ = text_.data(); }
  void Put(char byte) {
    if (skips) return;
    if (put_at_ == text_.data() + text_.size()) fail_length(max_text_bytes);
    *put_at_++ = byte;
  }
  /// Returns how many bytes were put. RapidJSON puts a 0 after each text and does not count it, hence the 1.
  std::size_t PutEnd(const char* begin) const { return skips ? 1 : static_cast<std::size_t>(put_at_ - begin); }

 private:
  static constexpr std::size_t block_bytes = 1 << 16;

  [[noreturn]] void fail_length(std::size_t most) const;
  const char* block() const { return bytes_.data() + max_number_bytes; }
  void refill();

  std::streambuf& source_;
  const std::string& path_;
  std::vector<char> bytes_, text_;  ///< bytes_: the block, and before it the last bytes of the previous block
  const char *at_, *end_;           ///< a byte of 0 at the file's end, which may be taken any number of times
  char* put_at_ = nullptr;
  std::uint64_t before_block_ = 0;  ///< number of bytes before the block
  bool ended_ = false;
};

}  // namespace flowtrain
