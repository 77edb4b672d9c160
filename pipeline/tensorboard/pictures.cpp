#include "pipeline/tensorboard/pictures.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "sampling/core/parse.h"

namespace flowtrain {

namespace {

std::optional<std::string> content_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// False: a file is not there yet.
bool add_list(const std::filesystem::path& folder, const nlohmann::json& list, const std::string& group,
              PictureSet& set) {
  for (auto& sample : list) {
    const auto file = sample.is_object() && sample.contains("file") && sample["file"].is_string()
                          ? std::filesystem::path(sample["file"].get<std::string>())
                          : std::filesystem::path();
    if (file.empty() || file.has_parent_path()) continue;
    auto png = content_of_file(folder / file);
    if (!png) return false;
    set.pictures.push_back({group + "/" + file.stem().string(), std::move(*png)});
  }
  return true;
}

std::optional<PictureSet> read_set(const std::filesystem::path& folder, std::uint64_t iteration) {
  const auto text = content_of_file(folder / "pictures.json");
  if (!text) return std::nullopt;
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  PictureSet set{iteration, {}};
  for (auto [key, group] : {std::pair("samples", "pictures"), std::pair("worst", "worst")})
    if (json.contains(key) && !add_list(folder, json[key], group, set)) return std::nullopt;
  return set;
}

}  // namespace

std::vector<PictureSet> new_pictures(const std::filesystem::path& folder, std::uint64_t iteration,
                                     const std::set<std::uint64_t>& known) {
  const std::string prefix = "iter-";
  std::vector<PictureSet> sets;
  std::error_code ignored;
  for (auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const auto number = parse_number<std::uint64_t>(name.substr(prefix.size()));
    if (!number || *number > iteration || known.contains(*number)) continue;
    if (auto set = read_set(entry.path(), *number)) sets.push_back(std::move(*set));
  }
  std::ranges::sort(sets, {}, &PictureSet::iteration);
  return sets;
}

}  // namespace flowtrain
