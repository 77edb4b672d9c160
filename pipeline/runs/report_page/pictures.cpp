#include "pipeline/runs/report_page/pictures.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "pipeline/base/telemetry/json_file.h"
#include "pipeline/base/telemetry/picture_records.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t most_iterations = 200;

// Members of a sample that name a picture, and their names in the page.
constexpr std::pair<const char*, const char*> picture_members[] = {
    {"file", "src"}, {"prediction_file", "prediction_src"}, {"label_file", "label_src"}};

constexpr std::pair<const char*, const char*> field_members[] = {{"file", "src"}, {"sound_file", "sound_src"}};

// A validation's pictures of one set.
struct SampleRecord {
  std::string folder;  // within the run's: "pictures/iter-00000500/"
  ordered_json json;

  // Calls use(sample, member for the address, name of the file) for each picture.
  void for_each_picture(const std::function<void(ordered_json&, const char*, const std::string&)>& use) {
    for (const char* list : {"samples", "worst"}) {
      if (!json.contains(list)) continue;
      for (auto& sample : json[list]) {
        for (auto& [member, src] : picture_members)
          if (const auto name = text_in(sample, member); name && is_plain_name(*name)) use(sample, src, *name);
        if (!sample.contains("fields")) continue;
        for (auto& field : sample["fields"])
          for (auto& [member, src] : field_members)
            if (const auto name = text_in(field, member); name && is_plain_name(*name)) use(field, src, *name);
      }
    }
  }
};

// Leaves out samples, boxes and fields that are not objects.
void drop_misshapen(ordered_json& json) {
  const auto keep_objects = [](ordered_json& list) {
    if (!list.is_array()) list = ordered_json::array();
    std::erase_if(list.get_ref<ordered_json::array_t&>(), [](auto& each) { return !each.is_object(); });
  };
  for (const char* list : {"samples", "worst"}) {
    if (!json.contains(list)) continue;
    keep_objects(json[list]);
    for (auto& sample : json[list])
      for (const char* member : {"boxes", "fields"})
        if (sample.contains(member)) keep_objects(sample[member]);
  }
}

// Adds the pictures of `flowtrain test`, of the parts in RUN/test and in RUN/test/NAME, as sets of their own.
void add_tests(const fs::path& run, std::map<std::string, std::vector<SampleRecord>>& records) {
  std::map<std::uint64_t, std::vector<std::pair<std::string, SampleRecord>>> found;  // by iteration
  std::error_code error;
  fs::recursive_directory_iterator each(run / "test", error), end;
  for (; !error && each != end; each.increment(error)) {
    if (each.depth() > 0) each.disable_recursion_pending();
    if (each->path().filename().string().starts_with('.') || !fs::exists(each->path() / "pictures.json", error))
      continue;
    each.disable_recursion_pending();
    auto json = json_of_file(each->path() / "pictures.json");
    const auto part = json_of_file(each->path() / "summary.json");
    const auto iteration = number_in<std::uint64_t>(json, "iter");
    const auto set = text_in(part, "set");
    if (!iteration || !set) continue;
    drop_misshapen(json);
    const auto named = each.depth() > 0 ? each->path().parent_path().filename().string() + " " : "";
    const auto setting = text_in(part, "setting").value_or("");
    const auto title = concat("test ", named, *set, setting.empty() ? "" : " ", setting);
    json["set"] = title;
    const auto folder = fs::relative(each->path(), run, error).string() + "/";
    found[*iteration].emplace_back(title, SampleRecord{folder, std::move(json)});
  }
  for (auto& [iteration, parts] : found)
    for (auto& [title, record] : parts) records[title].push_back(std::move(record));
}

// Returns the records by the set's name, oldest first; the first set has no name.
std::map<std::string, std::vector<SampleRecord>> records_of(const fs::path& run) {
  auto folders = picture_folders(run, [](std::uint64_t) { return true; });
  std::set<std::uint64_t> iterations;
  for (auto& folder : folders) iterations.insert(folder.iteration);
  while (iterations.size() > most_iterations) iterations.erase(iterations.begin());
  std::map<std::string, std::vector<SampleRecord>> records;
  for (auto& folder : folders) {
    if (!iterations.contains(folder.iteration)) continue;
    auto json = json_of_file(run / folder.path / "pictures.json");
    if (!number_in<double>(json, "iter")) continue;
    drop_misshapen(json);
    records[folder.set].push_back({folder.path, std::move(json)});
  }
  add_tests(run, records);
  return records;
}

// Returns the order in which to embed pictures: the newest, the first, the middle one, the middles of the gaps, …
std::vector<std::size_t> by_importance(std::size_t count) {
  std::vector<std::size_t> order;
  const auto add = [&](std::size_t index) {
    if (std::find(order.begin(), order.end(), index) == order.end()) order.push_back(index);
  };
  if (count == 0) return order;
  add(count - 1);
  for (std::size_t parts = 1; order.size() < count; parts *= 2)
    for (std::size_t i = 0; i < parts; ++i) add(i * (count - 1) / parts);
  return order;
}

}  // namespace

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j) text += j > bytes.size() - i ? '=' : digits[group >> (18 - 6 * j) & 63];
  }
  return text;
}

ordered_json pictures_of(const fs::path& run, const std::string& link, std::size_t budget) {
  auto sets = records_of(run);
  ordered_json all = ordered_json::array();
  for (auto& set : sets) {
    auto& records = set.second;
    std::size_t left = budget / sets.size();
    bool embeds = true;
    for (const auto index : by_importance(records.size())) {
      std::size_t bytes = 0;
      records[index].for_each_picture([&](ordered_json& sample, const char* src, const std::string& name) {
        const auto file = run / records[index].folder / name;
        const std::string head = text_of_file(file, png_head);
        const auto shape = png_size(head);
        const bool is_sound = head.starts_with("RIFF");
        std::error_code error;
        const auto file_bytes = fs::file_size(file, error);
        if ((!shape && !is_sound) || error) return;
        bytes += file_bytes;
        if (shape) sample["width"] = shape->width, sample["height"] = shape->height;
        const std::string start = is_sound ? "data:audio/wav;base64," : "data:image/png;base64,";
        sample[src] = embeds && bytes <= left ? concat(start, base64(text_of_file(file, file_bytes)))
                                              : concat(link, records[index].folder, name);
      });
      embeds = embeds && bytes <= left;
      left -= std::min(left, bytes);
    }
    for (auto& record : records) all.push_back(std::move(record.json));
  }
  return all;
}

}  // namespace flowtrain
