#include "sampling/datasets/json_reader.h"

#include <charconv>

#include "sampling/core/error.h"

namespace flowtrain {
namespace {

constexpr std::size_t block_bytes = 1 << 16;

bool is_digit(int byte) { return byte >= '0' && byte <= '9'; }

void append_utf8(unsigned point, std::string& into) {
  const auto put = [&](unsigned byte) { into.push_back(static_cast<char>(byte)); };
  if (point < 0x80) return put(point);
  if (point < 0x800) {
    put(0xc0 | point >> 6);
  } else {
    if (point < 0x10000) {
      put(0xe0 | point >> 12);
    } else {
      put(0xf0 | point >> 18);
      put(0x80 | (point >> 12 & 0x3f));
    }
    put(0x80 | (point >> 6 & 0x3f));
  }
  put(0x80 | (point & 0x3f));
}

}  // namespace

JsonReader::JsonReader(std::istream& stream, std::string path)
    : source_(*stream.rdbuf()), path_(std::move(path)), block_(block_bytes) {
  for (const int byte : {0xef, 0xbb, 0xbf}) {  // the mark that some editors put before UTF-8
    if (look() != byte) break;
    ++at_;
  }
}

void JsonReader::fail(const std::string& what) const {
  const auto byte = before_block_ + static_cast<std::uint64_t>(at_ - block_.data());
  throw UserError(ExitCode::data, path_ + ": malformed JSON at byte " + std::to_string(byte) + ": " + what,
                  "mend the file, or make it again");
}

bool JsonReader::refill() {
  if (end_) before_block_ += static_cast<std::uint64_t>(end_ - block_.data());
  const auto got = source_.sgetn(block_.data(), static_cast<std::streamsize>(block_.size()));
  at_ = block_.data();
  end_ = at_ + got;
  return got > 0;
}

int JsonReader::look_past_space() {
  int byte = look();
  while (byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t') {
    ++at_;
    byte = look();
  }
  return byte;
}

void JsonReader::expect(char wanted) {
  if (look_past_space() != wanted) fail(std::string("expected ") + wanted);
  ++at_;
}

char JsonReader::peek() {
  const int byte = look_past_space();
  if (byte == -1) fail("it ends here");
  if (!is_digit(byte) && std::string_view("{[\"tfn-").find(static_cast<char>(byte)) == std::string_view::npos)
    fail("expected a value");
  return static_cast<char>(byte);
}

void JsonReader::word(const char* text) {
  for (look_past_space(); *text; ++text, ++at_)
    if (look() != *text) fail("expected true, false or null");
}

void JsonReader::enter(char opening) {
  expect(opening);
  if (++depth_ > max_depth) fail("nested deeper than " + std::to_string(max_depth));
}

/// Whether another member follows; takes the comma before it, or the closing mark after the last.
bool JsonReader::more(char closing, bool first) {
  const int byte = look_past_space();
  if (byte == closing) {
    ++at_;
    --depth_;
    return false;
  }
  if (!first) {
    if (byte != ',') fail(std::string("expected , or ") + closing);
    ++at_;
  }
  return true;
}

bool JsonReader::boolean() {
  const bool value = peek() == 't';
  word(value ? "true" : "false");
  return value;
}

void JsonReader::skip() {
  switch (peek()) {
    case '{': return object([this](const std::string&) { skip(); });
    case '[': return array([this] { skip(); });
    case '"': return read_text(nullptr);
    case 't': return word("true");
    case 'f': return word("false");
    case 'n': return word("null");
    default: return read_number(nullptr);
  }
}

void JsonReader::end() {
  if (look_past_space() != -1) fail("expected the end of the file");
}

void JsonReader::store(int byte, std::string* into) {
  ++at_;
  if (!into) return;
  if (into->size() >= max_text_bytes) fail("longer than " + std::to_string(max_text_bytes) + " bytes");
  into->push_back(static_cast<char>(byte));
}

void JsonReader::read_text(std::string* into) {
  if (into) into->clear();
  expect('"');
  while (true) {
    const int byte = look();
    if (byte == '"') break;
    if (byte < 0x20) fail(byte < 0 ? "it ends within a text" : "a control character in a text");
    if (byte == '\\')
      read_escape(into);
    else if (byte < 0x80)
      store(byte, into);
    else
      read_character(byte, into);
  }
  ++at_;
}

/// A character of two to four bytes. The bounds of the second byte rule out what could be said in fewer bytes, the
/// halves of surrogate pairs, and what is beyond U+10FFFF.
void JsonReader::read_character(int first, std::string* into) {
  if (first < 0xc2 || first > 0xf4) fail("not UTF-8");
  const int rest = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
  int low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  int high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  store(first, into);
  for (int i = 0; i < rest; ++i, low = 0x80, high = 0xbf) {
    const int byte = look();
    if (byte < low || byte > high) fail("not UTF-8");
    store(byte, into);
  }
}

unsigned JsonReader::read_hex() {
  unsigned value = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const int byte = look(), letter = byte | 0x20;
    const bool is_letter = letter >= 'a' && letter <= 'f';
    if (!is_digit(byte) && !is_letter) fail("expected four hexadecimal digits");
    value = value << 4 | static_cast<unsigned>(is_letter ? letter - 'a' + 10 : byte - '0');
  }
  return value;
}

void JsonReader::read_escape(std::string* into) {
  ++at_;
  const int byte = look();
  constexpr std::string_view escapes = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
  if (byte != 'u') {
    const auto which = byte < 0 ? escapes.npos : escapes.find(static_cast<char>(byte));
    if (which == escapes.npos) fail("an unknown escape in a text");
    return store(meant[which], into);
  }
  ++at_;
  unsigned point = read_hex();
  if (point >= 0xd800 && point < 0xe000) {
    if (point >= 0xdc00 || look() != '\\') fail("half a surrogate pair");
    ++at_;
    if (look() != 'u') fail("half a surrogate pair");
    ++at_;
    const unsigned second = read_hex();
    if (second < 0xdc00 || second >= 0xe000) fail("half a surrogate pair");
    point = 0x10000 + ((point - 0xd800) << 10 | (second - 0xdc00));
  }
  if (!into) return;
  if (into->size() >= max_text_bytes) fail("longer than " + std::to_string(max_text_bytes) + " bytes");
  append_utf8(point, *into);
}

bool JsonReader::read_digits(std::string* into) {
  if (!is_digit(look())) return false;
  for (int byte = look(); is_digit(byte); byte = look()) store(byte, into);
  return true;
}

void JsonReader::read_number(std::string* into) {
  if (look_past_space() == '-') store('-', into);
  if (look() == '0')
    store('0', into);
  else if (!read_digits(into))
    fail("expected a digit");
  if (look() == '.') {
    store('.', into);
    if (!read_digits(into)) fail("expected a digit");
  }
  if (look() == 'e' || look() == 'E') {
    store('e', into);
    if (look() == '+' || look() == '-') store(look(), into);
    if (!read_digits(into)) fail("expected a digit");
  }
}

JsonNumber JsonReader::number() {
  digits_.clear();
  read_number(&digits_);
  const char *begin = digits_.data(), *end = begin + digits_.size();
  JsonNumber out{};
  if (std::from_chars(begin, end, out.real).ec != std::errc()) fail("a number out of range");
  const auto whole = std::from_chars(begin, end, out.integer);
  out.is_integer = whole.ec == std::errc() && whole.ptr == end;
  return out;
}

}  // namespace flowtrain
