#pragma once
// Lists of flat objects in JSON files (RFC 8259) of any length, as annotations come: read by RapidJSON as the bytes
// stream by. Values that nobody asked for (polygons, captions) are passed over and never stored.

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
  /// Whether the object has this key, not null. Keys are numbered as in JsonList::keys.
  bool has(std::size_t key) const { return slots_[key].type != Type::none; }
  std::int64_t integer(std::size_t key) const;
  /// Whether the value is a text.
  bool is_text(std::size_t key) const { return slots_[key].type == Type::text; }
  /// A number below 10^12 in size: further out lies nothing that is measured in pixels.
  double real(std::size_t key) const;
  const std::string& text(std::size_t key) const;
  /// 0, 1, false or true.
  bool flag(std::size_t key) const;
  /// [x, y, width, height], each as real() has it.
  std::array<double, 4> box(std::size_t key) const;
  /// An error in this object: "file: annotations 17: <what>", with its `id` if that is known, else with its place.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  friend class JsonRows;
  enum class Type : std::uint8_t { none, flag, number, text, numbers, other };
  struct Number {
    double real;
    std::int64_t integer;  ///< the same, if it is one
    bool is_integer;       ///< has no fraction, and is within 64 bits
  };
  struct Slot {
    Type type = Type::none;
    bool flag = false;
    Number number{};
    std::string text;
    std::array<double, 4> numbers{};
    std::size_t count = 0;  ///< of `numbers`, with those beyond the fourth
  };
  const Slot& slot(std::size_t key, bool matches, const char* expected) const;
  [[noreturn]] void fail_key(std::size_t key, const std::string& what) const;

  std::string path_, list_;
  const std::vector<std::string>* keys_ = nullptr;
  std::vector<Slot> slots_;
  std::size_t place_ = 0;
};

/// A list to be read: the key of the file's root object under which it lies ("": the root itself is the list), the keys
/// wanted of its objects, and what is done with each object.
struct JsonList {
  std::string name;
  std::vector<std::string> keys;
  std::function<void(const JsonRow&)> take;
};

/// Throws UserError(data) "<path>: <what>", with the hint that the file is to be mended.
[[noreturn]] void fail_file(const std::string& path, const std::string& what);

/// Reads a file's lists; returns which of them were there, in the order of `lists`. `path` is for messages. Throws
/// UserError(data) for what is malformed (with the byte) or nested deeper than 100, for a list that is there twice or
/// is none, and what `take` throws. Memory: that of one object's texts, of 64 KiB each at most.
std::vector<bool> read_json_lists(std::istream& stream, const std::string& path, const std::vector<JsonList>& lists);

}  // namespace flowtrain
