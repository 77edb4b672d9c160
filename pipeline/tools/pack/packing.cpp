#include "pipeline/tools/pack/packing.h"

#include <algorithm>
#include <numeric>

#include "pipeline/base/config/source_groups.h"
#include "pipeline/base/telemetry/console.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_lines.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/base/values/periods.h"
#include "pipeline/engine/session/sources.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/order.h"

namespace flowtrain {
namespace {

using namespace std::chrono_literals;

constexpr auto report_interval = 10s;

ProgressMode mode_of(const Config& config) {
  const auto mode = progress_mode(config.table("display").text("progress"));
  if (mode != ProgressMode::automatic) return mode;
  return console::is_terminal() ? ProgressMode::bar : ProgressMode::plain;
}

PackedSplit open_split(const Config& config, const PackOptions& options, bool training) {
  if (training)
    refuse_groups(config, "sources with rows of their own are not packed together: their samples have unlike parts",
                  "pack each source by itself, as the only data set of a configuration");
  const Settings& data = config.data(training);
  PackedSplit split{training, open_dataset(config, training, /*keeps_split=*/true, /*all_parts=*/true)};
  if (!options.tokens && !split.dataset->classes().empty() && split.dataset->label(0) < 0)
    throw data.error(
        "dataset", "pictures with boxes but without a label cannot be packed, as shards hold one label per picture",
        ExitCode::usage,
        "train on them in place, also in a .tar; for voc, data.mode = \"crops\" or data.target makes labels");
  return split;
}

/// Returns whether two data sets have the same records, as far as their hashes and descriptions tell.
bool are_same(const Dataset& a, const Dataset& b) {
  return a.size() == b.size() && a.fingerprint() == b.fingerprint() && a.describe(0) == b.describe(0) &&
         a.describe(a.size() - 1) == b.describe(b.size() - 1);
}

}  // namespace

std::string shard_name(const std::string& prefix, std::uint64_t number, const char* ending) {
  return prefix + '-' + printed("%06ju", std::uintmax_t{number}) + ending;
}

void check_shards(std::uint64_t shards) {
  if (shards == 1'000'000)
    throw UserError(ExitCode::usage, "there would be more than a million shards",
                    "make them larger: --shard-mb, --shard-samples");
}

std::vector<PackedSplit> open_splits(const Config& config, const PackOptions& options) {
  std::vector<PackedSplit> splits;
  if (options.train) splits.push_back(open_split(config, options, true));
  if (!options.val) return splits;
  try {
    splits.push_back(open_split(config, options, false));
  } catch (const EmptyDataset& error) {
    if (splits.empty()) throw;
    log_warn(concat("no validation data: ", error.what()));  // a run only warns, too
  }
  if (splits.size() == 2 && are_same(*splits[0].dataset, *splits[1].dataset)) {
    log_info("val: its records are those of train, so it is left out; data.val_share = 0.1 holds some out for it");
    splits.pop_back();
  }
  return splits;
}

std::function<std::uint64_t(std::uint64_t)> order_of(const Dataset& dataset, const PackOptions& options) {
  if (options.shuffle) return Permutation(dataset.size(), *options.shuffle);
  if (!options.sort) return [](std::uint64_t place) { return place; };
  std::vector<std::uint64_t> ids(dataset.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::ranges::stable_sort(ids, {}, [&](std::uint64_t id) { return dataset.label(id); });
  return [ids = std::move(ids)](std::uint64_t place) { return ids[place]; };
}

PackingLog::PackingLog(const Config& config, const PackedSplit& split, const char* unit)
    : dataset_(*split.dataset),
      name_(split.name()),
      unit_(unit),
      key_(split.training ? "data.max_bad" : "data.val.max_bad"),
      budget_(bad_sample_budget(config.data(split.training), dataset_.size())),
      mode_(mode_of(config)),
      display_(mode_),
      next_report_(begin_ + report_interval) {}

void PackingLog::resume(std::uint64_t records, std::uint64_t units, std::uint64_t bad) {
  records_before_ = records;
  units_before_ = units;
  bad_ = bad;
}

std::string PackingLog::leave_out(std::uint64_t id, const char* stage, const std::string& reason) {
  const auto name = dataset_.describe(id);
  const auto text = concat("bad sample ", id, " (", name, "): ", stage, ": ", reason);
  if (++bad_ > budget_) {
    if (budget_ == 0)
      throw UserError(ExitCode::data, text,
                      concat("repair or remove it, or allow some to be left out: data.bad = \"skip\" and ", key_));
    throw UserError(ExitCode::data, concat(text, "; that is more than ", key_, " = ", budget_, " allows"),
                    concat("repair the data set, or raise ", key_));
  }
  log_warn(text + "; it is left out");
  return json_line({{"split", name_}, {"id", id}, {"name", name}, {"stage", stage}, {"reason", reason}}) + '\n';
}

void PackingLog::show(std::uint64_t records, std::uint64_t units) {
  Progress progress{.iter = records, .max_iter = dataset_.size()};
  progress.samples_per_s = static_cast<double>(records - records_before_) / seconds();
  progress.eta_s = static_cast<double>(progress.max_iter - progress.iter) / *progress.samples_per_s;
  display_.update(progress);
  if (mode_ != ProgressMode::plain || Clock::now() < next_report_) return;
  log_info(concat(name_, ": ", format_count(progress.iter), " of ", format_count(progress.max_iter), " samples, ",
                  rate(units), ", eta ", format_duration(*progress.eta_s)));
  next_report_ += report_interval;
}

std::string PackingLog::rate(std::uint64_t units) const {
  const auto per_second = static_cast<double>(units - units_before_) / seconds();
  return concat(format_count(static_cast<std::uint64_t>(per_second)), " ", unit_);
}

}  // namespace flowtrain
