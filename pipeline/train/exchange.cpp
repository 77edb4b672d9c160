#include "pipeline/train/exchange.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace flowtrain {

using nlohmann::json;

namespace {

// Stages are told apart by literals.
const char* stage_of(const std::string& name) { return name == "read" ? "read" : "sample"; }

// Between processes of one program: numbers travel as they lie in memory.
template <class T>
void put(std::string& bytes, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
void put_all(std::string& bytes, const std::vector<T>& values) {
  put(bytes, std::uint64_t{values.size()});
  for (auto& value : values) put(bytes, value);
}

template <class T>
T take(std::string_view& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

template <class T>
std::vector<T> take_all(std::string_view& bytes) {
  std::vector<T> values(take<std::uint64_t>(bytes));
  for (auto& value : values) value = take<T>(bytes);
  return values;
}

}  // namespace

std::vector<BadSample> bad_samples_of_all(Group& group, const std::vector<BadSample>& mine) {
  if (group.size() == 1) return mine;
  json list = json::array();
  for (auto& bad : mine) list.push_back({bad.epoch, bad.position, bad.id, bad.substitute, bad.stage, bad.reason});
  std::vector<BadSample> all;
  // A reason may hold the bytes of a file's name, which need not be UTF-8.
  for (auto& text :
       group.gather("the bad samples of all ranks", list.dump(-1, ' ', false, json::error_handler_t::replace)))
    for (auto& bad : json::parse(text)) all.push_back({bad[0], bad[1], bad[2], bad[3], stage_of(bad[4]), bad[5]});
  return all;
}

std::vector<ImageResult> gather_image_results(Group& group, std::vector<ImageResult> mine) {
  std::string bytes;
  if (group.size() > 1) {
    for (auto& image_result : mine)
      put(bytes, image_result.record), put_all(bytes, image_result.boxes), put_all(bytes, image_result.found);
    mine.clear();
    for (const std::string& text : group.gather("the objects that all ranks found", bytes))
      for (std::string_view left = text; !left.empty();)
        mine.push_back({take<std::uint64_t>(left), take_all<Box>(left), take_all<Detection>(left)});
  }
  std::sort(mine.begin(), mine.end(), [](auto& a, auto& b) { return a.record < b.record; });
  return mine;
}

}  // namespace flowtrain
