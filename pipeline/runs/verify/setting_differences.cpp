#include "pipeline/runs/verify/setting_differences.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "pipeline/base/config/decides.h"
#include "pipeline/base/telemetry/json_file.h"
#include "pipeline/runs/run_reader/stored_config.h"
#include "sampling/core/error.h"
#include "sampling/core/secrets.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

using Keys = std::span<const std::string_view>;

// The members of env.json on which each kind of value depends, if what comes before it in a step is equal.
constexpr std::string_view environment_of_order[] = {"version", "revision"};
constexpr std::string_view environment_of_rows[] = {"version",  "revision",  "build_type",
                                                    "compiler", "libraries", "cpu"};
constexpr std::string_view environment_of_training[] = {
    "version", "revision", "build_type",  "compiler", "libraries", "cpu",   "cpu_cores", "cpu_cores_usable",
    "gpus",    "cuda",     "cuda_driver", "cudnn",    "nccl",      "torch", "device",    "environment.OMP_NUM_THREADS"};

// Facts that differ between any two runs, or only say how processes found each other.
const std::set<std::string> of_the_start = {"command",
                                            "started",
                                            "started_in",
                                            "environment.FLOWTRAIN_RESTART",
                                            "environment.FLOWTRAIN_SPAWNED",
                                            "environment.FLOWTRAIN_URL"};

Decides decided_in(Compared kind) {
  switch (kind) {
    case Compared::ids: return Decides::order;
    case Compared::field: return Decides::rows;
    case Compared::validation: return Decides::validation;
    default: return Decides::training;
  }
}

Keys environment_keys_of(Compared kind) {
  switch (kind) {
    case Compared::ids: return environment_of_order;
    case Compared::field: return environment_of_rows;
    default: return environment_of_training;
  }
}

bool is_among(const std::string& key, Keys keys) {
  return std::ranges::any_of(keys, [&](std::string_view each) {
    return key.starts_with(each) && (key.size() == each.size() || key[each.size()] == '.');
  });
}

void mark(std::vector<SettingDifference>& differences, const std::function<bool(const std::string& key)>& is_likely) {
  for (auto& each : differences) each.likely = is_likely(each.key);
  std::ranges::stable_partition(differences, &SettingDifference::likely);
}

// Collects the dotted keys of all members that are not objects.
void flatten(const ordered_json& object, const std::string& prefix, std::map<std::string, std::string>& into) {
  for (auto& [key, value] : object.items()) {
    if (of_the_start.contains(prefix + key)) continue;
    if (value.is_object())
      flatten(value, concat(prefix, key, "."), into);
    else
      into[prefix + key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
}

std::optional<std::map<std::string, std::string>> environment_in(const fs::path& run, SettingDifferences& found) {
  const auto object = json_of_file(run / "env.json");
  if (!object.is_object()) {
    found.notes.push_back(
        concat((run / "env.json").string(), " cannot be read: machines and versions are not compared"));
    return {};
  }
  std::map<std::string, std::string> flat;
  flatten(object, "", flat);
  return flat;
}

void compare_environments(const fs::path& a, const fs::path& b, SettingDifferences& found) {
  auto one = environment_in(a, found), other = environment_in(b, found);
  if (!one || !other) return;
  const std::string none = "(none)";
  for (auto& [key, value] : *other) one->try_emplace(key, none);
  for (auto& [key, value] : *one) {
    const std::string& theirs = other->try_emplace(key, none).first->second;
    if (value != theirs) found.environment.push_back({key, shown_value(key, value), shown_value(key, theirs)});
  }
}

// Compares the stored configurations without opening plugins, which could be those of another user.
void compare_configs(const fs::path& a, const fs::path& b, SettingDifferences& found) {
  const auto one = stored_document(a), other = stored_document(b);
  for (auto* run : {one ? nullptr : &a, other ? nullptr : &b})
    if (run)
      found.notes.push_back(
          concat((*run / "config.toml").string(), " cannot be read: the configurations are not compared"));
  if (!one || !other) return;
  const auto differing = differing_keys({one, other});
  const auto chooses_another = [&](const std::string& table) {
    return std::ranges::find(differing, table + ".name", &DifferingKey::key) != differing.end();
  };
  for (auto& [key, values] : differing) {
    const bool in_both = values[0] && values[1];
    // Keys that belong to one of two choices differ because of the choice.
    if (key == "name" || (!in_both && chooses_another(key.substr(0, key.rfind('.'))))) continue;
    found.config.push_back(
        {key, shown_value(key, values[0].value_or("(none)")), shown_value(key, values[1].value_or("(none)"))});
  }
}

std::string likely_ones(const std::vector<SettingDifference>& differences) {
  std::vector<std::string> texts;
  for (auto& each : differences)
    if (each.likely) texts.push_back(concat(each.key, " (", each.a, " / ", each.b, ")"));
  return join(texts);
}

// Returns the likely cause if neither keys nor versions explain the difference.
std::string unexplained(const RunComparison& comparison) {
  const ComparedPart& first = *comparison.first();
  switch (first.kind) {
    case Compared::ids: return "no key of the order and no version differs: the data set itself has changed";
    case Compared::field:
      return "no key of the sampler and no version differs: the bytes of that record have changed, or a file that the "
             "sampler reads";
    case Compared::loss:
    case Compared::grad_norm:
      return "nothing that the runs say of themselves explains it: they began with other weights, or a kernel does not "
             "give the same result twice";
    case Compared::model:
    case Compared::optimizer:
      return "nothing that the runs say of themselves explains it: a hook, damaged memory or a changed snapshot";
    case Compared::validation: return "the validation's data have changed";
  }
  throw InternalError("the kind of a comparison is unknown");
}

}  // namespace

SettingDifferences compare_settings(const fs::path& a, const fs::path& b, const RunComparison& comparison) {
  SettingDifferences found;
  compare_configs(a, b, found);
  compare_environments(a, b, found);
  if (const auto* first = comparison.first()) {
    mark(found.config, [&](auto& key) { return has(decided_by(key), decided_in(first->kind)); });
    mark(found.environment, [&](auto& key) { return is_among(key, environment_keys_of(first->kind)); });
  }
  return found;
}

std::string likely_cause(const RunComparison& comparison, const SettingDifferences& settings) {
  std::vector<std::string> causes;
  const bool sums_differ = comparison.first()->kind > Compared::field;
  if (sums_differ && comparison.ranks_a != comparison.ranks_b)
    causes.push_back(concat("the number of processes (", comparison.ranks_a, " / ", comparison.ranks_b,
                            "), with which sums over a batch round differently"));
  for (auto* list : {&settings.config, &settings.environment})
    if (auto text = likely_ones(*list); !text.empty()) causes.push_back(std::move(text));
  return causes.empty() ? unexplained(comparison) : join(causes, "; ");
}

}  // namespace flowtrain
