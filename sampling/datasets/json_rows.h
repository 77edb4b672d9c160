#pragma once
// Reads lists of flat objects, such as annotations, from JSON files (RFC 8259) of any length as a stream, with
// RapidJSON. Other values (polygons, captions) are skipped and never stored.

#include <array>
#include <cstdint>
#include <functional>
#include <istream>
#include <string>
#include <vector>

namespace flowtrain {

/// One object of a list. Accessors throw UserError(data), naming file, object and key, for a value of another type.
class JsonRow {
 public:
  /// Returns whether the object has this key, not null. Keys are numbered as in JsonList::keys.
  bool has(std::size_t key) const { return slots_[key].type != Type::none; }
  std::int64_t integer(std::size_t key) const;
  /// Returns whether the value is a text.
  bool is_text(std::size_t key) const { return slots_[key].type == Type::text; }
  /// Returns a number of magnitude below 10^12, which no pixel coordinate exceeds.
  double real(std::size_t key) const;
  const std::string& text(std::size_t key) const;
  /// Returns a value that is 0, 1, false or true.
  bool flag(std::size_t key) const;
  /// Returns [x, y, width, height], each in the range of real().
  std::array<double, 4> box(std::size_t key) const;
  /// Throws an error about this object: "file: annotations 17: <what>", with its `id` if known, else with its position.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  friend class JsonRows;
  enum class Type : std::uint8_t { none, flag, number, text, numbers, other };
  struct Number {
    double real;
    std::int64_t integer;  ///< the number, if it is an integer
    bool is_integer;       ///< has no fraction, and is within 64 bits
  };
  struct Slot {
    Type type = Type::none;
    bool flag = false;
    Number number{};
    std::string text;
    std::array<double, 4> numbers{};
    std::size_t count = 0;  ///< number of `numbers`, including those beyond the fourth
  };
  const Slot& slot(std::size_t key, bool matches, const char* expected) const;
  [[noreturn]] void fail_key(std::size_t key, const std::string& what) const;

  std::string path_, list_;
  const std::vector<std::string>* keys_ = nullptr;
  std::vector<Slot> slots_;
  std::size_t place_ = 0;
};

/// A list to be read: its key in the file's root object ("": the root itself is the list), the keys needed of its
/// objects, and the function that takes each object.
struct JsonList {
  std::string name;
  std::vector<std::string> keys;
  std::function<void(const JsonRow&)> take;
};

/// Throws UserError(data) "<path>: <what>", with the hint to repair the file.
[[noreturn]] void fail_file(const std::string& path, const std::string& what);

/// Reads a file's lists; returns which of them exist, in the order of `lists`. `path` is for messages. Throws
/// UserError(data) for malformed JSON (with the byte), nesting deeper than 100, a list that occurs twice or is not a
/// list, and what `take` throws. It holds one object's texts in memory, of at most 64 KiB each.
std::vector<bool> read_json_lists(std::istream& stream, const std::string& path, const std::vector<JsonList>& lists);

}  // namespace flowtrain
