#pragma once
// Finds the records of one file, so that they share a name.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sampling/core/names.h"

namespace flowtrain {

/// Returns for each path, which is relative to `folder` or absolute, the index of the first one of the same file: of
/// those whose absolute paths are the same without "." and "..".
inline std::vector<std::uint32_t> firsts_of_same_files(const Names& paths, const std::filesystem::path& folder) {
  const auto base = std::filesystem::absolute(folder);
  std::unordered_map<std::string, std::uint32_t> files;
  std::vector<std::uint32_t> firsts(paths.size());
  for (std::uint32_t i = 0; i < firsts.size(); ++i)
    firsts[i] = files.try_emplace((base / paths[i]).lexically_normal().string(), i).first->second;
  return firsts;
}

/// Returns whether files may have several paths there: some paths are absolute, or have empty parts, "." or "..".
inline bool may_have_same_files(const Names& paths) {
  const auto is_plain = [](std::string_view path) {
    return !path.starts_with('/') && path.find("./") == path.npos && path.find("//") == path.npos;
  };
  for (std::size_t i = 0; i < paths.size(); ++i)
    if (!is_plain(paths[i])) return true;
  return false;
}

}  // namespace flowtrain
