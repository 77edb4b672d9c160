#include "pipeline/runs/verify/verify_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/runs/run_reader/stored_config.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

// Returns the source of a record; empty if the data cannot be opened any more, or if the configuration names plugins,
// whose code may come from another user. The record is then named by its id.
std::string source_of(const fs::path& run, const std::optional<std::uint64_t>& id, const DescribeRecord& describe) try {
  if (!id) return {};
  const auto stored = stored_document(run);
  if (!stored) return {};
  const auto plugins = stored->values.find("run.plugins");
  if (plugins != stored->values.end() && to_toml(plugins->second.value) != "[]") return {};
  return describe(load_config(run / "config.toml"), *id);
} catch (const UserError&) {
  return {};
}

std::string replay_command(const fs::path& run, const char* side, std::uint64_t iteration) {
  return concat("flowtrain replay ", run.string(), " --iter ", iteration, " --out replay-", side, "-", iteration);
}

// Returns the name that replay gives to the picture of a row.
std::string picture_of_row(std::size_t row) { return printed("row-%04ju.png", std::uintmax_t{row}); }

std::string of_record(const std::optional<std::uint64_t>& id, const std::string& source) {
  if (!id) return "(no such row)";
  return concat("id ", *id, source.empty() ? "" : ", " + source);
}

// Returns dtype, shape and hash, as "F32 (120, 400) 0123…".
std::string tensor_text(const RunDifference& found) {
  const auto shape_end = found.a.rfind(' ');
  const bool same_shape = shape_end != found.a.npos && found.b.starts_with(found.a.substr(0, shape_end + 1));
  return concat(found.name, same_shape ? ", " + found.a.substr(0, shape_end) : "");
}

// Describes the difference, as the end of a sentence.
std::string what_differs(const ComparedPart& part) {
  const RunDifference& found = *part.first;
  const auto in_row = [&](const std::string& what) { return concat(what, " of row ", *found.row, " of the batch"); };
  switch (part.kind) {
    case Compared::ids: return found.row ? in_row("the sample") : "the samples up to there (their order_xxh64)";
    case Compared::field: return in_row(concat("field '", part.name, "'"));
    case Compared::loss:
    case Compared::grad_norm: return concat("the ", part.name);
    case Compared::model:
      return found.name == "params_xxh64" ? "the parameters (their params_xxh64)" : "parameter " + tensor_text(found);
    case Compared::optimizer: return "the optimizer's " + tensor_text(found);
    case Compared::validation: return concat("the validation's ", found.name);
  }
  throw InternalError("the kind of a comparison is unknown");
}

void append_line(std::string& text, const std::string& line) { text += line + "\n"; }

void append_first(const VerifyReport& report, const ComparedPart& part, std::string& text) {
  const RunDifference& found = *part.first;
  append_line(text, concat(report.a.string(), " and ", report.b.string(), " differ: at iteration ", found.iteration,
                           ", ", what_differs(part), " (", found.file, ")"));
  for (const bool of_a : {true, false}) {
    const std::string& value = of_a ? found.a : found.b;
    const std::string record =
        found.row ? concat(of_record(of_a ? found.id_a : found.id_b, of_a ? report.source_a : report.source_b), "; ")
                  : "";
    append_line(text,
                concat("  ", of_a ? "a" : "b", ": ", record, part.kind == Compared::ids && found.row ? "" : value));
  }
  if (found.row || part.kind == Compared::loss || part.kind == Compared::grad_norm) {
    append_line(text, concat("see: ", replay_command(report.a, "a", found.iteration)));
    append_line(text, concat("     ", replay_command(report.b, "b", found.iteration)));
    if (found.row)
      append_line(text,
                  concat("     there it is ", picture_of_row(*found.row), " and row ", *found.row, " of batch.json"));
  }
  if (found.file.starts_with("snapshots/"))
    append_line(text, concat("see: flowtrain snapshot diff ", (report.a / found.file).string(), " ",
                             (report.b / found.file).string()));
  append_line(text, "likely cause: " + likely_cause(report.comparison, report.settings));
}

std::string counted(std::uint64_t number, const char* what) {
  return concat(number, " ", what, number == 1 ? "" : "s");
}

std::string names_of(const RunComparison& comparison) { return join(comparison.parts, ", ", &ComparedPart::name); }

void append_parts(const RunComparison& comparison, std::string& text) {
  append_line(text, "compared:");
  std::size_t width = 0;
  for (auto& part : comparison.parts) width = std::max(width, part.name.size());
  for (auto& part : comparison.parts) {
    const std::string name = part.name + std::string(width - part.name.size(), ' ');
    if (!part.first) {
      append_line(text, concat("  ", name, "  the same in ", counted(part.iterations, "iteration")));
      continue;
    }
    const std::string by =
        part.greatest > 0 ? concat(", by at most ", printed("%.2g", part.greatest), " of the value") : "";
    append_line(text, concat("  ", name, "  different in ", part.different.size(), " of ",
                             counted(part.iterations, "iteration"), ", from ", part.first->iteration, " on", by));
  }
}

void append_settings(const std::string& title, const std::vector<SettingDifference>& differences, std::string& text) {
  if (differences.empty()) return;
  append_line(text, title);
  for (auto& each : differences)
    append_line(text, concat(each.likely ? "* " : "  ", each.key, ": ", each.a, " / ", each.b));
}

// Appends a note if one run has more iterations, or a run has no journal.
void append_limits(const VerifyReport& report, std::string& text) {
  const RunComparison& comparison = report.comparison;
  if (comparison.last_a != comparison.last_b)
    append_line(text, concat("a reached iteration ", comparison.last_a, ", b reached ", comparison.last_b));
  if (comparison.journal_a && comparison.journal_b) return;
  const std::string who = comparison.journal_a   ? report.b.string() + " has"
                          : comparison.journal_b ? report.a.string() + " has"
                                                 : "the runs have";
  append_line(text, concat(who,
                           " no journal of hashes (verify.jsonl), so only losses of metrics.jsonl, snapshots and the "
                           "hashes at the end were compared; --set verify.every=1 writes one"));
}

ordered_json or_null(bool known, const ordered_json& value) { return known ? value : ordered_json(); }

ordered_json settings_json(const std::vector<SettingDifference>& differences) {
  ordered_json list = ordered_json::array();
  for (auto& each : differences)
    list.push_back(ordered_json{{"key", each.key}, {"a", each.a}, {"b", each.b}, {"likely", each.likely}});
  return list;
}

ordered_json first_json(const VerifyReport& report, const ComparedPart& part) {
  const RunDifference& found = *part.first;
  const auto side = [&](bool of_a) {
    const auto& id = of_a ? found.id_a : found.id_b;
    const auto& source = of_a ? report.source_a : report.source_b;
    return ordered_json{{"value", of_a ? found.a : found.b},
                        {"id", or_null(id.has_value(), id.value_or(0))},
                        {"source", or_null(!source.empty(), source)},
                        {"replay", replay_command(of_a ? report.a : report.b, of_a ? "a" : "b", found.iteration)}};
  };
  return {{"iteration", found.iteration},
          {"part", part.name},
          {"row", or_null(found.row.has_value(), found.row.value_or(0))},
          {"name", or_null(!found.name.empty(), found.name)},
          {"file", found.file},
          {"a", side(true)},
          {"b", side(false)},
          {"likely_cause", likely_cause(report.comparison, report.settings)}};
}

}  // namespace

VerifyReport verify_runs(const fs::path& a, const fs::path& b, const DescribeRecord& describe) {
  VerifyReport report{.a = a, .b = b, .comparison = compare_runs(a, b)};
  report.settings = compare_settings(a, b, report.comparison);
  if (const auto* part = report.comparison.first(); part && part->first->row) {
    report.source_a = source_of(a, part->first->id_a, describe);
    report.source_b = source_of(b, part->first->id_b, describe);
  }
  return report;
}

std::string to_text(const VerifyReport& report) {
  std::string text;
  const RunComparison& comparison = report.comparison;
  if (const auto* part = comparison.first()) {
    append_first(report, *part, text);
    append_parts(comparison, text);
  } else {
    append_line(text, concat(report.a.string(), " and ", report.b.string(),
                             " are the same: ", counted(comparison.iterations, "iteration"), " compared, ",
                             comparison.begin, " to ", comparison.end, " (", names_of(comparison), ")"));
  }
  append_limits(report, text);
  append_settings("configurations differ (a / b):", report.settings.config, text);
  append_settings("environments differ (a / b):", report.settings.environment, text);
  if (comparison.ranks_a != comparison.ranks_b && comparison.ranks_a > 0 && comparison.ranks_b > 0)
    append_line(text, concat("processes: ", comparison.ranks_a, " / ", comparison.ranks_b));
  for (auto& note : report.settings.notes) append_line(text, note);
  return text;
}

std::string to_json(const VerifyReport& report) {
  const RunComparison& comparison = report.comparison;
  ordered_json parts = ordered_json::array();
  for (auto& part : comparison.parts)
    parts.push_back(ordered_json{{"part", part.name},
                                 {"iterations", part.iterations},
                                 {"different", part.different.size()},
                                 {"first", or_null(part.first.has_value(), part.first ? part.first->iteration : 0)},
                                 {"greatest_difference", part.greatest}});
  const auto* first = comparison.first();
  ordered_json json{{"same", !first},
                    {"a", report.a.string()},
                    {"b", report.b.string()},
                    {"iterations", comparison.iterations},
                    {"begin", comparison.begin},
                    {"end", comparison.end},
                    {"last_a", comparison.last_a},
                    {"last_b", comparison.last_b},
                    {"ranks_a", or_null(comparison.ranks_a > 0, comparison.ranks_a)},
                    {"ranks_b", or_null(comparison.ranks_b > 0, comparison.ranks_b)},
                    {"journal_a", comparison.journal_a},
                    {"journal_b", comparison.journal_b},
                    {"first", first ? first_json(report, *first) : ordered_json()},
                    {"compared", std::move(parts)},
                    {"config", settings_json(report.settings.config)},
                    {"environment", settings_json(report.settings.environment)},
                    {"notes", report.settings.notes}};
  return json_text(json, 2) + "\n";
}

}  // namespace flowtrain
