#include "pipeline/base/telemetry/environment.h"

#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "build_info.h"  // made by CMake
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/base/telemetry/secrets_in_json.h"
#include "revision.h"  // made by CMake at every build
#include "sampling/core/cpus.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

using Json = nlohmann::ordered_json;

// Returns the value after `separator` on the first line of a file that starts with `key`.
std::string value_in_file(const char* path, std::string_view key, char separator) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    auto value = line.substr(std::min(line.find(separator), line.size() - 1) + 1);
    std::erase(value, '"');
    return value.substr(std::min(value.find_first_not_of(' '), value.size()));
  }
  return "unknown";
}

Json command_line() {
  Json words = Json::array();
  bool is_secret = false;  // the value of an option may be the next word
  for (auto& word : command_line_words()) {
    words.push_back(is_secret ? std::string(secret_mask) : without_secrets(word));
    is_secret = word.starts_with("--") && word.find('=') == word.npos && is_secret_name(word);
  }
  return words;
}

Json chosen_variables() {
  nlohmann::json chosen = nlohmann::json::object();  // sorted
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string_view text = *variable, name = text.substr(0, text.find('='));
    if (name == "CUDA_VISIBLE_DEVICES" || name.starts_with("OMP_") || name.starts_with("GOMP_") ||
        name.starts_with("FLOWTRAIN_"))
      chosen[std::string(name)] =
          is_secret_variable(name) ? secret_mask : text.substr(std::min(text.size(), name.size() + 1));
  }
  return chosen;
}

Json libraries() {
  Json versions = Json::object();
  for (auto [name, version] : build_info::library_versions) versions[name] = version;
  versions["glibc"] = ::gnu_get_libc_version();
  return versions;
}

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json list_of(const std::vector<GpuFacts::Gpu>& gpus) {
  if (gpus.empty()) return nullptr;
  Json list = Json::array();
  for (auto& gpu : gpus) list.push_back({{"name", gpu.name}, {"memory_bytes", gpu.memory_bytes}});
  return list;
}

std::string utc_now() {
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

std::string program_version() {
  return concat("flowtrain ", build_info::version_text, " (", build_info::revision, ", ", build_info::build_type, ")");
}

std::vector<std::string> command_line_words() {
  std::vector<std::string> words;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

std::string environment_json(const GpuFacts& gpu, const Facts& extra) {
  utsname system{};
  ::uname(&system);
  const CpuLimits cpus = cpu_limits();
  Json json{{"version", build_info::version_text},
            {"revision", build_info::revision},
            {"build_type", build_info::build_type},
            {"compiler", build_info::compiler},
            {"libraries", libraries()},
            {"command", command_line()},
            {"started", utc_now()},
            {"host", system.nodename},
            {"os", value_in_file("/etc/os-release", "PRETTY_NAME", '=')},
            {"kernel", concat(system.sysname, " ", system.release)},
            {"cpu", value_in_file("/proc/cpuinfo", "model name", ':')},
            {"cpu_cores", cpus.machine},
            {"cpu_cores_affinity", cpus.affinity},
            {"cpu_quota", cpus.quota > 0 ? Json(cpus.quota) : Json(nullptr)},
            {"cpu_cores_usable", cpus.usable()},
            {"memory_bytes", std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE)},
            {"gpus", list_of(gpu.gpus)},
            {"cuda", or_null(gpu.cuda)},
            {"cuda_driver", or_null(gpu.cuda_driver)},
            {"cudnn", or_null(gpu.cudnn)},
            {"nccl", or_null(gpu.nccl)},
            {"environment", chosen_variables()}};
  for (const auto& [key, value] : extra) json[key] = value;
  mask_secrets(json);
  return json_text(json, 2) + "\n";
}

}  // namespace flowtrain
