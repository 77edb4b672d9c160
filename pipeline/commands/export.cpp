// flowtrain export RUN --out FILE

#include <cstdlib>
#include <iostream>
#include <map>

#include "pipeline/base/snapshot/tool.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/commands/flags.h"
#include "pipeline/inference/export/convert.h"
#include "pipeline/library/computing.h"
#include "sampling/core/error.h"
#include "sampling/core/temporary_folder.h"

namespace flowtrain::commands {

namespace {

namespace fs = std::filesystem;

const std::map<std::string, std::string> format_of_ending{
    {".safetensors", "safetensors"}, {".pt", "torchscript"}, {".onnx", "onnx"}, {".pt2", "aoti"}};

std::string format_by_ending(const fs::path& out) {
  const auto found = format_of_ending.find(out.extension().string());
  if (found != format_of_ending.end()) return found->second;
  throw UserError(ExitCode::usage, concat("--out ", out.string(), ": its ending does not name a format"),
                  "end it in .safetensors, .pt, .onnx or .pt2, or give --format");
}

/// A temporary folder that is removed even when a signal ends the process.
class ScratchFolder {
 public:
  explicit ScratchFolder(Interrupt& interrupt) : interrupt_(interrupt) {
    interrupt_.set_cleanup([this] { folder_.remove(); });
  }
  ~ScratchFolder() { interrupt_.set_cleanup({}); }
  ScratchFolder(const ScratchFolder&) = delete;

  const fs::path& path() const { return folder_.path(); }

 private:
  Interrupt& interrupt_;
  const TemporaryFolder folder_{"export", ExitCode::snapshot};
};

}  // namespace

int export_net(const Arguments& arguments, Interrupt& interrupt) {
  CLI::App app(
      "Writes a trained net for other programs: its weights (safetensors, with the reference's names), or the net\n"
      "itself in eval mode. TorchScript is traced; its outputs on validation samples must be bit-identical to the\n"
      "net's. A Python with torch makes ONNX (this also needs onnx and onnxruntime) and AOTInductor packages from it;\n"
      "their outputs on the same samples must agree to 1e-4.",
      "flowtrain export");
  std::string place, format, python = "python3", requested;
  fs::path out;
  std::uint64_t iteration = 0;
  bool averaged = false;
  std::vector<std::string> set;
  add_path(app, "PLACE", place, "a run's folder, its snapshots folder, or one snapshot")->required();
  add_path(app, "--out", out, "write this file")->required();
  app.add_option("--format", format,
                 "choose safetensors, torchscript, onnx or aoti; default: by the ending of FILE: "
                 ".safetensors, .pt, .onnx, .pt2")
      ->check(CLI::IsMember({"safetensors", "torchscript", "onnx", "aoti"}));
  auto* iter = app.add_option(
      "--iter", iteration, "select the snapshot of this iteration; default: the best, or the newest if none is ranked");
  add_path(app, "--snapshot", requested, "select best or latest of the run, or a snapshot's folder")->excludes(iter);
  app.add_flag("--average", averaged, "export the average of the weights, if the run has [ema]");
  auto* checks_in = add_path(app, "--python", python, "use this Python to make onnx and aoti, or to check torchscript")
                        ->capture_default_str();
  app.add_option("--set", set, "change a key of the configuration, such as data.path: KEY=VALUE; repeatable")
      ->allow_extra_args(false);
  if (!parse(app, arguments)) return 0;

  if (format.empty()) format = format_by_ending(out);
  const ChosenSnapshot chosen = snapshot_of(place, {*iter ? std::optional(iteration) : std::nullopt, requested});
  if (format == "safetensors") {
    export_weights(chosen, averaged, out, std::cout);
    return 0;
  }
  std::vector<Override> overrides;
  overrides.reserve(set.size());
  for (auto& each : set) overrides.push_back(parse_set(each));
  const Config config = load_config(chosen.path / "config.toml", overrides);
  if (format == "torchscript" && !*checks_in)
    return computing_parts().export_net({config, chosen.path, averaged, out, {}});
  const ScratchFolder scratch(interrupt);
  const Conversion conversion{format, scratch.path() / "script.pt", scratch.path() / "samples", fs::absolute(out)};
  const int code = computing_parts().export_net({config, chosen.path, averaged, conversion.script, conversion.samples});
  if (code == 0) convert(python, conversion);
  return code;
}

}  // namespace flowtrain::commands
