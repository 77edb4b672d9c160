#include "sampling/datasets/shards/shard_index.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <string_view>

#include "sampling/class_names.h"
#include "sampling/core/parse.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/datasets/split_names.h"
#include "sampling/io/files.h"
#include "sampling/remote/remote.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_shards = 100'000;

/// Returns the .tar files of a folder, sorted; `error` says why it cannot be listed.
std::vector<std::string> shards_below(const fs::path& folder, std::error_code& error) {
  std::vector<std::string> shards;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (ending_of(it->path().native()) == "tar" && !is_hidden(it->path().filename().native()))
      shards.push_back(it->path().string());
  std::ranges::sort(shards);
  return shards;
}

std::vector<std::string> shards_in(const fs::path& folder, const std::string& key, const Settings& settings) {
  std::error_code error;
  auto shards = shards_below(folder, error);
  if (error) throw settings.error(key, "cannot list " + folder.string() + ": " + error.message(), ExitCode::data);
  if (shards.empty()) throw settings.error(key, "no .tar shards in " + folder.string(), ExitCode::data);
  return shards;
}

/// Returns the sub-folders that hold shards, sorted.
std::vector<std::string> shard_folders(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const auto name = it->path().filename().string();
    std::error_code ignored;
    if (!is_hidden(name) && is_folder(it->path()) && !shards_below(it->path(), ignored).empty()) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

/// Returns a shard's name without its numbers and extension, which the shards of one split share.
std::string stem_of(const std::string& shard) {
  auto stem = fs::path(shard).stem().string();
  std::erase_if(stem, [](unsigned char c) { return std::isdigit(c); });
  return stem;
}

/// Returns the outermost folder from `folder` on with shards, or with several sub-folders: archives often wrap
/// everything in one more folder.
fs::path unwrapped(fs::path folder) {
  for (;;) {
    std::vector<fs::path> inside;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
      if (!is_hidden(it->path().filename().native())) inside.push_back(it->path());
    if (inside.size() != 1 || !is_folder(inside.front()) || !shards_below(inside.front(), error).empty()) return folder;
    folder = inside.front();
  }
}

/// Returns the shards of a folder, whose sub-folders or names may divide them into splits.
ShardList shards_of_folder(const fs::path& whole, const Settings& settings, bool training) {
  const auto folder = unwrapped(whole);
  const auto folders = shard_folders(folder);
  auto choice = choose_split(folders, folder.string(), "folders", settings, training);
  if (choice && choice->names.size() > 1)
    throw unclear_split(settings,
                        concat(folder.string(), ": several folders may be one split: ", listed_classes(choice->names)));
  if (choice) {
    const auto place = folder / choice->names.front();
    return {shards_in(place, "path", settings), choice->has_split, place.string(), std::move(choice->notes)};
  }
  auto shards = shards_in(folder, "path", settings);
  std::vector<std::string> stems;
  for (const auto& shard : shards)
    if (const auto stem = stem_of(shard); std::ranges::find(stems, stem) == stems.end()) stems.push_back(stem);
  choice = choose_split(stems, folder.string(), "shards", settings, training);
  if (!choice || !choice->has_split) return {std::move(shards), false, folder.string()};
  std::erase_if(shards,
                [&](auto& shard) { return std::ranges::find(choice->names, stem_of(shard)) == choice->names.end(); });
  return {std::move(shards), true, concat(folder.string(), " (", listed_classes(choice->names), "…)"),
          std::move(choice->notes)};
}

}  // namespace

std::vector<std::string> find_remote_names(const Settings& settings, const std::string& example) {
  const auto& split = settings.text("split");
  std::string path = settings.text("path");
  if (!split.empty()) path += (path.ends_with('/') ? "" : "/") + split;
  const std::string key = split.empty() ? "path" : "split";
  if (path.ends_with('/'))
    throw settings.error(key, "a folder on a server cannot be listed: " + public_name(path), ExitCode::data,
                         "name its shards: " + public_name(path) + example);
  return expand_names(path, key, settings);
}

std::vector<std::string> expand_names(const std::string& pattern, const std::string& key, const Settings& settings) {
  const auto open = pattern.find('{');
  if (open == pattern.npos) return {pattern};
  const auto close = std::min(pattern.find('}', open), pattern.size());
  const auto range = std::string_view(pattern).substr(open + 1, close - open - 1);
  const auto dots = std::min(range.find(".."), range.size());
  const bool is_range = close < pattern.size() && dots < range.size();
  const auto first = is_range ? parse_number<std::uint64_t>(range.substr(0, dots)) : std::nullopt,
             last = is_range ? parse_number<std::uint64_t>(range.substr(dots + 2)) : std::nullopt;
  if (!first || !last || *last < *first)
    throw settings.error(key, "this is not a pattern of names: " + pattern, ExitCode::usage,
                         "write it as shard-{000..127}.tar");
  std::vector<std::string> names;
  const auto tails = expand_names(pattern.substr(close + 1), key, settings);
  if (*last - *first >= max_shards / tails.size())
    throw settings.error(key, "more than " + std::to_string(max_shards) + " shards: " + pattern);
  for (auto number = *first; number <= *last; ++number) {
    auto digits = std::to_string(number);
    digits.insert(0, dots - std::min(dots, digits.size()), '0');
    for (const auto& tail : tails) names.push_back(pattern.substr(0, open) + digits + tail);
  }
  return names;
}

ShardList find_shards(const Settings& settings, bool training) {
  const auto& split = settings.text("split");
  const fs::path path = settings.text("path");
  if (is_remote(path.string())) {
    auto shards = find_remote_names(settings, "shard-{000..127}.tar");
    return {std::move(shards), !split.empty(), public_name(path.string()) + (split.empty() ? "" : "/" + split)};
  }
  if (path.empty())
    throw settings.error("path", "this data set needs a .tar, a folder of them or a pattern", ExitCode::data,
                         "set data.path in the configuration or --set data.path=FOLDER");
  if (!is_folder(path) && !split.empty())
    throw settings.error("split", "only a folder can have splits, but path is: " + path.string());
  if (split.empty() && is_folder(path)) return shards_of_folder(path, settings, training);
  const std::string key = split.empty() ? "path" : "split";
  const auto place = split.empty() ? path : path / split;
  if (is_folder(place)) return {shards_in(place, key, settings), true, place.string()};
  auto shards = expand_names(place.string(), key, settings);
  std::error_code ignored;
  for (const auto& shard : shards)
    if (!fs::exists(shard, ignored)) throw settings.error(key, "no such shard: " + shard, ExitCode::data);
  return {std::move(shards), !split.empty(), place.string()};
}

}  // namespace flowtrain
