// flowtrain snapshot ls|show|verify|export|convert|diff

#include <iostream>

#include "pipeline/commands/flags.h"
#include "pipeline/snapshot/tool.h"
#include "sampling/core/error.h"

namespace flowtrain::commands {

int snapshot(const Arguments& arguments, Interrupt&) {
  CLI::App app("Looks into snapshots. PLACE is a run's folder, its snapshots folder, or one snapshot.",
               "flowtrain snapshot");
  app.require_subcommand(1);
  std::string place, other;
  std::uint64_t iteration = 0;
  auto add = [&](const char* name, const char* help) {
    auto* command = app.add_subcommand(name, help);
    add_path(*command, "PLACE", place, "a run's folder, its snapshots folder, or one snapshot")->required();
    return command;
  };
  auto* ls = add("ls", "the snapshots of a run");
  auto* show = add("show", "tensors and state of one");
  auto* show_iter = show->add_option("--iter", iteration, "that of this iteration; otherwise the newest good one");
  auto* verify = add("verify", "read every byte and name what is damaged");
  auto* copy = add("export", "copy the weights to a safetensors file");
  add_path(*copy, "FILE", other, "the file to write")->required();
  auto* copy_iter = copy->add_option("--iter", iteration,
                                     "that of this iteration; otherwise the best one, or the newest where none is the "
                                     "best, as `flowtrain test` has it");
  std::string requested;
  add_path(*copy, "--snapshot", requested, "best or latest of the run, or a snapshot's folder")->excludes(copy_iter);
  bool averaged = false;
  copy->add_flag("--average", averaged, "the weights' average, of a run with [ema]");
  std::vector<std::string> drop, rename;
  auto* convert = app.add_subcommand("convert", "weights of torch.save (.pth, .pkl) or safetensors to safetensors");
  add_path(*convert, "IN", place, "the file to read; nothing in it is executed")->required();
  add_path(*convert, "OUT", other, "the safetensors file to write")->required();
  convert->add_option("--drop", drop, "leave out tensors whose names match this regular expression; repeatable")
      ->allow_extra_args(false);
  convert
      ->add_option("--rename", rename,
                   "\"PATTERN -> TEXT\", or cornernet: the names of the first CornerNet; repeatable")
      ->allow_extra_args(false);
  auto* diff = add("diff", "compare two, bit by bit");
  add_path(*diff, "OTHER", other, "the other one")->required();
  if (!parse(app, arguments)) return 0;

  auto of = [&](CLI::Option* given) { return *given ? std::optional(iteration) : std::nullopt; };
  ExitCode code = ExitCode::ok;
  if (*ls) code = snapshot_ls(place, std::cout);
  if (*show) code = snapshot_show(place, of(show_iter), std::cout);
  if (*verify) code = snapshot_verify(place, std::cout);
  if (*copy) code = snapshot_export(place, {of(copy_iter), requested}, averaged, other, std::cout);
  if (*convert) code = snapshot_convert(place, Renaming(drop, rename), other, std::cout);
  if (*diff) code = snapshot_diff(place, other, std::cout);
  return static_cast<int>(code);
}

}  // namespace flowtrain::commands
