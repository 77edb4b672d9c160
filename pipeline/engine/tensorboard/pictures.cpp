#include "pipeline/engine/tensorboard/pictures.h"

#include <optional>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_file.h"
#include "pipeline/base/telemetry/picture_records.h"

namespace flowtrain {

namespace {

constexpr std::size_t most_png_bytes = 64 << 20;

// Returns the picture that shows most: with boxes, otherwise the net's input, otherwise its output.
std::optional<std::string> file_of(const nlohmann::ordered_json& sample) {
  for (const char* member : {"boxes_file", "file", "prediction_file"})
    if (const auto name = text_in(sample, member); name && is_plain_name(*name)) return name;
  return {};
}

// Returns false if a file is not there yet.
bool add_list(const std::filesystem::path& folder, const nlohmann::ordered_json& list, const std::string& group,
              PictureSet& set) {
  if (!list.is_array()) return true;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto file = file_of(list[i]);
    if (!file) continue;
    auto png = text_of_file(folder / *file, most_png_bytes);
    if (png.empty()) return false;
    set.pictures.push_back({group + printed("%02zu", i), std::move(png)});
  }
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
