// flowtrain snapshot ls|show|verify|convert|diff|average|now

#include <iostream>

#include "pipeline/base/snapshot/tool.h"
#include "pipeline/commands/flags.h"
#include "pipeline/library/computing.h"
#include "pipeline/tools/plan/snapshot_now.h"
#include "sampling/core/error.h"

namespace flowtrain::commands {

namespace {

namespace fs = std::filesystem;

// Averages the snapshots, with the configuration of the first one.
int average_snapshots(const std::vector<fs::path>& places, const fs::path& out, const std::vector<std::string>& set,
                      bool keeps_statistics, std::uint64_t batches) {
  RunFolder::check_free(out);
  std::vector<fs::path> snapshots;
  for (auto& place : places) snapshots.push_back(fs::canonical(snapshot_of(place, {}).path));
  std::vector<Override> overrides;
  for (auto& each : set) overrides.push_back(parse_set(each));
  const Config config = load_config(snapshots.front() / "config.toml", overrides);
  return computing_parts().average({config, snapshots, out, keeps_statistics, batches});
}

}  // namespace

int snapshot(const Arguments& arguments, Interrupt&) {
  CLI::App app("Inspects snapshots. PLACE is a run's folder, its snapshots folder, or one snapshot.",
               "flowtrain snapshot");
  app.require_subcommand(1);
  std::string place, other, key;
  std::uint64_t iteration = 0;
  auto add = [&](const char* name, const char* help) {
    auto* command = app.add_subcommand(name, help);
    add_path(*command, "PLACE", place, "a run's folder, its snapshots folder, or one snapshot")->required();
    return command;
  };
  auto* ls = add("ls", "list the snapshots of a run");
  auto* show = add("show", "show the tensors and state of a snapshot");
  auto* show_iter = show->add_option("--iter", iteration, "show this iteration; default: the newest undamaged one");
  auto* verify = add("verify", "read every byte, and name damaged files");
  std::vector<std::string> drop, rename;
  auto* convert = app.add_subcommand("convert", "convert weights of torch.save or safetensors to safetensors");
  add_path(*convert, "IN", place, "the file to read; no code in it is executed")->required();
  add_path(*convert, "OUT", other, "the safetensors file to write")->required();
  convert->add_option("--key", key,
                      "take the tensors under this key of a .pth, such as state_dict_ema or ema.module; default: the "
                      "largest dict of tensors");
  convert->add_option("--drop", drop, "leave out tensors whose names match this regular expression; repeatable")
      ->allow_extra_args(false);
  convert
      ->add_option("--rename", rename,
                   "rename tensors by \"PATTERN -> TEXT\", or from the first CornerNet's names (cornernet); repeatable")
      ->allow_extra_args(false);
  auto* diff = add("diff", "compare two snapshots, bit by bit");
  add_path(*diff, "OTHER", other, "the other snapshot")->required();
  std::vector<std::filesystem::path> averaged;
  std::filesystem::path folder;
  std::uint64_t batches = 0;
  bool keeps_statistics = false;
  std::vector<std::string> set;
  auto* average = app.add_subcommand("average", "average the weights of several snapshots as a new run");
  add_path(*average, "SNAPSHOT", averaged, "snapshots; a run stands for its best one")
      ->required()
      ->expected(2, 1 << 16);
  add_path(*average, "--out", folder, "make this run folder")->required();
  auto* given_batches = average->add_option(
      "--batches", batches,
      "compute the statistics of batch normalisation from so many training batches; default: one epoch");
  given_batches->check(counts_from_one("batches"));
  average->add_flag("--keep-statistics", keeps_statistics, "keep the mean of the snapshots' own statistics")
      ->excludes(given_batches);
  average->add_option("--set", set, "change a key: KEY=VALUE; repeatable")->allow_extra_args(false);
  auto* now = app.add_subcommand("now", "ask a run that trains to save a snapshot; the run continues");
  add_path(*now, "RUN", place, "the run's folder")->required();
  double timeout_s = 600;
  now->add_option("--timeout", timeout_s, "wait this many seconds")->capture_default_str()->check(above_zero());
  if (!parse(app, arguments)) return 0;

  auto of = [&](CLI::Option* given) { return *given ? std::optional(iteration) : std::nullopt; };
  ExitCode code = ExitCode::ok;
  if (*ls) code = snapshot_ls(place, std::cout);
  if (*show) code = snapshot_show(place, of(show_iter), std::cout);
  if (*verify) code = snapshot_verify(place, std::cout);
  if (*convert) code = snapshot_convert(place, key, Renaming(drop, rename), other, std::cout);
  if (*average) return average_snapshots(averaged, folder, set, keeps_statistics, batches);
  if (*now) snapshot_now(place, timeout_s, std::cout);
  if (*diff) code = snapshot_diff(place, other, std::cout);
  return static_cast<int>(code);
}

}  // namespace flowtrain::commands
