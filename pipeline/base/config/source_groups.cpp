#include "pipeline/base/config/source_groups.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "pipeline/base/values/periods.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

std::string names_of(const std::vector<Settings>& sources) {
  return join(sources, ", ", [](auto& source) { return name_of_source(source); });
}

/// Returns the place of the source that a key names. Throws UserError(usage) if there is none.
std::size_t source_named_by(const Setting<std::string>& key, const std::vector<Settings>& sources) {
  const auto& name = *key;
  const auto found = std::ranges::find_if(sources, [&](auto& source) { return name_of_source(source) == name; });
  if (found == sources.end())
    throw key.error(name.empty() ? concat("must be given: the [[data.source]]s have rows (",
                                          sources.front().origin("rows").text(), "), and each field belongs to one")
                                 : "no [[data.source]] is called '" + name + "'",
                    ExitCode::usage, "the sources: " + names_of(sources));
  return static_cast<std::size_t>(found - sources.begin());
}

void check_rows(const std::vector<Settings>& sources) {
  const auto has_rows = [](const Settings& source) { return source.integer("rows") > 0; };
  const Settings& first = sources.front();
  for (auto& source : sources) {
    if (has_rows(source) != has_rows(first)) {
      const auto& [with, without] = has_rows(source) ? std::tie(source, first) : std::tie(first, source);
      throw with.error(
          "rows",
          concat("some sources have rows, and ", without.table(), " (", without.origin("dataset").text(), ") has none"),
          ExitCode::usage, "give all of them rows, or none");
    }
    if (source.real("ratio") > 0)
      throw source.error(
          "ratio", concat("rows is given, too (", source.origin("rows").text(), ")"), ExitCode::usage,
          "leave out one of the two: ratio mixes sources of like rows, rows makes groups of unlike ones");
  }
}

void check_batch(const Config& config, const Settings& first) {
  const std::string rows = concat("rows of the [[data.source]]s is given, too (", first.origin("rows").text(), ")");
  if (config.data(true).text("batches") != "mixed")
    throw config.data(true).error("batches", rows + ", so each batch has rows of all of them", ExitCode::usage,
                                  "leave out one of the two");
  const auto groups = rows_of_groups(config);
  const auto all = std::accumulate(groups.begin(), groups.end(), std::int64_t{0});
  const auto batch = config.loader().batch;
  if (batch.given() && number(batch) != all)
    throw batch.error(concat(rows, ", so a batch has ", all, " rows"), ExitCode::usage, "leave it out");
  if (const auto per_rank = config.loader().batch_per_rank; *per_rank > 0)
    throw per_rank.error(concat(rows, ", so a batch has ", all, " rows over all ranks"), ExitCode::usage,
                         "leave it out");
}

void check_no_groups(const Config& config) {
  const auto refuse = [](const Setting<std::string>& source) {
    if (!source->empty())
      throw source.error("is for groups of rows, and no [[data.source]] has rows", ExitCode::usage,
                         "leave it out, or give rows to each [[data.source]]");
  };
  for (auto& field : config.list("field")) refuse({field, "source"});
  refuse(config.val().source);
}

}  // namespace

const std::string& name_of_source(const Settings& source) {
  return source.text(source.text("name").empty() ? "dataset" : "name");
}

bool has_groups(const Config& config) {
  return std::ranges::any_of(config.list("data.source"), [](auto& source) { return source.integer("rows") > 0; });
}

std::vector<std::uint32_t> rows_of_groups(const Config& config) {
  std::vector<std::uint32_t> rows;
  if (has_groups(config))
    for (auto& source : config.list("data.source")) rows.push_back(static_cast<std::uint32_t>(source.integer("rows")));
  return rows;
}

std::size_t group_of_validation(const Config& config) {
  const auto source = config.val().source;
  return source->empty() ? 0 : source_named_by(source, config.list("data.source"));
}

std::vector<Settings> fields_of_group(const Config& config, std::size_t group) {
  std::vector<Settings> fields;
  for (auto& field : config.list("field"))
    if (source_named_by({field, "source"}, config.list("data.source")) == group) fields.push_back(field);
  return fields;
}

std::vector<Settings> validation_fields(const Config& config) {
  return has_groups(config) ? fields_of_group(config, group_of_validation(config)) : config.list("field");
}

void refuse_groups(const Config& config, const std::string& why, const std::string& hint) {
  if (has_groups(config)) throw config.list("data.source").front().error("rows", why, ExitCode::usage, hint);
}

void check_groups(const Config& config) {
  if (!has_groups(config)) return check_no_groups(config);
  const auto& sources = config.list("data.source");
  check_rows(sources);
  check_batch(config, sources.front());
  group_of_validation(config);
  if (config.list("field").empty()) return;
  for (std::size_t group = 0; group < sources.size(); ++group)
    if (fields_of_group(config, group).empty())
      throw sources[group].error("rows", concat("no [[field]] belongs to ", name_of_source(sources[group])),
                                 ExitCode::usage,
                                 "give it one with source = \"" + name_of_source(sources[group]) + "\"");
}

}  // namespace flowtrain
