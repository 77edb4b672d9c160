#include "pipeline/engine/tensorboard/pictures.h"

#include <optional>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_file.h"
#include "pipeline/base/telemetry/picture_records.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

constexpr std::size_t most_png_bytes = 64 << 20;

// Returns the picture that shows most: with boxes, otherwise the net's input, otherwise its output.
std::optional<std::string> file_of(const nlohmann::ordered_json& sample) {
  for (const char* member : {"boxes_file", "file", "prediction_file"})
    if (const auto name = text_in(sample, member); name && is_plain_name(*name)) return name;
  return {};
}

// Returns the text as a cell of a Markdown table that is neither markup nor a link.
std::string plain_cell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (std::string_view("\\`*_{}[]()>#!|").find(c) != std::string_view::npos) cell += '\\';
    cell += c == '<' ? "&lt;" : std::string(1, c);
  }
  return cell;
}

// Returns false if a file is not there yet.
bool add_list(const std::filesystem::path& folder, const nlohmann::ordered_json& list, const std::string& group,
              PictureSet& set) {
  if (!list.is_array()) return true;
  std::string texts;
  const auto add = [&](const std::optional<std::string>& file, const std::string& tag) {
    if (!file) return true;
    auto png = text_of_file(folder / *file, most_png_bytes);
    if (png.empty()) return false;
    set.pictures.push_back({tag, std::move(png)});
    return true;
  };
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string number = printed("%02zu", i);
    if (!add(file_of(list[i]), group + number)) return false;
    const auto fields = member_of(list[i], "fields");
    if (!fields.is_array()) continue;
    for (auto& field : fields) {
      const std::string name = text_in(field, "name").value_or("");
      if (!add(file_of(field), concat(group, number, "/", name))) return false;
      if (const auto text = text_in(field, "text"))
        texts += concat("| ", number, " | ", plain_cell(name), " | ", plain_cell(*text), " |\n");
    }
  }
  if (!texts.empty())
    set.pictures.push_back({group + "fields", "| sample | field | value |\n|---|---|---|\n" + texts, true});
  return true;
}

// Returns false if the folder is not complete yet.
bool add_folder(const std::filesystem::path& run, const PictureFolder& from, PictureSet& set) {
  const auto json = json_of_file(run / from.path / "pictures.json");
  const auto name = from.set.empty() ? "" : from.set + "/";
  return json.is_object() && add_list(run / from.path, member_of(json, "samples"), "pictures/" + name, set) &&
         add_list(run / from.path, member_of(json, "worst"), "worst/" + name, set);
}

}  // namespace

std::vector<PictureSet> new_pictures(const std::filesystem::path& run, std::uint64_t iteration,
                                     const std::set<std::uint64_t>& known) {
  std::vector<PictureSet> sets;
  std::set<std::uint64_t> incomplete;
  const auto is_new = [&](std::uint64_t of) { return of <= iteration && !known.contains(of); };
  for (auto& folder : picture_folders(run, is_new)) {
    if (sets.empty() || sets.back().iteration != folder.iteration) sets.push_back({folder.iteration, {}});
    if (!add_folder(run, folder, sets.back())) incomplete.insert(folder.iteration);
  }
  std::erase_if(sets, [&](auto& set) { return incomplete.contains(set.iteration); });
  return sets;
}

}  // namespace flowtrain
