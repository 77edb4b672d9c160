#include "pipeline/inference/evaluation/test_bench.h"

#include <algorithm>
#include <exception>

#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/session/sources.h"
#include "pipeline/engine/session/validation_data.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

std::string title(const Config& config, const std::string& set) {
  if (set.empty()) return "[data.val]";
  if (set == "test" && config.has_test_data()) return "[data.test]";
  const auto is_it = [&](auto& each) { return each.text("name") == set; };
  return (std::ranges::any_of(config.list("test.set"), is_it) ? "[[test.set]] " : "[[val.set]] ") + set;
}

}  // namespace

TestBench::TestBench(const Config& config, const TestOptions& options, const std::vector<SetConfig>& sets,
                     const LearntData& learnt)
    : session_(config, {.group = options.group,
                        .processes_here = options.processes_here,
                        .local_rank = options.local_rank,
                        .whole_batches = true}) {
  std::exception_ptr empty_set;
  const auto on_empty = [&](const EmptyDataset& empty, const std::string& set) {
    empty_set = std::current_exception();
    if (sets.size() > 1 && options.group->leads()) log_warn(concat(title(config, set), " is left out: ", empty.what()));
  };
  const Group& group = *options.group;
  for (auto& set : session_.open_sets(sets, learnt, on_empty, false))
    set->data.batches =
        set->data.batches.every(static_cast<std::uint64_t>(group.rank()), static_cast<std::uint64_t>(group.size()));
  if (session_.validation().empty()) std::rethrow_exception(empty_set);
  check_rows(session_.validation());
  session_.prepare();
  const DataParts& first = session_.validation().front()->data;
  layout_.emplace(first.sampler->fields(), first.batch);
}

Learner& TestBench::learner(const MakeLearner& make) {
  if (learner_) return *learner_;
  LearnerSpec spec = session_.learner_spec(*layout_, session_.config());
  spec.data.val_layout = &*layout_;
  return *(learner_ = make(spec));
}

void TestBench::warn_of_training_samples() const {
  const Config& config = session_.config();
  const Settings &train = config.data(true), &val = config.data(false);
  if (!train.has("path") || !val.has("path") || train.value("path") != val.value("path")) return;
  try {
    warn_of_same_samples(*open_dataset(config, true), session_.validation());
  } catch (const UserError&) {
  }
}

}  // namespace flowtrain
