#include "pipeline/start.h"

#include <nlohmann/json.hpp>
#include <random>

#include "pipeline/config/words.h"
#include "pipeline/snapshot/atomic_folder.h"
#include "pipeline/snapshot/snapshot_files.h"
#include "pipeline/telemetry/log.h"

namespace flowtrain {

namespace fs = std::filesystem;

namespace {

bool is_snapshot(const fs::path& path) { return fs::exists(path / "manifest.json"); }

// The run to go on in, if there is one.
std::optional<fs::path> run_to_resume(const StartOptions& options, const std::string& resume, const Config& config) {
  if (auto folder = as_run_folder(options.config)) return folder;
  if (!resume.empty() && resume != "auto") {
    const fs::path path = fs::absolute(resume).lexically_normal();
    if (is_snapshot(path)) return path.parent_path().parent_path();
    if (!holds_run(path))
      throw UserError(Exit::snapshot, "--resume " + resume + ": neither a run's folder nor a snapshot",
                      "name runs/NAME, or runs/NAME/snapshots/iter-NNNNNNNN");
    return path;
  }
  if (options.run_dir) return holds_run(*options.run_dir) ? options.run_dir : std::nullopt;
  return newest_run(config.table("run").text("dir"), config.name());
}

std::optional<fs::path> choose_snapshot(const StartOptions& options, const std::string& resume, const fs::path& folder) {
  if (options.iteration || is_snapshot(resume)) {
    const auto path = options.iteration ? find_iteration(folder, *options.iteration) : fs::path(resume);
    open_snapshot(path);  // throws with what is damaged
    return path;
  }
  const auto newest = find_newest(folder);
  for (auto& [path, reason] : newest.passed_over) log_warn(say("passing over ", path.string(), ": ", reason));
  return newest.path;
}

void check_changes(const Config& before, const Config& now, bool accepted) {
  std::string breaking;
  const bool grown = now.table("loader").origin("batch").text().starts_with("loader.batch_per_rank");
  const bool any_batch = grown && now.table("resume").text("world") == "any";
  for (auto& difference : diff(before, now)) {
    log_info(say("changed since the run began: ", difference.key, " = ", difference.is, " (was ", difference.was, ")"));
    if (difference.breaks && !(any_batch && difference.key == "loader.batch"))
      breaking += (breaking.empty() ? "" : ", ") + difference.key;
  }
  if (breaking.empty()) return;
  if (!accepted)
    throw UserError(Exit::usage, "changes that break exact resume: " + breaking,
                    say("undo them, start a new run (without --iter and --resume), or go on all the same with --accept-changes",
                        grown ? "; resume.world = \"any\" lets loader.batch_per_rank make another batch" : ""));
  log_warn("going on with changes that break exact resume: " + breaking);
}

std::string draw_seed() {
  std::random_device source;
  return std::to_string(source() & 0x7fffffff);
}

bool seed_is_random(const Config& config) { return !number(config.table("run"), "seed"); }

fs::path config_file(const StartOptions& options) {
  const auto folder = as_run_folder(options.config);
  return folder ? *folder / "config.toml" : fs::path(options.config);
}

Start fresh(const StartOptions& options, Config config) {
  const fs::path dir = config.table("run").text("dir");
  const bool earlier = newest_run(dir, config.name()).has_value();
  auto folder = options.run_dir ? RunFolder::create_at(*options.run_dir) : RunFolder::create(dir, config.name());
  if (folder.path().filename() != config.name() && !options.run_dir)
    log_info(earlier ? say("an earlier run called '", config.name(), "' is kept; to go on in it: --resume auto")
                     : say((dir / config.name()).string(), " is there and holds no run; it is left alone"));
  write_file_atomically(folder.config_file(), to_toml(config));
  return {.config = std::move(config), .folder = std::move(folder)};
}

// `config`, as loaded from `file`, with what is drawn or follows from the number of ranks said in figures, so that the
// run's folder holds them. Without `world` the batch is left open.
Config settled(const Config& config, const StartOptions& options, const fs::path& file, const std::string& seed,
               std::optional<int> world) {
  const auto rows = config.table("loader").integer("batch_per_rank");
  const bool draws = seed_is_random(config), grows = world && rows > 0;
  if (!draws && !grows) return config;
  auto overrides = options.overrides;
  if (draws) overrides.push_back({"run.seed", seed, "run.seed = \"random\""});
  if (grows) {
    std::erase_if(overrides, [](auto& each) { return each.key == "loader.batch_per_rank"; });
    overrides.push_back({"loader.batch", std::to_string(rows * *world), say("loader.batch_per_rank, ", *world, " times")});
  }
  return load_config(file, overrides);
}

Start lead_start(const StartOptions& options, int world) {
  const auto file = config_file(options);
  Config config = load_config(file, options.overrides);
  config.check_trainable();

  std::string resume = options.resume.empty() ? config.table("run").text("resume") : options.resume;
  if (resume == "none") resume.clear();
  if (as_run_folder(options.config) && options.resume.empty()) resume = "auto";
  if (resume.empty() && !options.iteration) return fresh(options, settled(config, options, file, draw_seed(), world));

  const auto run = run_to_resume(options, resume, config);
  if (!run) {
    if (options.iteration)
      throw UserError(Exit::snapshot, say("--iter ", *options.iteration, ": there is no run called '", config.name(), "' in ",
                                          config.table("run").text("dir"), " to go on in"),
                      "start it without --iter; --max-iter sets the length of a run");
    log_info(say("no run called '", config.name(), "' yet: starting at iteration 0"));
    return fresh(options, settled(config, options, file, draw_seed(), world));
  }

  auto folder = RunFolder::open(*run);
  const Config stored = load_config(folder.config_file());
  config = settled(config, options, file, to_toml(stored.table("run").value("seed")), world);
  check_changes(stored, config, options.accept_changes);
  clean_leftovers(folder.snapshots());
  auto snapshot = choose_snapshot(options, resume, folder.snapshots());
  if (!snapshot) log_info(say(folder.path().string(), " has no snapshot yet: starting at iteration 0"));
  write_file_atomically(folder.config_file(), to_toml(config));
  return {.config = std::move(config), .folder = std::move(folder), .resumed = true, .snapshot = std::move(snapshot),
          .accept_changes = options.accept_changes};
}

void compare_with_leader(const std::map<std::string, std::string>& leaders, const Config& own) {
  std::string different;
  for (auto& [key, value] : exact_values(own)) {
    const auto theirs = leaders.find(key);
    // The same data may lie elsewhere on another machine.
    if ((theirs != leaders.end() && theirs->second == value) || key.ends_with(".path")) continue;
    different += say(different.empty() ? "" : ", ", key, " = ", value, " (rank 0: ",
                     theirs == leaders.end() ? "(none)" : theirs->second, ")");
  }
  if (!different.empty())
    throw UserError(Exit::usage, "not the configuration of rank 0: " + different, "start all ranks with the same file and flags");
}

}  // namespace

Config load_for_use(const StartOptions& options) {
  const auto file = config_file(options);
  const Config config = load_config(file, options.overrides);
  return settled(config, options, file, draw_seed(), std::nullopt);
}

Start prepare_start(const StartOptions& options, Group& group) {
  using nlohmann::json;
  if (group.leads()) {
    Start start = lead_start(options, group.size());
    start.path = fs::absolute(start.folder->path());
    group.broadcast(json{{"seed", to_toml(start.config.table("run").value("seed"))},
                         {"exact", exact_values(start.config)},
                         {"folder", start.path.string()}}.dump());
    return start;
  }
  const auto led = json::parse(group.broadcast({}));
  const auto file = config_file(options);
  Config config = settled(load_config(file, options.overrides), options, file, led.at("seed"), group.size());
  config.check_trainable();
  compare_with_leader(led.at("exact"), config);
  return {.config = std::move(config), .path = led.at("folder").get<std::string>(), .accept_changes = options.accept_changes};
}

}  // namespace flowtrain
