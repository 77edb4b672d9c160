#include "pipeline/base/config/precedence.h"

#include <algorithm>

#include "pipeline/base/config/keys.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

/// Keeps the key of the later source among two that exclude each other.
void keep_later(Document& document, const std::string& first, const std::string& second) {
  auto a = document.values.find(first), b = document.values.find(second);
  auto is_set = [&](auto found) {
    return found != document.values.end() && found->second.value != Value(std::int64_t{0}) &&
           found->second.value != Value(std::string());
  };
  if (!is_set(a) || !is_set(b)) return;
  if (a->second.layer == b->second.layer)
    throw UserError(
        ExitCode::usage,
        b->second.origin.text() + ": " + second + ": " + first + " is given too (" + a->second.origin.text() + ")",
        "keep one of the two");
  document.values.erase(a->second.layer < b->second.layer ? a : b);
}

/// Lets a later [[schedule]] replace [lr], as they exclude each other. A later [lr] is refused: one key of it would
/// remove all schedules.
void keep_later_schedule(Document& document) {
  const auto list = document.lists.find("schedule");
  if (list == document.lists.end()) return;
  const Written* latest = nullptr;
  for (auto& [key, written] : document.values)
    if (key.starts_with("lr.") && (!latest || written.layer > latest->layer)) latest = &written;
  if (!latest) return;
  const TableList& schedules = list->second;
  if (latest->layer >= schedules.layer)
    throw UserError(ExitCode::usage,
                    latest->origin.text() + ": lr: [[schedule]] is given too (" + schedules.origin.text() + ")",
                    "[[schedule]] has all that [lr] has: name = \"step\" and name = \"warmup\"; schedule.0.KEY is a "
                    "key of the first one, also on the command line");
  erase_table(document, "lr");
}

/// Keeps the one of [data] and [[data.source]] that the later source has, as both name the training data. A data set
/// that [data] named before is then used for validation alone.
void keep_later_sources(Document& document) {
  const auto list = document.lists.find("data.source");
  if (list == document.lists.end()) return;
  const TableList sources = list->second;
  const auto is_data_key = [](const std::string& key, const std::string& table) {
    const auto [of, leaf] = split_key(key);
    return of == table && !is_of_loader(leaf);
  };
  for (auto key : {"data.dataset", "data.train.dataset"}) {
    const auto written = document.values.find(key);
    if (written == document.values.end() || written->second.layer <= sources.layer) continue;
    const int layer = written->second.layer;
    std::erase_if(document.values, [&](auto& each) {
      return (each.first == "data.epoch" || each.first == "data.batches") &&
             each.second.layer < layer;  // said of the sources
    });
    return erase_table(document, "data.source");
  }
  const auto values = document.values;
  for (auto& [key, written] : values) {
    const bool of_both = is_data_key(key, "data");
    if (!of_both && !is_data_key(key, "data.train")) continue;
    if (written.layer >= sources.layer)
      throw UserError(
          ExitCode::usage,
          written.origin.text() + ": " + key + ": [[data.source]] is given too (" + sources.origin.text() + ")",
          "write the training data into each [[data.source]] (data.source.0." + split_key(key).second +
              "), the validation data into [data.val]");
    if (of_both) document.values.emplace("data.val." + split_key(key).second, written);
    if (of_both && has_test_data(document)) document.values.emplace("data.test." + split_key(key).second, written);
    document.values.erase(key);
  }
}

/// Sets loader.batch to the rows of all [[data.source]]s, if they have any, in place of what an earlier source says.
void settle_batch_of_rows(Document& document) {
  std::int64_t all = 0;
  const Written* latest = nullptr;
  for (auto& [key, written] : document.values) {
    if (!key.starts_with("data.source.") || !key.ends_with(".rows")) continue;
    if (const auto* rows = std::get_if<std::int64_t>(&written.value)) all += *rows;
    if (!latest || written.layer > latest->layer) latest = &written;
  }
  if (all <= 0) return;
  const Written batch{.value = all, .origin = latest->origin, .layer = latest->layer};
  for (auto key : {"loader.batch", "loader.batch_per_rank"})
    if (const auto found = document.values.find(key);
        found != document.values.end() && found->second.layer < batch.layer)
      document.values.erase(found);
  if (!document.values.contains("loader.batch_per_rank")) document.values.emplace("loader.batch", batch);
}

/// Chooses the net "package" for net.package, whose losses and memory layout are in the file, unless a later source
/// gives another net.name.
void choose_package(Document& document) {
  const auto found = document.values.find("net.package");
  if (found == document.values.end()) return;
  const Written package = found->second;
  const Value own_name(std::string("package"));
  const auto name = document.values.find("net.name");
  if (name != document.values.end() && name->second.layer > package.layer && name->second.value != own_name) return;
  const std::pair<const char*, Value> chosen[] = {{"net.name", own_name},
                                                  {"net.channels_last", Value(false)},
                                                  {"loss.name", Value(std::string("output"))},
                                                  {"step.name", Value(std::string("package"))}};
  for (const auto& [key, value] : chosen) {
    Written& written = document.values.try_emplace(key, Written{value, package.origin, package.layer}).first->second;
    if (written.layer >= package.layer && written.value != value)
      throw UserError(ExitCode::usage,
                      concat(written.origin.text(), ": ", key, ": net.package is given too (", package.origin.text(),
                             "), whose file decides that"),
                      concat("leave out ", key, ", or net.package"));
    written = Written{value, package.origin, package.layer};
  }
}

}  // namespace

std::pair<std::string, std::string> split_key(const std::string& key) {
  auto dot = key.rfind('.');
  if (dot == std::string::npos) return {"", key};
  return {key.substr(0, dot), key.substr(dot + 1)};
}

bool has_test_data(const Document& document) {
  return std::ranges::any_of(document.values, [](auto& each) { return each.first.starts_with("data.test."); });
}

void settle_precedence(Document& document) {
  keep_later(document, "run.max_iter", "run.max_epochs");
  keep_later(document, "loader.batch", "loader.batch_per_rank");
  keep_later_schedule(document);
  keep_later_sources(document);
  settle_batch_of_rows(document);
  choose_package(document);
}

}  // namespace flowtrain
