#include <algorithm>

#include "pipeline/base/config/inference_settings.h"
#include "pipeline/base/errors/agree_on_error.h"
#include "pipeline/engine/session/sources.h"
#include "pipeline/engine/session/start.h"
#include "pipeline/inference/evaluation/run_tests.h"
#include "pipeline/inference/evaluation/test_sets.h"
#include "pipeline/inference/evaluation/worst_samples.h"
#include "sampling/core/error.h"
#include "sampling/samplers/keys.h"

namespace flowtrain {

namespace {

const PartOutcome& outcome_like(const TestPart& part, const TestResults& others) {
  const auto found = std::ranges::find_if(
      others.outcomes, [&](auto& other) { return other.part.set == part.set && other.part.setting == part.setting; });
  if (found == others.outcomes.end())
    throw UserError(ExitCode::usage,
                    concat("set ", shown_set(part.set), part.setting.empty() ? "" : ", setting ", part.setting,
                           ": B has no such measurement"),
                    "test both with the same sets and settings");
  return *found;
}

void check_single(const TestResults& results, const char* which) {
  for (auto& outcome : results.outcomes)
    if (outcome.part.snapshot != results.outcomes.front().part.snapshot)
      throw UserError(ExitCode::usage, concat(which, " has several snapshots"),
                      "name one snapshot each: `flowtrain test A B --iter 500`, or two snapshots' folders");
}

// Opens the part's set as it is stored, whatever the net calls its classes.
std::unique_ptr<Dataset> dataset_of(const TestPart& part, const TestSubject& subject, const TestOptions& options) {
  StartOptions start = subject.start;
  for (auto& setting : inference_settings(load_for_use(start)))
    if (setting.name == part.setting)
      start.overrides.insert(start.overrides.end(), setting.overrides.begin(), setting.overrides.end());
  for (auto& set : test_sets(load_for_use(start), options.sets))
    if (set.name == part.set) return open_validation_dataset(set.config, {}, false);
  throw InternalError("a part has no set");
}

}  // namespace

std::vector<ComparedParts> compare_tests(const TestResults& a, const TestResults& b, const TestSubject& subject,
                                         const TestOptions& options) {
  std::vector<ComparedParts> compared;
  in_leader(*options.group, "the comparison of two tests", [&] {
    check_single(a, "A");
    check_single(b, "B");
    const Config config = load_for_use(subject.start);
    const auto rules = worst_rules(config);
    const CompareOptions how{.resamples = options.resamples,
                             .pictures = static_cast<std::size_t>(rules.front().integer("n")),
                             .decoding = decoding_of(config.table("sampler")),
                             .interrupt = options.interrupt};
    for (auto& outcome : a.outcomes) {
      const PartOutcome& other = outcome_like(outcome.part, b);
      if (!outcome.error.empty() || !other.error.empty()) continue;  // it was reported when it was skipped
      const auto dataset = dataset_of(outcome.part, subject, options);
      compared.push_back({outcome.part, compare_parts(outcome.part, other.part, *dataset, how)});
    }
  });
  return compared;
}

}  // namespace flowtrain
