#include "pipeline/engine/session/start.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>
#include <vector>

#include "pipeline/base/errors/agree_on_error.h"
#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/snapshot/manifest.h"
#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/base/values/periods.h"
#include "pipeline/engine/graph/hyper_parameters.h"
#include "sampling/core/secrets.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* the_start = "the start of the run";  // Rank 0 broadcasts it by this name.

bool is_snapshot(const fs::path& path) { return fs::exists(path / "manifest.json"); }

// Returns the run of a snapshot, by the place where it lies.
fs::path run_of(const fs::path& snapshot) {
  const fs::path folder = snapshot.parent_path();
  fs::path run = folder.parent_path();
  if (folder.filename() == "snapshots" && holds_run(run)) return run;
  const std::string name = snapshot_name(read_manifest(snapshot).iteration);
  throw UserError(
      ExitCode::snapshot, concat("--resume ", snapshot.string(), ": this snapshot lies outside of a run's folder"),
      concat("give it one and go on in that: mkdir -p NEW/snapshots; cp -r ", snapshot.string(), " NEW/snapshots/",
             name, "; cp ", snapshot.string(),
             "/config.toml NEW; flowtrain NEW. Or start a new run with its weights alone: net.pretrain = \"",
             (snapshot / "model.safetensors").string(), "\""));
}

// Returns the run to resume, if there is one.
std::optional<fs::path> run_to_resume(const StartOptions& options, const std::string& resume, const Config& config) {
  if (auto folder = as_run_folder(options.config)) return folder;
  if (!resume.empty() && resume != "auto") {
    const fs::path path = fs::absolute(resume).lexically_normal();
    if (is_snapshot(path)) return run_of(path);
    if (!holds_run(path))
      throw UserError(ExitCode::snapshot, "--resume " + resume + ": neither a run's folder nor a snapshot",
                      "name runs/NAME, or runs/NAME/snapshots/iter-NNNNNNNN");
    return path;
  }
  if (options.run_dir) return holds_run(*options.run_dir) ? options.run_dir : std::nullopt;
  return newest_run(*config.run().dir, config.name());
}

std::optional<fs::path> choose_snapshot(const StartOptions& options, const std::string& resume,
                                        const fs::path& folder) {
  if (options.iteration || is_snapshot(resume)) {
    const auto path = options.iteration ? find_iteration(folder, *options.iteration) : fs::path(resume);
    open_snapshot(path);  // It throws an error that names the damage.
    return path;
  }
  const auto newest = find_newest(folder);
  for (auto& [path, reason] : newest.passed_over) log_warn(concat("passing over ", path.string(), ": ", reason));
  return newest.path;
}

// Logs what has changed since the run began and since the snapshot was made, and refuses it if the run would no longer
// be exact. The snapshot may have been copied from elsewhere, or be older than an accepted change. `before` has their
// configurations, each with a name.
void check_changes(const std::vector<std::pair<std::string, Config>>& before, const Config& now, bool accepted) {
  std::vector<std::string> breaking, reported;
  bool other_end = false;
  const bool grown = now.loader().batch.origin().text().starts_with("loader.batch_per_rank");
  const bool any_batch = grown && now.table("resume").text("world") == "any";
  const auto breaks_run = [&](const std::string& key) {
    if (std::ranges::find(breaking, key) == breaking.end()) breaking.push_back(key);
  };
  for (auto& [since, earlier] : before) {
    const auto is_new = [&, &since = since](const std::string& key, const std::string& is, const std::string& was) {
      const std::string change = concat(key, " = ", is, " (was ", was, ")");
      if (std::ranges::find(reported, change) != reported.end()) return false;
      reported.push_back(change);
      log_info(concat("changed since ", since, ": ", change));
      return true;
    };
    for (auto& [key, was, is, breaks] : diff(earlier, now)) {
      // changed_ends() logs the effects of another end.
      const bool is_end = key.starts_with("schedule.") && key.ends_with(".end");
      const bool counts = breaks && !is_end && !(any_batch && key == "loader.batch");
      if (is_new(key, shown_value(key, is), shown_value(key, was)) && counts) breaks_run(key);
    }
    for (auto& end : changed_ends(earlier, now)) {
      const std::string key = concat(end.key, " of ", end.name);
      other_end = other_end || end.key.starts_with("schedule.");
      if (is_new(key, end.is, end.was)) breaks_run(key);
    }
  }
  if (breaking.empty()) return;
  if (!accepted)
    throw UserError(
        ExitCode::usage, "changes that break exact resume: " + join(breaking),
        concat("undo them, start a new run (without --iter and --resume), or go on all the same with --accept-changes",
               grown ? "; resume.world = \"any\" lets loader.batch_per_rank make another batch" : "",
               !other_end ? "" : "; a schedule with an `end` of its own does not go by the end of the run"));
  log_warn("going on with changes that break exact resume: " + join(breaking));
}

// Returns nothing if another version wrote it, so that it cannot be read, and that is accepted.
std::optional<Config> snapshot_config(const fs::path& snapshot, const Config& now, bool accepted) try {
  return load_stored_config(snapshot / "config.toml", now);
} catch (const UserError& error) {
  const auto what = concat("the snapshot's configuration cannot be compared with the run's: ", error.what());
  if (!accepted) throw UserError(ExitCode::usage, what, "--accept-changes goes on without a comparison");
  log_warn(what);
  return std::nullopt;
}

std::string draw_seed() {
  std::random_device source;
  return std::to_string(source() & 0x7fffffff);
}

bool seed_is_random(const Config& config) { return !number(config.run().seed); }

fs::path config_file(const StartOptions& options) {
  const auto folder = as_run_folder(options.config);
  return folder ? *folder / "config.toml" : fs::path(options.config);
}

// The batch of a word such as "auto", and the line about it.
struct Batch {
  std::string rows, origin;
};

// The values that a configuration leaves open.
struct Choices {
  std::string seed;
  std::function<Batch()> batch;
};

bool batch_is_auto(const Config& config) { return !number(config.loader().batch); }

// Returns `config`, as loaded from `file`, with numbers for all values that are drawn, found, or follow from the number
// of ranks, so that the run's folder holds them. Without `world` loader.batch_per_rank is left open.
Config completed(const Config& config, const StartOptions& options, const fs::path& file, const Choices& choices,
                 std::optional<int> world) {
  const auto rows = *config.loader().batch_per_rank;
  const bool draws = seed_is_random(config), grows = world && rows > 0, searches = batch_is_auto(config);
  if (!draws && !grows && !searches) return config;
  auto overrides = options.overrides;
  if (draws) overrides.push_back({"run.seed", choices.seed, "run.seed = \"random\""});
  if (grows) {
    std::erase_if(overrides, [](auto& each) { return each.key == "loader.batch_per_rank"; });
    overrides.push_back(
        {"loader.batch", std::to_string(rows * *world), concat("loader.batch_per_rank, ", *world, " times")});
  }
  if (searches) {
    const auto [batch, origin] = choices.batch();
    overrides.push_back({"loader.batch", batch, origin});
  }
  return load_config(file, overrides);
}

// Searches with a small batch, of all processes together.
Batch find_batch(const StartOptions& options, const Config& config, const fs::path& file, const std::string& seed,
                 const FindRows& find_rows, Group& group) {
  if (!find_rows) return {to_toml(config.loader().batch.fallback()), batch_left_open};
  constexpr int few = 2;  // Batch normalisation needs more than one row.
  const auto probe = [&] { return Batch{std::to_string(few), batch_left_open}; };
  const Config few_rows = completed(config, options, file, {seed, probe}, std::nullopt);
  few_rows.check_trainable();
  const FoundRows own = find_rows(few_rows);
  std::uint64_t least = own.rows;
  for (auto& rows : group.gather("the batch that fits", std::to_string(own.rows)))
    least = std::min<std::uint64_t>(least, std::stoull(rows));
  if (own.rows == 0)
    throw config.loader().batch.error(
        concat("no batch fits: even the smallest one takes more than ", format_bytes(own.limit)), ExitCode::usage,
        "free some memory, choose a smaller net or smaller pictures, or raise loader.batch_memory_mb");
  if (least == 0) throw FailedElsewhere(ExitCode::usage, "loader.batch: no batch fits into another process's memory");
  const std::string shares = group.size() > 1 ? concat(", ", least, " for each of ", group.size(), " processes") : "";
  Batch batch{std::to_string(least * static_cast<std::uint64_t>(group.size())),
              concat("loader.batch = \"auto\": ", own.rows, " take ", format_bytes(own.bytes), " of ",
                     format_bytes(own.limit), shares)};
  if (group.leads()) log_info(concat("batches of ", batch.rows, " (", batch.origin, "; ", own.tries, " tries)"));
  return batch;
}

Start fresh(const StartOptions& options, const Config& given, const fs::path& file, const Choices& choices, int world,
            Interrupt* interrupt) {
  if (options.run_dir) RunFolder::check_free(*options.run_dir);  // Checks this before a long search.
  Config config = completed(given, options, file, choices, world);
  if (options.leaves_nothing) return {.config = std::move(config)};
  const fs::path dir = *config.run().dir;
  const bool earlier = newest_run(dir, config.name()).has_value();
  const Interrupt::Deferral whole(interrupt);
  auto folder = options.run_dir ? RunFolder::create_at(*options.run_dir) : RunFolder::create(dir, config.name());
  if (folder.path().filename() != config.name() && !options.run_dir)
    log_info(earlier ? concat("an earlier run called '", config.name(), "' is kept; to go on in it: --resume auto")
                     : concat((dir / config.name()).string(), " is there and holds no run; it is left alone"));
  const auto discard = folder.discard();
  try {
    write_config(folder.config_file(), to_toml(config));
  } catch (...) {
    discard();
    throw;
  }
  if (interrupt) interrupt->set_cleanup(discard);
  return {.config = std::move(config), .folder = std::move(folder)};
}

Start lead_start(const StartOptions& options, Group& group, const FindRows& find_rows, Interrupt* interrupt) {
  const int world = group.size();
  const auto file = config_file(options);
  Config config = load_config(file, options.overrides);
  config.check_trainable();

  const std::string seed = seed_is_random(config) ? draw_seed() : "";
  const Choices fresh_choices{seed, [&] {
                                group.broadcast(the_start, packed_json({{"find_rows", seed}}));
                                return find_batch(options, config, file, seed, find_rows, group);
                              }};

  std::string resume = options.resume.empty() ? *config.run().resume : options.resume;
  if (resume == "none" || options.leaves_nothing) resume.clear();
  while (resume.size() > 1 && resume.ends_with('/')) resume.pop_back();  // A shell completes a folder's name so.
  if (as_run_folder(options.config) && options.resume.empty() && !options.leaves_nothing) resume = "auto";
  if (resume.empty() && !options.iteration) return fresh(options, config, file, fresh_choices, world, interrupt);

  const auto run = run_to_resume(options, resume, config);
  if (!run) {
    if (options.iteration)
      throw UserError(ExitCode::snapshot,
                      concat("--iter ", *options.iteration, ": there is no run ",
                             !options.run_dir ? concat("called '", config.name(), "' in ", *config.run().dir)
                                              : concat("in ", options.run_dir->string()),
                             " to go on in"),
                      "start it without --iter; --max-iter sets the length of a run");
    log_info(concat("no run called '", config.name(), "' yet: starting at iteration 0"));
    return fresh(options, config, file, fresh_choices, world, interrupt);
  }

  auto folder = RunFolder::open(*run);
  const Config stored = load_stored_config(folder.config_file(), config);
  const auto stored_batch = [&] { return Batch{to_toml(*stored.loader().batch), folder.config_file().string()}; };
  config = completed(config, options, file, {to_toml(*stored.run().seed), stored_batch}, world);
  clean_leftovers(folder.snapshots());
  for (auto& link : restore_links(folder.snapshots()))
    log_info(concat(link.string(), " was a copy of a snapshot, where the run has a link: it is one again"));
  auto snapshot = choose_snapshot(options, resume, folder.snapshots());
  if (!snapshot) log_info(concat(folder.path().string(), " has no snapshot yet: starting at iteration 0"));
  std::vector<std::pair<std::string, Config>> before{{"the run began", stored}};
  if (snapshot)
    if (auto its = snapshot_config(*snapshot, config, options.accept_changes))
      before.emplace_back(concat(snapshot->string(), " was made"), std::move(*its));
  // A run that was killed before its first iteration has nothing that a change would break.
  std::error_code lacks_metrics;
  const auto logged_bytes = fs::file_size(folder.path() / "metrics.jsonl", lacks_metrics);
  const bool has_begun = snapshot || (!lacks_metrics && logged_bytes > 0);
  const bool accepts = options.accept_changes || !has_begun;
  check_changes(before, config, accepts);
  return {.config = std::move(config),
          .folder = std::move(folder),
          .resumed = true,
          .snapshot = std::move(snapshot),
          .accept_changes = accepts};
}

void compare_with_leader(std::map<std::string, std::string> leaders, const Config& config) {
  auto own = common_values(config);
  const std::string none = "(none)";
  for (auto& [key, value] : own) leaders.try_emplace(key, none);
  std::vector<std::string> different;
  for (auto& [key, theirs] : leaders) {
    const auto& value = own.try_emplace(key, none).first->second;
    if (theirs == value || key.ends_with(".path")) continue;  // The data may lie elsewhere on another machine.
    different.push_back(concat(key, " = ", shown_value(key, value), " (rank 0: ", shown_value(key, theirs), ")"));
  }
  if (!different.empty())
    throw UserError(ExitCode::usage, "the configuration differs from that of rank 0: " + join(different),
                    "start all ranks with the same file and flags");
}

}  // namespace

Config load_for_use(const StartOptions& options, const FindRows& find_rows) {
  const auto file = config_file(options);
  const Config config = load_config(file, options.overrides);
  const std::string seed = draw_seed();
  const auto find = [&] { return find_batch(options, config, file, seed, find_rows, solo_group()); };
  return completed(config, options, file, {seed, find}, std::nullopt);
}

bool draws_seed(const StartOptions& options) {
  return seed_is_random(load_config(config_file(options), options.overrides));
}

Start prepare_start(const StartOptions& options, Group& group, const FindRows& find_rows, Interrupt* interrupt) {
  if (group.leads()) {
    Start start = lead_start(options, group, find_rows, interrupt);
    if (start.folder) start.path = fs::absolute(start.folder->path());
    group.broadcast(the_start, packed_json({{"seed", to_toml(*start.config.run().seed)},
                                            {"batch", to_toml(*start.config.loader().batch)},
                                            {"common", common_values(start.config)},
                                            {"folder", start.path.string()},
                                            {"resumed", start.resumed},
                                            {"snapshot", start.snapshot ? json(start.snapshot->string()) : json()}}));
    return start;
  }
  const auto file = config_file(options);
  Config config = load_config(file, options.overrides);
  auto led = unpacked_json(group.broadcast(the_start, {}));
  if (led.contains("find_rows")) {
    find_batch(options, config, file, led.at("find_rows"), find_rows, group);
    led = unpacked_json(group.broadcast(the_start, {}));
  }
  config = completed(config, options, file,
                     {led.at("seed"),
                      [&] {
                        return Batch{led.at("batch"), "rank 0"};
                      }},
                     group.size());
  config.check_trainable();
  compare_with_leader(led.at("common"), config);
  Start start{.config = std::move(config),
              .path = led.at("folder").get<std::string>(),
              .resumed = led.at("resumed"),
              .accept_changes = options.accept_changes};
  if (const auto& snapshot = led.at("snapshot"); !snapshot.is_null()) start.snapshot = snapshot.get<std::string>();
  return start;
}

}  // namespace flowtrain
