#include "pipeline/report_page/pictures.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "pipeline/report_page/run_records.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t most_iterations = 200;
constexpr std::string_view png_signature = "\x89PNG\r\n\x1a\n";

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

template <class Use>
void for_each_sample(ordered_json& record, const Use& use) {
  for (const char* list : {"samples", "worst"})
    if (record.contains(list) && record[list].is_array())
      for (auto& sample : record[list])
        if (sample.is_object() && sample.contains("file") && sample["file"].is_string()) use(sample);
}

// A name alone: a file that leads elsewhere is not the run's.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find('/') == name.npos && name != "." && name != "..";
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
  std::vector<std::string> folders;
  std::error_code error;
  for (fs::directory_iterator each(run / "pictures", error), end; !error && each != end; each.increment(error))
    if (each->path().filename().string().starts_with("iter-")) folders.push_back(each->path().filename().string());
  std::sort(folders.begin(), folders.end());
  if (folders.size() > most_iterations) folders.erase(folders.begin(), folders.end() - most_iterations);
  std::vector<ordered_json> records;
  std::erase_if(folders, [&](auto& folder) {
    auto record = json_of_file(run / "pictures" / folder / "pictures.json");
    if (!record.is_object() || !record.contains("iter")) return true;
    records.push_back(std::move(record));
    return false;
  });
  bool embeds = true;
  for (const auto index : by_importance(records.size())) {
    std::size_t bytes = 0;
    for_each_sample(records[index], [&](ordered_json& sample) {
      const auto name = sample["file"].get<std::string>();
      if (!is_plain_name(name)) return;
      const auto png = text_of_file(run / "pictures" / folders[index] / name);
      if (!add_size(sample, png)) return;
      bytes += png.size();
      if (embeds && bytes <= budget)
        sample["src"] = "data:image/png;base64," + base64(png);
      else
        sample["src"] = link + "pictures/" + folders[index] + "/" + name;
    });
    embeds = embeds && bytes <= budget;
    budget -= std::min(budget, bytes);
  }
  return records;
}

}  // namespace flowtrain
