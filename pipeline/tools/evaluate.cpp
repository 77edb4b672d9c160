#include "pipeline/tools/evaluate.h"

#include "pipeline/session/assembly.h"
#include "pipeline/session/ledger.h"
#include "pipeline/session/memory_check.h"
#include "pipeline/snapshot/snapshot_files.h"
#include "pipeline/train/run_state.h"
#include "pipeline/train/snapshot_branch.h"
#include "pipeline/validation/validation.h"

namespace flowtrain {

Evaluation evaluate(const Config& config, const std::filesystem::path& snapshot, const MakeLearner& make_learner) {
  const std::string device = choose_device(config);
  const OpenSnapshot opened = open_snapshot(snapshot);
  const auto learnt = RunState::from_json(opened.state_json).classes;
  const DataParts data = open_validation_data(config, learnt, device);
  check_memory({config, nullptr, {&data}});
  const Scheduler scheduler(data.workers);
  Line line(line_parts("val", data, config));
  LearnerSpec spec{config.table("net"),   config.table("loss"), config.list("optim"), config.list("group"),
                   config.table("train"), config.table("run"),  config.table("val"),  line.layout()};
  spec.val_layout = &line.layout();
  spec.class_names = learnt.empty() ? data.dataset->classes() : learnt;
  spec.classes = static_cast<std::int64_t>(spec.class_names.size());
  spec.device = device;
  spec.seed = seed_of(config);
  spec.ema = &config.table("ema");
  spec.step = &config.table("step");
  spec.metrics = &config.list("metric");
  const auto learner = make_learner(spec);
  learner->load_state(read_tensors(opened));
  BadSamples bad = make_ledger(config, false, *data.dataset, nullptr);
  line.start();
  Evaluation evaluation{*run_validation(line, *learner, bad, 0, data.batches.per_epoch(), [] { return true; }).figures,
                        {}};
  if (const auto* confusion = learner->confusion()) evaluation.confusion = *confusion;
  return evaluation;
}

}  // namespace flowtrain
