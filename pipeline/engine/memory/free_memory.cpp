#include "pipeline/engine/memory/free_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

namespace flowtrain {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

std::optional<std::uint64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  std::uint64_t number;
  return file >> number ? std::optional(number) : std::nullopt;
}

// Returns the value of a name in a file whose lines are a name and a number.
std::optional<std::uint64_t> number_of(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string word; file >> word;)
    if (std::uint64_t number; word == name && file >> number) return number;
  return {};
}

/// The names of one version's files.
struct GroupFiles {
  const char *limit, *used, *stat, *cache;  ///< cache: bytes of `used` for files that nobody uses now
};
constexpr GroupFiles version_1{"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat", "total_inactive_file"};
constexpr GroupFiles version_2{"memory.max", "memory.current", "memory.stat", "inactive_file"};

std::uint64_t left_in(const fs::path& group, const GroupFiles& files) {
  const auto limit = number_in(group / files.limit), used = number_in(group / files.used);  // "max" is no number
  if (!limit || !used) return unlimited;
  const std::uint64_t cache = std::min(*used, number_of(group / files.stat, files.cache).value_or(0));
  return *limit - std::min(*limit, *used - cache);
}

// Returns the least that is left in all groups above, whose limits add up. A container may see only its own group.
std::uint64_t left_in_all(const fs::path& mount, fs::path group, const GroupFiles& files) {
  std::uint64_t least = left_in(mount, files);
  for (group = group.relative_path(); !group.empty(); group = group.parent_path())
    least = std::min(least, left_in(mount / group, files));
  return least;
}

std::uint64_t left_in_groups(const fs::path& root) {
  std::uint64_t least = unlimited;
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // 4:memory:/path or, of version 2, 0::/path
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    const fs::path mount = root / "sys/fs/cgroup";
    if (controllers == "memory") least = std::min(least, left_in_all(mount / "memory", group, version_1));
    if (controllers.empty()) least = std::min(least, left_in_all(mount, group, version_2));
  }
  return least;
}

// Returns the rest of the soft limit in "Max address space  4096000  unlimited  bytes".
std::uint64_t left_of_address_space(const fs::path& root) {
  constexpr std::string_view name = "Max address space";
  std::ifstream file(root / "proc/self/limits");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    std::uint64_t limit;
    if (!(std::istringstream(line.substr(name.size())) >> limit)) return unlimited;
    const auto used = number_of(root / "proc/self/status", "VmSize:");  // kB
    return limit - std::min(limit, used.value_or(0) * 1024);
  }
  return unlimited;
}

}  // namespace

std::uint64_t free_memory(const fs::path& root) {
  const auto available = number_of(root / "proc/meminfo", "MemAvailable:");  // kB
  return std::min({available ? *available * 1024 : unlimited, left_in_groups(root), left_of_address_space(root)});
}

}  // namespace flowtrain
