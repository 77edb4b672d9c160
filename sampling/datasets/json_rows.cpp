#include "sampling/datasets/json_rows.h"

#include <rapidjson/reader.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sampling/core/error.h"
#include "sampling/datasets/json_stream.h"

namespace flowtrain {
namespace {

constexpr double largest = 1e12;

/// Refuses half of a surrogate pair, which RapidJSON 1.1 takes for a character, because the text would not be UTF-8.
struct Utf8 : rapidjson::UTF8<> {
  using rapidjson::UTF8<>::Encode;
  static void Encode(JsonStream& stream, unsigned point) {
    if (point >= 0xdc00 && point < 0xe000) stream.fail("half a surrogate pair");
    rapidjson::UTF8<>::Encode(stream, point);
  }
};

}  // namespace

void fail_file(const std::string& path, const std::string& what) {
  throw UserError(ExitCode::data, path + ": " + what, "repair the file, or make it again");
}

void JsonRow::fail(const std::string& what) const {
  std::string name = std::string("#").append(std::to_string(place_));
  for (std::size_t key = 0; key < slots_.size(); ++key) {
    if ((*keys_)[key] != "id") continue;
    if (slots_[key].type == Type::number && slots_[key].number.is_integer)
      name = std::to_string(slots_[key].number.integer);
    if (slots_[key].type == Type::text) name = slots_[key].text;
  }
  fail_file(path_, (list_.empty() ? "entry " : list_ + " ") + name + ": " + what);
}

void JsonRow::fail_key(std::size_t key, const std::string& what) const {
  fail(std::string("'").append((*keys_)[key]).append("' ").append(what));
}

const JsonRow::Slot& JsonRow::slot(std::size_t key, bool matches, const char* expected) const {
  const auto& slot = slots_[key];
  if (slot.type == Type::none) fail_key(key, "is missing");
  if (!matches) fail_key(key, std::string("is not ") + expected);
  return slot;
}

std::int64_t JsonRow::integer(std::size_t key) const {
  const auto& at = slots_[key];
  return slot(key, at.type == Type::number && at.number.is_integer, "a whole number of at most 64 bits").number.integer;
}

double JsonRow::real(std::size_t key) const {
  const double value = slot(key, slots_[key].type == Type::number, "a number").number.real;
  if (std::abs(value) >= largest) fail_key(key, "is too large");
  return value;
}

const std::string& JsonRow::text(std::size_t key) const {
  return slot(key, slots_[key].type == Type::text, "a text").text;
}

bool JsonRow::flag(std::size_t key) const {
  const auto& at = slots_[key];
  const bool is_bit = at.type == Type::number && at.number.is_integer && (at.number.integer & ~std::int64_t{1}) == 0;
  slot(key, at.type == Type::flag || is_bit, "0 or 1");
  return is_bit ? at.number.integer == 1 : at.flag;
}

std::array<double, 4> JsonRow::box(std::size_t key) const {
  const auto& at = slots_[key];
  const auto& box = slot(key, at.type == Type::numbers && at.count == 4, "a list of four numbers").numbers;
  for (const double value : box)
    if (std::abs(value) >= largest) fail_key(key, "has a number that is too large");
  return box;
}

/// Fills the row from one object after another; RapidJSON calls this for each value.
class JsonRows : public rapidjson::BaseReaderHandler<Utf8, JsonRows> {
 public:
  JsonRows(JsonStream& stream, const std::string& path, const std::vector<JsonList>& lists)
      : stream_(stream),
        path_(path),
        lists_(lists),
        there_(lists.size()),
        outermost_(lists.size() == 1 && lists[0].name.empty() ? at_list : at_root) {
    row_.path_ = path;
  }

  std::vector<bool> read() {
    // RapidJSON 1.1 overflows when it computes numbers with exponents near -2^31 (CVE-2024-38517), so it only finds the
    // ends of numbers, and std::from_chars computes those that are needed.
    constexpr unsigned flags =
        rapidjson::kParseInsituFlag | rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseValidateEncodingFlag;
    const auto result = rapidjson::GenericReader<Utf8, Utf8>().Parse<flags>(stream_, *this);
    if (result.IsError()) fail(result);
    if (!stream_.ended()) stream_.fail("expected the end of the file");
    return there_;
  }

  bool Null() {
    return scalar([](JsonRow::Slot& slot) { slot.type = Type::none; });
  }
  bool Bool(bool value) {
    return scalar([&](JsonRow::Slot& slot) { slot.type = Type::flag, slot.flag = value; });
  }
  bool String(const char* text, std::size_t bytes, bool) {
    return scalar([&](JsonRow::Slot& slot) { slot.type = Type::text, slot.text.assign(text, bytes); });
  }
  bool RawNumber(const char*, std::size_t bytes, bool) {
    if (level_ != at_number || stream_.skips)
      return scalar([&](JsonRow::Slot& slot) { slot.type = Type::number, slot.number = number_of(bytes); });
    const double value = number_of(bytes).real;
    if (slot_->count < slot_->numbers.size()) slot_->numbers[slot_->count] = value;
    ++slot_->count;
    return true;
  }
  bool Key(const char* text, std::size_t bytes, bool) {
    if (stream_.skips) return true;
    const std::string_view key(text, bytes);
    level_ == at_list ? find_list(key) : find_slot(key);
    return true;
  }
  bool StartObject() {
    if (!stream_.skips && level_ != at_root && level_ != at_row) unexpected();
    return enter();
  }
  bool StartArray() {
    if (stream_.skips) return enter();
    if (level_ == at_list)
      start_list();
    else if (level_ == at_value)
      slot_->type = Type::numbers, slot_->count = 0;
    else
      unexpected();
    return enter();
  }
  bool EndObject(std::size_t) {
    --level_;
    if (level_ == at_row && !stream_.skips) {
      lists_[list_].take(row_);
      ++row_.place_;
      clear_row();
    }
    return leave();
  }
  bool EndArray(std::size_t) {
    --level_;
    return leave();
  }

 private:
  using Type = JsonRow::Type;
  static constexpr int max_depth = 100;
  /// The level of the expected value: how deep it is nested.
  enum Level { at_root, at_list, at_row, at_value, at_number };

  [[noreturn]] void fail(const rapidjson::ParseResult& result) const {
    switch (result.Code()) {
      case rapidjson::kParseErrorDocumentRootNotSingular: stream_.fail("expected the end of the file");
      case rapidjson::kParseErrorObjectMissName: stream_.fail("expected \"");
      case rapidjson::kParseErrorObjectMissColon: stream_.fail("expected :");
      case rapidjson::kParseErrorObjectMissCommaOrCurlyBracket: stream_.fail("expected , or }");
      case rapidjson::kParseErrorArrayMissCommaOrSquareBracket: stream_.fail("expected , or ]");
      case rapidjson::kParseErrorStringUnicodeEscapeInvalidHex: stream_.fail("expected four hexadecimal digits");
      case rapidjson::kParseErrorStringUnicodeSurrogateInvalid: stream_.fail("half a surrogate pair");
      case rapidjson::kParseErrorStringInvalidEncoding: stream_.fail("the text is not UTF-8", result.Offset());
      case rapidjson::kParseErrorNumberTooBig: stream_.fail("a number out of range");
      case rapidjson::kParseErrorNumberMissFraction:
      case rapidjson::kParseErrorNumberMissExponent: stream_.fail("expected a digit");
      case rapidjson::kParseErrorStringMissQuotationMark:
        stream_.fail(stream_.ended() ? "it ends within a text" : "a control character in a text");
      case rapidjson::kParseErrorStringEscapeInvalid:  // an escape's offset is that of its backslash
        stream_.fail(result.Offset() == stream_.Tell() ? "a control character in a text"
                                                       : "an unknown escape in a text");
      default: break;
    }
    const char before = stream_.last(1)[0];
    if (before == '-') stream_.fail("expected a digit");
    if (before >= 'a' && before <= 'z') stream_.fail("expected true, false or null");
    stream_.fail(stream_.ended() ? "it ends here" : "expected a value");
  }

  bool enter() {
    if (++level_ - outermost_ > max_depth) stream_.fail("nested deeper than " + std::to_string(max_depth));
    return true;
  }

  /// Leaves a value; called after each one.
  bool leave() {
    if (level_ == skipped_level_) stream_.skips = false;
    return true;
  }

  /// Skips the next value of this level, or the rest of the one that has begun in it.
  void skip() {
    skipped_level_ = level_;
    stream_.skips = true;
  }

  template <class Fill>
  bool scalar(const Fill& fill) {
    if (level_ == at_value && !stream_.skips)
      fill(*slot_);
    else if (!stream_.skips)
      unexpected();
    return leave();
  }

  /// Refuses a value of another type than this level has.
  void unexpected() {
    switch (level_) {
      case at_root: fail_file(path_, "this is not a JSON object with lists");
      case at_list: fail_file(path_, list_name() + " is not a list");
      case at_row: row_.fail("this is not an object");
      default: slot_->type = Type::other, skip();
    }
  }

  std::string list_name() const { return outermost_ == at_list ? "the whole" : "'" + lists_[list_].name + "'"; }

  void find_list(std::string_view key) {
    const auto found = std::find_if(lists_.begin(), lists_.end(), [&](const auto& list) { return list.name == key; });
    if (found == lists_.end()) return skip();
    list_ = static_cast<std::size_t>(found - lists_.begin());
    if (there_[list_]) fail_file(path_, list_name() + " occurs twice");
  }

  void find_slot(std::string_view key) {
    const auto& keys = lists_[list_].keys;
    const auto found = std::find(keys.begin(), keys.end(), key);
    if (found == keys.end()) return skip();
    slot_ = &row_.slots_[static_cast<std::size_t>(found - keys.begin())];
  }

  void start_list() {
    there_[list_] = true;
    row_.list_ = lists_[list_].name;
    row_.keys_ = &lists_[list_].keys;
    row_.slots_.resize(row_.keys_->size());
    row_.place_ = 0;
    clear_row();
  }

  void clear_row() {
    for (auto& slot : row_.slots_) slot.type = Type::none;  // texts keep their memory
  }

  JsonRow::Number number_of(std::size_t bytes) const {
    const auto digits = stream_.last(bytes);
    const char* const end = digits.data() + digits.size();
    JsonRow::Number out{};
    if (std::from_chars(digits.data(), end, out.real).ec != std::errc()) stream_.fail("a number out of range");
    const auto whole = std::from_chars(digits.data(), end, out.integer);
    out.is_integer = whole.ec == std::errc() && whole.ptr == end;
    constexpr double exact = std::uint64_t{1} << 53;  // doubles are exact integers up to here
    if (!out.is_integer && std::abs(out.real) <= exact && std::trunc(out.real) == out.real)
      out.integer = static_cast<std::int64_t>(out.real), out.is_integer = true;
    return out;
  }

  JsonStream& stream_;
  const std::string& path_;
  const std::vector<JsonList>& lists_;
  std::vector<bool> there_;
  JsonRow row_;
  const int outermost_;
  int level_ = outermost_, skipped_level_ = -1;
  std::size_t list_ = 0;           ///< the list that is being read
  JsonRow::Slot* slot_ = nullptr;  ///< receives the value that is read next
};

std::vector<bool> read_json_lists(std::istream& stream, const std::string& path, const std::vector<JsonList>& lists) {
  JsonStream bytes(stream, path);
  return JsonRows(bytes, path, lists).read();
}

}  // namespace flowtrain
