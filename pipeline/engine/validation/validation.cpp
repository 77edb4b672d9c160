#include "pipeline/engine/validation/validation.h"

#include <set>

#include "pipeline/base/errors/agree_on_error.h"
#include "pipeline/base/errors/bad_samples_of_all.h"
#include "pipeline/engine/graph/loader_forward.h"
#include "pipeline/engine/validation/detect_share.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "stages/flight/flight.h"

namespace flowtrain {

namespace {

// What is found in samples that are shown is taken on the way.
DetectionMetrics with_shown(DetectionMetrics metrics, std::optional<SampleCollector>& shown) {
  if (shown)
    metrics.on_image = [&shown, on_image = metrics.on_image](const DetectedImage& detected) {
      if (on_image) on_image(detected);
      shown->add(detected);
    };
  return metrics;
}

// Where no metric needs boxes, those of the samples that are shown alone. False: the validation was given up.
bool detect_shown(SampleCollector& shown, const SampleChoice& samples, Detector& detector,
                  const std::set<std::uint64_t>& records, Group& group, const GoesOn& goes_on) {
  const DetectionMetrics none{.dataset = samples.dataset,
                              .names = {},
                              .decoding = samples.decoding,
                              .on_image = [&](const DetectedImage& detected) { shown.add(detected); }};
  return detect_in_share(none, shown.chosen_of(records), detector, group, goes_on).has_value();
}

// An error of one rank becomes that of all, so that no rank is missed in the collectives to come. A collective.
void share_error(Group& group, std::exception_ptr& error) try {
  together(group, "the errors of a validation", [&] {
    if (!error) return;
    if (group.size() == 1) std::rethrow_exception(error);
    try {
      std::rethrow_exception(error);
    } catch (const UserError& thrown) {
      throw UserError(thrown.code(), concat("rank ", group.rank(), ": ", thrown.what()), thrown.hint());
    } catch (const std::exception& thrown) {
      throw UserError(ExitCode::usage, concat("rank ", group.rank(), ": ", first_line(thrown.what())));
    }
  });
} catch (const std::exception& thrown) {
  if (!is_survivable(thrown)) throw;
  error = std::current_exception();
}

}  // namespace

Validated run_validation(Loader& loader, Validator& validator, BadSamples& bad, std::uint64_t iteration,
                         std::uint64_t batches, const GoesOn& goes_on, Group& group, const DetectionMetrics* detection,
                         ErrorPolicy::Action on_error, const SampleChoice* samples) {
  std::exception_ptr error;
  // After an error that may pass, nothing more is computed.
  const auto attempt = [&](auto work) {
    if (error) return;
    try {
      work();
    } catch (const std::exception& thrown) {
      if (on_error == ErrorPolicy::Action::stop || !is_survivable(thrown)) throw;
      error = std::current_exception();
    }
  };
  validator.begin_validation();
  std::optional<SampleCollector> shown;
  if (samples) shown.emplace(*samples);
  // Where it finds objects, these are shown in place of rows.
  Detector* const detector = shown ? validator.detector() : nullptr;
  bool complete = true;
  std::vector<BadSample> found;
  std::set<std::uint64_t> records;
  for (std::uint64_t batch = 0; batch < batches && complete; ++batch) {
    Ticket ticket;
    {
      const FlightSpan waits({.name = "data", .kind = FlightKind::waits});
      if (!loader.next(ticket)) throw InternalError("the validation loader ended");
    }
    if (!(complete = goes_on())) break;  // what came may be bad only because nobody waited for it
    Slab& slab = loader.slab(ticket);
    if (ticket.kind == TicketKind::batch) found.insert(found.end(), slab.bad().begin(), slab.bad().end());
    attempt([&] {
      if (ticket.kind == TicketKind::bad) std::rethrow_exception(slab.error());
      const FlightSpan flight({.name = "forward"});
      auto forward = loader.forward(ticket);
      if (shown && !detector)
        shown->validate(validator, slab);
      else
        validator.validate(slab);
      forward.on_stream.end();
      if (detection || detector)
        for (auto& row : loader.rows(ticket)) records.insert(row.id);
    });
    loader.release(ticket);
    if (error && on_error == ErrorPolicy::Action::save && group.size() == 1) break;
    complete = goes_on();
  }
  found = bad_samples_of_all(group, found);
  std::set<std::uint64_t> replaced;  // a substitute may have been bad as well
  for (auto& each : found) replaced.insert(each.position);
  bad.account(std::move(found), iteration);
  const bool shares_errors = on_error != ErrorPolicy::Action::stop;
  if (shares_errors) share_error(group, error);
  std::optional<Scalars> seen = Scalars();
  Scalars scalars;
  std::vector<ShownSamples> gathered;
  attempt([&] {
    if (detection && complete)
      seen = measure_detection(with_shown(*detection, shown), *validator.detector(), records, group, goes_on);
    else if (detector && complete && !detect_shown(*shown, *samples, *detector, records, group, goes_on))
      seen.reset();
    scalars = validator.end_validation();
    if (shown && complete && seen) gathered.push_back(shown->gather(group));
  });
  if (shares_errors) share_error(group, error);
  if (error) validator.leave_validation();
  if (!complete || !seen) return {};
  if (error) return {.error = error};
  scalars.insert(scalars.end(), seen->begin(), seen->end());
  if (!group.leads()) gathered.clear();
  return {.scalars = std::move(scalars), .replaced = replaced.size(), .samples = std::move(gathered)};
}

// [data.val]'s comes last, so that what else the validator has of it stays, and is told first.
Validated validate_sets(const std::vector<ValidationSet>& sets, Validator& validator, std::uint64_t iteration,
                        const GoesOn& goes_on, Group& group, ErrorPolicy::Action on_error) {
  Scalars scalars;
  std::exception_ptr error;
  std::uint64_t replaced = 0;
  std::vector<ShownSamples> samples;
  for (std::size_t i = sets.size(); i-- > 0;) {
    const ValidationSet& set = sets[i];
    Validated one = run_validation(set.loader, validator, set.bad_samples, iteration, set.batches, goes_on, group,
                                   set.detection, on_error, set.samples);
    if (!one.scalars && !one.error) return {};
    if (one.error && !error) error = one.error;
    if (error && on_error != ErrorPolicy::Action::skip) break;
    if (error) continue;
    if (!set.name.empty())
      for (auto& [name, value] : *one.scalars) name = set.name + "." + name;
    scalars.insert(scalars.begin(), one.scalars->begin(), one.scalars->end());
    replaced += one.replaced;
    for (auto& shown : one.samples) {
      shown.set = set.name;
      samples.insert(samples.begin(), std::move(shown));
    }
  }
  if (error) return {.error = error};
  Validated all{.scalars = std::move(scalars), .replaced = replaced, .samples = std::move(samples)};
  const ClassTable* confusion = sets.front().name.empty() ? validator.confusion() : nullptr;
  if (confusion) all.confusion = *confusion;
  return all;
}

}  // namespace flowtrain
