#include <algorithm>
#include <exception>

#include "pipeline/config/inference_settings.h"
#include "pipeline/evaluation/agree_on_error.h"
#include "pipeline/evaluation/run_tests.h"
#include "pipeline/evaluation/test_sets.h"
#include "pipeline/session/leaders_work.h"
#include "pipeline/session/sources.h"
#include "pipeline/session/start.h"
#include "pipeline/telemetry/interrupt.h"
#include "sampling/core/error.h"

namespace flowtrain {

namespace {

const TestPart& part_like(const TestPart& part, const TestResults& others) {
  const auto found = std::ranges::find_if(others.outcomes, [&](auto& other) {
    return other.part.set == part.set && other.part.setting == part.setting && other.error.empty();
  });
  if (found == others.outcomes.end())
    throw UserError(ExitCode::usage,
                    concat("set ", shown_set(part.set), part.setting.empty() ? "" : ", setting ", part.setting,
                           ": B was not measured so"),
                    "both need the same sets and settings");
  return found->part;
}

void check_single(const TestResults& results, const char* which) {
  for (auto& outcome : results.outcomes)
    if (outcome.part.snapshot != results.outcomes.front().part.snapshot)
      throw UserError(ExitCode::usage, concat(which, " has several snapshots"),
                      "name one of each: `flowtrain test A B --iter 500`, or two snapshots' folders");
}

// As it is stored, whatever the net calls its classes.
std::unique_ptr<Dataset> dataset_of(const TestPart& part, const TestSubject& subject, const TestOptions& options) {
  StartOptions start = subject.start;
  for (auto& setting : inference_settings(load_for_use(start)))
    if (setting.name == part.setting)
      start.overrides.insert(start.overrides.end(), setting.overrides.begin(), setting.overrides.end());
  for (auto& set : test_sets(load_for_use(start), options.sets))
    if (set.name == part.set) return open_validation_dataset(set.config, {}, false);
  throw InternalError("a part of no set");
}

}  // namespace

std::vector<ComparedParts> compare_tests(const TestResults& a, const TestResults& b, const TestSubject& subject,
                                         const TestOptions& options) {
  std::vector<ComparedParts> compared;
  std::exception_ptr error;
  let_leader_work(*options.group, "the comparison of two tests", [&] {
    try {
      check_single(a, "A");
      check_single(b, "B");
      const Settings test = load_for_use(subject.start).table("test");
      const CompareOptions how{.resamples = options.resamples,
                               .pictures = static_cast<std::size_t>(test.integer("worst"))};
      for (auto& outcome : a.outcomes) {
        if (!outcome.error.empty()) continue;
        const auto dataset = dataset_of(outcome.part, subject, options);
        const Interrupt::Deferral whole(options.interrupt);
        compared.push_back({outcome.part, compare_parts(outcome.part, part_like(outcome.part, b), *dataset, how)});
      }
    } catch (...) {
      error = std::current_exception();
    }
  });
  together(*options.group, "the end of a comparison", [&] {
    if (error) std::rethrow_exception(error);
  });
  return compared;
}

}  // namespace flowtrain
