#include "pipeline/report_page/pictures.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "pipeline/report_page/run_records.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t most_iterations = 200;
constexpr std::string_view png_signature = "\x89PNG\r\n\x1a\n";

// Members of a sample that name a picture, and what the page calls each.
constexpr std::pair<const char*, const char*> picture_members[] = {
    {"file", "src"}, {"prediction_file", "prediction_src"}, {"label_file", "label_src"}};

// The sizes stand behind the signature, and the length and name of the first chunk.
bool add_size(ordered_json& sample, std::string_view png) {
  constexpr std::size_t width_at = 16, height_at = 20, header = 24;
  if (png.size() < header || !png.starts_with(png_signature)) return false;
  const auto number = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(png[i]);
    return value;
  };
  sample["width"] = number(width_at);
  sample["height"] = number(height_at);
  return number(width_at) > 0 && number(height_at) > 0;
}

// A name alone: a file that leads elsewhere is not the run's.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find('/') == name.npos && name != "." && name != "..";
}

// A validation's pictures of one set.
struct Record {
  std::string folder;  // within the run's: "pictures/iter-00000500/"
  ordered_json json;

  // Calls use(sample, member for the address, name of the file) for each picture.
  void for_each_picture(const std::function<void(ordered_json&, const char*, const std::string&)>& use) {
    for (const char* list : {"samples", "worst"}) {
      if (!json.contains(list) || !json[list].is_array()) continue;
      for (auto& sample : json[list])
        for (auto& [member, src] : picture_members)
          if (sample.is_object() && sample.contains(member) && sample[member].is_string())
            if (auto name = sample[member].get<std::string>(); is_plain_name(name)) use(sample, src, name);
    }
  }
};

std::vector<std::string> folders_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error))
    if (each->is_directory(error)) names.push_back(each->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// By the set's name; those of the first set have none. Oldest first.
std::map<std::string, std::vector<Record>> records_of(const fs::path& run) {
  std::map<std::string, std::vector<Record>> records;
  const auto add = [&](const std::string& set, const std::string& folder) {
    auto json = json_of_file(run / folder / "pictures.json");
    if (json.is_object() && json.contains("iter") && json["iter"].is_number())
      records[set].push_back({folder, std::move(json)});
  };
  auto iterations = folders_in(run / "pictures");
  std::erase_if(iterations, [](auto& name) { return !name.starts_with("iter-"); });
  if (iterations.size() > most_iterations) iterations.erase(iterations.begin(), iterations.end() - most_iterations);
  for (auto& iteration : iterations) {
    const std::string folder = "pictures/" + iteration + "/";
    add("", folder);
    for (auto& set : folders_in(run / folder)) add(set, folder + set + "/");
  }
  return records;
}

// The newest, the first, the one in the middle, those in the middles of what is left, and so on.
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
  for (auto& [set, records] : sets) {
    std::size_t left = budget / sets.size();
    bool embeds = true;
    for (const auto index : by_importance(records.size())) {
      std::size_t bytes = 0;
      records[index].for_each_picture([&](ordered_json& sample, const char* src, const std::string& name) {
        const auto png = text_of_file(run / records[index].folder / name);
        if (!add_size(sample, png)) return;
        bytes += png.size();
        const bool fits = embeds && bytes <= left;
        sample[src] = fits ? "data:image/png;base64," + base64(png) : link + records[index].folder + name;
      });
      embeds = embeds && bytes <= left;
      left -= std::min(left, bytes);
    }
    for (auto& record : records) all.push_back(std::move(record.json));
  }
  return all;
}

}  // namespace flowtrain
