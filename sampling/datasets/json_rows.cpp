#include "sampling/datasets/json_rows.h"

#include <algorithm>
#include <cmath>

#include "sampling/core/error.h"

namespace flowtrain {
namespace {

constexpr double largest = 1e12;

}  // namespace

void fail_file(const std::string& path, const std::string& what) {
  throw UserError(ExitCode::data, path + ": " + what, "mend the file, or make it again");
}

void JsonRow::fail(const std::string& what) const {
  std::string name = std::string("#").append(std::to_string(place_));
  for (std::size_t key = 0; key < slots_.size(); ++key)
    if ((*keys_)[key] == "id" && slots_[key].type == Type::number && slots_[key].number.is_integer)
      name = std::to_string(slots_[key].number.integer);
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
  return slot(key, at.type == Type::number && at.number.is_integer, "a whole number").number.integer;
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

/// Fills the row from one object after another.
class JsonRows {
 public:
  JsonRows(JsonReader& reader, const std::string& path) : reader_(reader) { row_.path_ = path; }

  void read_list(const JsonList& list) {
    row_.list_ = list.name;
    row_.keys_ = &list.keys;
    row_.slots_.resize(list.keys.size());
    row_.place_ = 0;
    reader_.array([&] {
      for (auto& slot : row_.slots_) slot.type = JsonRow::Type::none;  // texts keep their memory
      if (reader_.peek() != '{') row_.fail("is no object");
      reader_.object([&](const std::string& key) {
        const auto wanted = std::ranges::find(list.keys, key) - list.keys.begin();
        if (static_cast<std::size_t>(wanted) == list.keys.size())
          reader_.skip();
        else
          fill(row_.slots_[static_cast<std::size_t>(wanted)]);
      });
      list.take(row_);
      ++row_.place_;
    });
  }

 private:
  using Type = JsonRow::Type;

  void fill(JsonRow::Slot& slot) {
    switch (reader_.peek()) {
      case '{': slot.type = Type::other, reader_.skip(); break;
      case '[': slot.type = Type::numbers, fill_numbers(slot); break;
      case '"': slot.type = Type::text, reader_.text(slot.text); break;
      case 't':
      case 'f': slot.type = Type::flag, slot.flag = reader_.boolean(); break;
      case 'n': slot.type = Type::none, reader_.skip(); break;
      default: slot.type = Type::number, slot.number = reader_.number();
    }
  }

  void fill_numbers(JsonRow::Slot& slot) {
    slot.count = 0;
    reader_.array([&] {
      const char first = reader_.peek();
      if (first != '-' && !(first >= '0' && first <= '9')) {
        slot.type = Type::other;
        return reader_.skip();
      }
      const double value = reader_.number().real;
      if (slot.count < slot.numbers.size()) slot.numbers[slot.count] = value;
      ++slot.count;
    });
  }

  JsonReader& reader_;
  JsonRow row_;
};

std::vector<bool> read_json_lists(std::istream& stream, const std::string& path, const std::vector<JsonList>& lists) {
  JsonReader reader(stream, path);
  JsonRows rows(reader, path);
  std::vector<bool> there(lists.size());
  const auto read_list = [&](std::size_t index, const std::string& name) {
    if (there[index]) fail_file(path, name + " is there twice");
    if (reader.peek() != '[') fail_file(path, name + " is no list");
    there[index] = true;
    rows.read_list(lists[index]);
  };
  if (lists.size() == 1 && lists[0].name.empty()) {
    read_list(0, "the whole");
  } else {
    if (reader.peek() != '{') fail_file(path, "is no JSON object with lists in it");
    reader.object([&](const std::string& key) {
      const auto list = std::ranges::find(lists, key, &JsonList::name);
      if (list == lists.end())
        reader.skip();
      else
        read_list(static_cast<std::size_t>(list - lists.begin()), "'" + key + "'");
    });
  }
  reader.end();
  return there;
}

}  // namespace flowtrain
