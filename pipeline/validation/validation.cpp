#include "pipeline/validation/validation.h"

#include <set>

#include "pipeline/train/sample_account.h"
#include "sampling/core/error.h"

namespace flowtrain {

Validated run_validation(Loader& loader, Validator& validator, BadSamples& bad, std::uint64_t iteration,
                         std::uint64_t batches, const GoesOn& goes_on, Group& group, const DetectionMetrics* detection,
                         ErrorPolicy::Action on_error) {
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
  bool complete = true;
  std::vector<BadSample> found;
  std::set<std::uint64_t> records;
  for (std::uint64_t batch = 0; batch < batches && complete; ++batch) {
    Ticket ticket;
    if (!loader.next(ticket)) throw InternalError("the validation loader ended");
    if (!(complete = goes_on())) break;  // what came may be bad only because nobody waited for it
    Slab& slab = loader.slab(ticket);
    if (ticket.kind == TicketKind::batch) found.insert(found.end(), slab.bad().begin(), slab.bad().end());
    attempt([&] {
      if (ticket.kind == TicketKind::bad) std::rethrow_exception(slab.error());
      validator.validate(slab);
      if (detection)
        for (auto& row : loader.rows(ticket)) records.insert(row.id);
    });
    loader.release(ticket);
    if (error && on_error == ErrorPolicy::Action::save) break;
    complete = goes_on();
  }
  found = bad_samples_of_all(group, found);
  std::set<std::uint64_t> replaced;  // a substitute may have been bad as well
  for (auto& each : found) replaced.insert(each.position);
  bad.account(std::move(found), iteration);
  std::optional<Scalars> seen = Scalars();
  Scalars scalars;
  attempt([&] {
    if (detection && complete) seen = measure_detection(*detection, *validator.detector(), records, group, goes_on);
    scalars = validator.end_validation();
  });
  if (error) validator.leave_validation();
  if (!complete || !seen) return {};
  if (error) return {.error = error};
  scalars.insert(scalars.end(), seen->begin(), seen->end());
  return {.scalars = std::move(scalars), .replaced = replaced.size()};
}

// [data.val]'s comes last, so that what else the validator has of it stays, and is told first.
Validated validate_sets(const std::vector<ValidationSet>& sets, Validator& validator, std::uint64_t iteration,
                        const GoesOn& goes_on, Group& group, ErrorPolicy::Action on_error) {
  Scalars scalars;
  std::exception_ptr error;
  std::uint64_t replaced = 0;
  for (std::size_t i = sets.size(); i-- > 0;) {
    const ValidationSet& set = sets[i];
    Validated one = run_validation(set.loader, validator, set.bad_samples, iteration, set.batches, goes_on, group,
                                   set.detection, on_error);
    if (!one.scalars && !one.error) return {};
    if (one.error && !error) error = one.error;
    if (error && on_error != ErrorPolicy::Action::skip) break;
    if (error) continue;
    if (!set.name.empty())
      for (auto& [name, value] : *one.scalars) name = set.name + "." + name;
    scalars.insert(scalars.begin(), one.scalars->begin(), one.scalars->end());
    replaced += one.replaced;
  }
  if (error) return {.error = error};
  Validated all{.scalars = std::move(scalars), .replaced = replaced};
  const ClassTable* confusion = sets.front().name.empty() ? validator.confusion() : nullptr;
  if (confusion) all.confusion = *confusion;
  return all;
}

}  // namespace flowtrain
