#include "pipeline/inference/evaluation/part_inputs.h"

#include "pipeline/base/config/decides.h"
#include "pipeline/base/config/keys.h"
#include "pipeline/base/snapshot/file.h"
#include "pipeline/base/snapshot/hash.h"
#include "pipeline/base/snapshot/manifest.h"
#include "pipeline/base/telemetry/environment.h"
#include "pipeline/engine/session/fingerprints.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/fingerprint.h"

namespace flowtrain {

namespace {

std::string settings_text(const Config& config) {
  std::string text;
  const auto add = [&](const Settings& settings, bool whole) {
    for (auto& key : settings.keys()) {
      const auto name = concat(settings.table(), ".", key.name);
      const Decides decides = decided_by(name);
      if (whole ? decides != Decides::nothing : has(decides, Decides::tests))
        text += concat(name, " = ", to_toml(settings.value(key.name)), "\n");
    }
  };
  add(config.data(false), /*whole=*/true);
  for (auto& table : core_tables()) {
    if (table.name.starts_with("data")) continue;
    if (!config.has_list(table.name)) add(config.table(table.name), false);
    if (config.has_list(table.name))
      for (auto& entry : config.list(table.name)) add(entry, false);
  }
  return text;
}

}  // namespace

nlohmann::ordered_json part_inputs(const std::filesystem::path& snapshot, const ValidationData& set,
                                   const std::string& device, std::size_t pictures) {
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 26;
  const std::string kind = device.substr(0, device.find(':'));
  std::string text = settings_text(set.config) + concat(kind, "\n", pictures, "\n");
  for (auto& [key, hash] : fingerprints_of(set.config, *set.data.dataset, {})) text += concat(key, " ", hash, "\n");
  return {{"program", program_version()},
          {"snapshot", xxh64_hex(read_text(snapshot / manifest_name, most_bytes))},
          {"data", hash_hex(set.data.dataset->version())},
          {"config", xxh64_hex(text)}};
}

}  // namespace flowtrain
