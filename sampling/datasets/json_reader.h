#pragma once
// Reads JSON (RFC 8259) value by value as the bytes stream by, so that what nobody asks for is never stored. The event
// parser of a library, nlohmann's, was measured first: it makes a number of every corner of every polygon, and takes
// four times as long for an annotation file of MS COCO.

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace flowtrain {

struct JsonNumber {
  double real;
  std::int64_t integer;  ///< the same, if it is one
  bool is_integer;       ///< written without fraction and exponent, and within 64 bits
};

/// The values of one file, in its order. Each method takes the next value, which peek() tells the type of, and throws
/// UserError(data) "<path>: malformed JSON at byte <n>: <what>" for what is none. Memory: a text of max_text_bytes.
class JsonReader {
 public:
  /// Lists and objects within each other, at most.
  static constexpr int max_depth = 100;
  /// The longest text (or number) that is stored; those skipped may have any length.
  static constexpr std::size_t max_text_bytes = 1 << 16;

  JsonReader(std::istream& stream, std::string path);

  /// The first character of the next value: { [ " t f n, or - or a digit.
  char peek();
  /// Calls body(key) before each value of an object; body takes the value.
  template <class Body>
  void object(Body&& body) {
    enter('{');
    for (bool first = true; more('}', first); first = false) {
      read_text(&key_);
      expect(':');
      body(static_cast<const std::string&>(key_));
    }
  }
  /// Calls body() before each value of a list; body takes the value.
  template <class Body>
  void array(Body&& body) {
    enter('[');
    for (bool first = true; more(']', first); first = false) body();
  }
  JsonNumber number();
  /// Replaces `into` by a text: UTF-8.
  void text(std::string& into) { read_text(&into); }
  bool boolean();
  /// Takes a value of any type.
  void skip();
  /// Checks that nothing but white space is left.
  void end();

 private:
  [[noreturn]] void fail(const std::string& what) const;
  bool refill();
  /// The next byte, not taken; -1 at the end.
  int look() { return at_ != end_ || refill() ? static_cast<unsigned char>(*at_) : -1; }
  int look_past_space();
  void expect(char wanted);
  void word(const char* text);
  void enter(char opening);
  bool more(char closing, bool first);
  void read_text(std::string* into);
  void read_escape(std::string* into);
  void read_character(int first, std::string* into);
  unsigned read_hex();
  void read_number(std::string* into);
  bool read_digits(std::string* into);
  void store(int byte, std::string* into);

  std::streambuf& source_;
  std::string path_;
  std::vector<char> block_;
  const char *at_ = nullptr, *end_ = nullptr;
  std::uint64_t before_block_ = 0;  ///< bytes
  int depth_ = 0;
  std::string key_, digits_;
};

}  // namespace flowtrain
