#include "pipeline/engine/validation/validation.h"

#include <set>
#include <utility>

#include "pipeline/base/errors/agree_on_error.h"
#include "pipeline/base/errors/bad_samples_of_all.h"
#include "pipeline/engine/graph/loader_forward.h"
#include "pipeline/engine/validation/detect_share.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "stages/flight/flight.h"

namespace flowtrain {

namespace {

// Adds what the detector finds in the samples that are shown to `shown`, too.
DetectionMetrics with_shown(DetectionMetrics metrics, SampleCollector& shown) {
  metrics.on_image = [&shown, on_image = metrics.on_image](const DetectedImage& detected) {
    if (on_image) on_image(detected);
    shown.add(detected);
  };
  return metrics;
}

}  // namespace

ValidationPass::ValidationPass(const ValidationSet& set, Validator& validator, GoesOn goes_on, Group& group,
                               ErrorPolicy::Action on_error)
    : set_(set), validator_(validator), goes_on_(std::move(goes_on)), group_(group), on_error_(on_error) {}

Validated ValidationPass::run(std::uint64_t iteration) {
  validator_.begin_validation();
  if (set_.samples) {
    shown_.emplace(*set_.samples);
    detector_ = validator_.detector();
  }
  for (std::uint64_t batch = 0; batch < set_.batches && next_batch(); ++batch) {
  }
  result_.replaced = record_bad_samples(iteration);
  // Only rank 0 continues the prompts: the others wait for it.
  if (set_.texts && group_.leads() && !given_up_) attempt([&] { result_.texts = set_.texts->run(validator_); });
  share_error();
  attempt([&] { finish(); });
  share_error();
  if (error_) validator_.leave_validation();
  if (given_up_) return {};
  if (error_) return {.error = error_};
  return std::move(result_);
}

// Measures the next batch. Returns whether another one may follow.
bool ValidationPass::next_batch() {
  Ticket ticket;
  {
    const FlightSpan waits({.name = "data", .kind = FlightKind::waits});
    if (!set_.loader.next(ticket)) throw InternalError("the validation loader ended");
  }
  given_up_ = !goes_on_();
  if (given_up_) return false;  // The batch may be bad only because reads were cancelled.
  if (ticket.kind == TicketKind::batch) {
    const auto& bad = set_.loader.slab(ticket).bad();
    bad_.insert(bad_.end(), bad.begin(), bad.end());
  }
  attempt([&] { measure(ticket); });
  set_.loader.release(ticket);
  if (error_ && on_error_ == ErrorPolicy::Action::save && group_.size() == 1) return false;
  given_up_ = !goes_on_();
  return !given_up_;
}

void ValidationPass::measure(const Ticket& ticket) {
  Slab& slab = set_.loader.slab(ticket);
  if (ticket.kind == TicketKind::bad) std::rethrow_exception(slab.error());
  const FlightSpan flight({.name = "forward"});
  auto forward = set_.loader.forward(ticket);
  if (shown_ && !detector_)
    shown_->validate(validator_, slab);
  else
    validator_.validate(slab);
  forward.on_stream.end();
  if (set_.detection || detector_)
    for (auto& row : set_.loader.rows(ticket)) records_.insert(row.id);
}

// Returns the number of rows with a substitute. A substitute may have been bad as well, so positions are counted.
std::uint64_t ValidationPass::record_bad_samples(std::uint64_t iteration) {
  std::vector<BadSample> of_all = bad_samples_of_all(group_, bad_);
  std::set<std::uint64_t> replaced;
  for (auto& each : of_all) replaced.insert(each.position);
  set_.bad_samples.account(std::move(of_all), iteration);
  return replaced.size();
}

void ValidationPass::finish() {
  const std::optional<Scalars> detected = given_up_ ? std::nullopt : detect();
  given_up_ = !detected;
  Scalars scalars = validator_.end_validation();
  if (given_up_) return;
  if (shown_) result_.samples.push_back(shown_->gather(group_));
  if (!group_.leads()) result_.samples.clear();
  scalars.insert(scalars.end(), detected->begin(), detected->end());
  result_.scalars = std::move(scalars);
}

// Returns the metrics of the detector, if there are any; nothing if the validation was given up. Without such metrics
// the detector looks at the samples that are shown.
std::optional<Scalars> ValidationPass::detect() {
  if (set_.detection)
    return measure_detection(shown_ ? with_shown(*set_.detection, *shown_) : *set_.detection, *validator_.detector(),
                             records_, group_, goes_on_);
  if (!detector_) return Scalars();
  const DetectionMetrics none{.dataset = set_.samples->dataset, .names = {}, .decoding = set_.samples->decoding};
  const auto found =
      detect_in_share(with_shown(none, *shown_), shown_->chosen_of(records_), *detector_, group_, goes_on_);
  return found ? std::optional(Scalars()) : std::nullopt;
}

template <class Work>
void ValidationPass::attempt(const Work& work) {
  if (error_) return;
  try {
    work();
  } catch (const std::exception& thrown) {
    if (on_error_ == ErrorPolicy::Action::stop || !is_survivable(thrown)) throw;
    error_ = std::current_exception();
  }
}

// Makes an error of one rank that of all, so that all ranks meet in the collectives to come. A collective, unless
// errors end the run.
void ValidationPass::share_error() try {
  if (on_error_ == ErrorPolicy::Action::stop) return;
  together(group_, "the errors of a validation", [&] {
    if (!error_) return;
    if (group_.size() == 1) std::rethrow_exception(error_);
    try {
      std::rethrow_exception(error_);
    } catch (const UserError& thrown) {
      throw UserError(thrown.code(), concat("rank ", group_.rank(), ": ", thrown.what()), thrown.hint());
    } catch (const std::exception& thrown) {
      throw UserError(ExitCode::usage, concat("rank ", group_.rank(), ": ", first_line(thrown.what())));
    }
  });
} catch (const std::exception& thrown) {
  if (!is_survivable(thrown)) throw;
  error_ = std::current_exception();
}

// The set of [data.val] is measured last, so that the validator keeps its confusion, and is reported first.
Validated validate_sets(const std::vector<ValidationSet>& sets, Validator& validator, std::uint64_t iteration,
                        const GoesOn& goes_on, Group& group, ErrorPolicy::Action on_error) {
  Scalars scalars;
  std::exception_ptr error;
  std::uint64_t replaced = 0;
  std::vector<ShownSamples> samples;
  std::vector<TextSample> texts;
  for (std::size_t i = sets.size(); i-- > 0;) {
    const ValidationSet& set = sets[i];
    Validated one = ValidationPass(set, validator, goes_on, group, on_error).run(iteration);
    if (!one.scalars && !one.error) return {};
    if (one.error && !error) error = one.error;
    if (error && on_error != ErrorPolicy::Action::skip) break;
    if (error) continue;
    if (!set.name.empty())
      for (auto& [name, value] : *one.scalars) name = concat(set.name, ".", name);
    scalars.insert(scalars.begin(), one.scalars->begin(), one.scalars->end());
    replaced += one.replaced;
    texts.insert(texts.end(), one.texts.begin(), one.texts.end());
    for (auto& shown : one.samples) {
      shown.set = set.name;
      samples.insert(samples.begin(), std::move(shown));
    }
  }
  if (error) return {.error = error};
  Validated all{
      .scalars = std::move(scalars), .replaced = replaced, .samples = std::move(samples), .texts = std::move(texts)};
  const ClassTable* confusion = sets.front().name.empty() ? validator.confusion() : nullptr;
  if (confusion) all.confusion = *confusion;
  return all;
}

}  // namespace flowtrain
