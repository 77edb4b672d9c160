#include "pipeline/engine/session/fingerprints.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "pipeline/base/config/source_groups.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/log.h"
#include "sampling/class_names.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/field_parts.h"
#include "sampling/fingerprint.h"
#include "sampling/io/path_hash.h"

namespace flowtrain {

namespace {

constexpr const char* training_data = "data.train";

using Fingerprints = std::map<std::string, std::string>;

// Returns whether a hash is known and is another one.
bool is_other(const Fingerprints& before, const std::string& key, const std::string& now) {
  const auto was = before.find(key);
  return was != before.end() && was->second != now;
}

// Returns "the classes: 3 (cat, dog, emu), were 3 (cat, dog, fox)".
std::string classes_text(const std::vector<std::string>& before, const std::vector<std::string>& now) {
  return concat("the classes: ", now.size(), " (", listed_classes(now), "), were ", before.size(), " (",
                listed_classes(before), ")");
}

std::string records_text(const RunInputs& before, const RunInputs& now) {
  const bool same = before.samples_per_epoch == now.samples_per_epoch;
  return concat(
      "the training data: ",
      same ? concat("other files or another order of ", format_count(now.samples_per_epoch), " samples")
           : concat(format_count(now.samples_per_epoch), " samples, were ", format_count(before.samples_per_epoch)));
}

constexpr std::string_view a_plugin = "run.plugins.";

/// The changes that break exact resume, and those that do not.
struct Changes {
  std::vector<std::string> breaking, harmless;
};

Changes changes_between(const RunInputs& before, const RunInputs& now, const Config& config) {
  Changes changes;
  if (!before.classes.empty() && before.classes != now.classes)
    changes.breaking.push_back(classes_text(before.classes, now.classes));
  const auto differs = [&](const std::string& key) {
    const auto is = now.fingerprints.find(key);
    return is != now.fingerprints.end() && is_other(before.fingerprints, key, is->second);
  };
  if (differs(training_data)) changes.breaking.push_back(records_text(before, now));
  for (auto& file : files_of(config))
    if (differs(file.key))
      (file.breaks ? changes.breaking : changes.harmless)
          .push_back(concat("the contents of ", file.key, ": ", file.path));
  // A plugin that only has another name is the same.
  const auto plugins_beyond = [](const RunInputs& one, const RunInputs& other) {
    std::vector<std::string> names;
    for (auto& [key, hash] : one.fingerprints)
      if (key.starts_with(a_plugin) && !other.fingerprints.contains(key) &&
          std::ranges::none_of(other.fingerprints, [&, &own = hash](auto& each) {
            return each.first.starts_with(a_plugin) && each.second == own;
          }))
        names.push_back(key.substr(a_plugin.size()));
    return names;
  };
  const auto gone = plugins_beyond(before, now), come = plugins_beyond(now, before);
  if (!gone.empty() && !come.empty())
    changes.breaking.push_back(concat("the plugins: ", join(come), " in place of ", join(gone)));
  for (auto& [key, hash] : now.fingerprints)
    if ((key == "data.val" || key.starts_with("val.set.")) && differs(key))
      changes.harmless.push_back("the data of [" + key + "]");
  return changes;
}

}  // namespace

std::map<std::string, std::string> fingerprints_of(const Config& config, const Dataset& training,
                                                   const ValidationSets& validation) {
  std::map<std::string, std::string> all{{training_data, hash_hex(training.fingerprint())}};
  for (auto& set : validation)
    all[set->name.empty() ? "data.val" : "val.set." + set->name] = hash_hex(set->data.dataset->fingerprint());
  for (auto& file : files_of(config))
    if (auto hash = xxh64_of_path(file.path)) all[file.key] = *hash;
  return all;
}

std::vector<PartForm> used_parts(const Config& config, const Dataset& dataset) {
  const auto sources = dataset.sources();
  auto forms =
      has_groups(config) && !sources.empty() ? sources[group_of_validation(config)].dataset->parts() : dataset.parts();
  std::erase_if(forms, [&, fields = validation_fields(config)](auto& form) {
    return std::ranges::none_of(fields, [&](auto& field) {
      const auto names = part_names_of(field);
      return std::ranges::find(names, form.name) != names.end();
    });
  });
  return forms;
}

void check_inputs(const RunInputs& before, const RunInputs& now, const Config& config, bool accepted) {
  const Changes changes = changes_between(before, now, config);
  const std::string breaking = join(changes.breaking, "; ");
  for (auto& change : changes.harmless) log_info("changed since the snapshot was made: " + change);
  if (breaking.empty()) return;
  if (!accepted)
    throw UserError(ExitCode::usage,
                    "inputs of this run's results have changed since the snapshot was made: " + breaking,
                    "put back what was there, start a new run (without --iter and --resume), or go on all the same "
                    "with --accept-changes");
  log_warn("going on although what the results depend on has changed since the snapshot was made: " + breaking);
}

void warn_of_changed_files(const RunInputs& before, const Config& config) {
  for (auto& file : files_of(config)) {
    const std::string_view key = file.key;
    if (!key.starts_with("field.") || !(key.ends_with(".tokenizer") || key.ends_with(".statistics"))) continue;
    if (const auto hash = xxh64_of_path(file.path); hash && is_other(before.fingerprints, file.key, *hash))
      log_warn(concat("the contents of ", key, " have changed since the snapshot was made: ", file.path,
                      "; the net gets other numbers than it has learnt from (put the file back)"));
  }
}

}  // namespace flowtrain
