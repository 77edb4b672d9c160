// The part of `flowtrain export` that traces a net.

#include <exception>
#include <nlohmann/json.hpp>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/session/pixel_form.h"
#include "pipeline/engine/session/session.h"
#include "pipeline/engine/train/snapshot_branch.h"
#include "pipeline/library/computing/commands.h"
#include "sampling/core/settings.h"
#include "stages/torch/export/torch_script.h"

namespace flowtrain::computing {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Opens the first set with samples.
const ValidationData& open_samples(Session& session, const LearntData& learnt) {
  std::exception_ptr empty;
  const auto on_empty = [&](const EmptyDataset&, const std::string&) { empty = std::current_exception(); };
  ValidationSets& sets = session.open_sets(validation_set_configs(session.config()), learnt, on_empty, false);
  if (sets.empty()) std::rethrow_exception(empty);
  session.prepare();
  session.make_validation_loaders();
  return *sets.front();
}

/// Returns the facts that users of the net need: classes, shapes and normalisation.
json facts_of(const SlabLayout& layout, const std::vector<std::string>& classes) {
  json facts{{"classes", classes}};
  for (auto& field : layout.fields())
    if (is_image(field))
      facts["image"] = {{"channels", field.shape[2]},
                        {"height", field.shape[0]},
                        {"width", field.shape[1]},
                        {"mean", field.mean},
                        {"stddev", field.stddev}};
  return facts;
}

/// Writes the files that convert() reads.
void write_samples(const fs::path& path, const TorchScript& script) {
  json shapes{{"shape", script.image.shape}};
  std::string outputs;
  for (auto& output : script.outputs) {
    shapes["outputs"].push_back(output.name);
    shapes["shapes"].push_back(output.shape);
    outputs += output.bytes;
  }
  write_file_atomically(path, script.image.bytes);
  write_file_atomically(path.string() + ".outputs", outputs);
  write_file_atomically(path.string() + ".json", json_text(shapes));
}

}  // namespace

int export_net(const ExportRequest& request) {
  SessionOptions options;
  options.device = "cpu";
  Session session(request.config, options);
  const OpenSnapshot snapshot = open_snapshot(request.snapshot);
  if (request.averaged) require_average(snapshot);
  const RunInputs inputs = RunState::from_json(snapshot.state_json).inputs;
  const ValidationData& samples = open_samples(session, {inputs.classes, record_form(inputs.pixels)});
  const LearnerSpec spec = session.learner_spec(samples.loader->layout(), request.config);
  samples.loader->start();
  const TorchScript script = trace_net(spec, read_model(snapshot, request.averaged), first_batch(*samples.loader),
                                       json_text(facts_of(samples.loader->layout(), session.classes()), 2));
  samples.loader->stop();
  log_info(concat("TorchScript of ", spec.tables.net.text("name"), ": the greatest difference from the net on ",
                  script.image.shape.front(), " samples is ", printed("%g", script.greatest_difference)));
  if (script.greatest_difference != 0)
    throw UserError(ExitCode::bug, "the outputs of the trace differ from those of the net; no file was written",
                    "--format safetensors writes only the weights");
  write_file_atomically(request.script, script.bytes);
  if (!request.samples.empty()) write_samples(request.samples, script);
  return 0;
}

}  // namespace flowtrain::computing
