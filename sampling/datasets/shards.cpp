#include "sampling/datasets/shard_index.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "sampling/core/parse.h"
#include "sampling/core/settings.h"
#include "sampling/remote/remote.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_shards = 100'000;

/// Every name that a pattern with ranges "{000..127}" stands for; numbers are padded to the width of the first.
std::vector<std::string> expand(const std::string& pattern, const std::string& key, const Settings& settings) {
  const auto open = pattern.find('{');
  if (open == pattern.npos) return {pattern};
  const auto close = std::min(pattern.find('}', open), pattern.size());
  const auto range = std::string_view(pattern).substr(open + 1, close - open - 1);
  const auto dots = std::min(range.find(".."), range.size());
  const bool is_range = close < pattern.size() && dots < range.size();
  const auto first = is_range ? parse_number<std::uint64_t>(range.substr(0, dots)) : std::nullopt,
             last = is_range ? parse_number<std::uint64_t>(range.substr(dots + 2)) : std::nullopt;
  if (!first || !last || *last < *first)
    throw settings.error(key, "no pattern of shards: " + pattern, ExitCode::usage, "write it as shard-{000..127}.tar");
  std::vector<std::string> names;
  const auto tails = expand(pattern.substr(close + 1), key, settings);
  if (*last - *first >= max_shards / tails.size())
    throw settings.error(key, "more than " + std::to_string(max_shards) + " shards: " + pattern);
  for (auto number = *first; number <= *last; ++number) {
    auto digits = std::to_string(number);
    digits.insert(0, dots - std::min(dots, digits.size()), '0');
    for (const auto& tail : tails) names.push_back(pattern.substr(0, open) + digits + tail);
  }
  return names;
}

std::vector<std::string> shards_in(const fs::path& folder, const std::string& key, const Settings& settings) {
  std::vector<std::string> shards;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".tar" && !it->path().filename().native().starts_with('.'))
      shards.push_back(it->path().string());
  if (error) throw settings.error(key, "cannot list " + folder.string() + ": " + error.message(), ExitCode::data);
  if (shards.empty()) throw settings.error(key, "no .tar shards in " + folder.string(), ExitCode::data);
  std::ranges::sort(shards);
  return shards;
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// The sub-folder to use where no split is named.
fs::path default_folder(const fs::path& path, const Settings& settings, bool training) {
  const auto wanted = training ? std::vector<std::string>{"train"} : std::vector<std::string>{"val", "test"};
  for (const auto& name : wanted)
    if (is_folder(path / name)) return path / name;
  for (const char* other : {"train", "val", "test"})
    if (is_folder(path / other))
      throw settings.error(
          "path",
          "there is '" + (path / other).string() + "', but no folder " + (training ? "'train'" : "'val' or 'test'") +
              " beside it",
          ExitCode::data,
          "name the folder or the pattern of shards with split; data.val_share makes a split of the training data");
  return path;
}

/// Of a server's folder: no list of it can be had.
std::vector<std::string> remote_shards(std::string path, const std::string& split, const Settings& settings) {
  if (!split.empty()) path += (path.ends_with('/') ? "" : "/") + split;
  const std::string key = split.empty() ? "path" : "split";
  if (path.ends_with('/'))
    throw settings.error(key, "a folder on a server cannot be listed: " + public_name(path), ExitCode::data,
                         "name its shards: " + public_name(path) + "shard-{000..127}.tar");
  return expand(path, key, settings);
}

}  // namespace

std::vector<std::string> find_shards(const Settings& settings, bool training) {
  const auto& split = settings.text("split");
  if (is_remote(settings.text("path"))) return remote_shards(settings.text("path"), split, settings);
  const fs::path path = settings.text("path");
  if (path.empty())
    throw settings.error("path", "this data set needs a .tar, a folder of them or a pattern", ExitCode::data,
                         "set data.path in the configuration or --set data.path=FOLDER");
  if (!is_folder(path) && !split.empty())
    throw settings.error("split", "path is no folder that could have splits: " + path.string());
  const std::string key = split.empty() ? "path" : "split";
  const auto place = !split.empty() ? path / split : is_folder(path) ? default_folder(path, settings, training) : path;
  if (is_folder(place)) return shards_in(place, key, settings);
  const auto shards = expand(place.string(), key, settings);
  std::error_code ignored;
  for (const auto& shard : shards)
    if (!fs::exists(shard, ignored)) throw settings.error(key, "no such shard: " + shard, ExitCode::data);
  return shards;
}

bool has_split(const Settings& settings, bool training) {
  const fs::path path = settings.text("path");
  if (!settings.text("split").empty()) return true;
  return !is_remote(path.string()) && is_folder(path) && default_folder(path, settings, training) != path;
}

}  // namespace flowtrain
