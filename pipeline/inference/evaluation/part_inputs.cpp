#include "pipeline/inference/evaluation/part_inputs.h"

#include <set>

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

// The keys of [val] that only decide when and how a training validates.
const std::set<std::string> of_training_alone{"every", "batches", "workers", "mode", "on_error", "pictures"};

std::string settings_text(const Config& config) {
  std::string text;
  const auto add = [&](const Settings& settings) {
    for (auto& key : settings.keys())
      if (settings.table() != "val" || !of_training_alone.contains(key.name))
        text += concat(settings.table(), ".", key.name, " = ", to_toml(settings.value(key.name)), "\n");
  };
  add(config.data(false));
  for (const char* table : {"sampler", "net", "loss", "step", "val", "ema", "detect"}) add(config.table(table));
  for (auto& metric : config.list("metric")) add(metric);
  for (const char* key : {"seed", "deterministic"}) text += to_toml(config.table("run").value(key)) + "\n";
  for (auto& rule : config.list("test.worst")) add(rule);
  for (const char* key : {"batch", "batch_per_rank"}) text += to_toml(config.table("loader").value(key)) + "\n";
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
          {"data", hash_hex(set.data.dataset->fingerprint())},
          {"config", xxh64_hex(text)}};
}

}  // namespace flowtrain
