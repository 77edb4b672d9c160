#include "pipeline/validation.h"

#include <set>

#include "pipeline/exchange.h"
#include "pipeline/telemetry/interrupt.h"

namespace flowtrain {

std::optional<Figures> run_validation(Line& line, Learner& learner, BadSamples& bad, std::uint64_t iteration,
                                      std::uint64_t batches, const Interrupt* interrupt, Group& group,
                                      const DetectionMetrics* detection) {
  learner.begin_validation();
  bool complete = true;
  std::vector<BadSample> found;
  std::set<std::uint64_t> records;
  const auto goes_on = [&] { return !(interrupt && group.size() == 1 && interrupt->requested()); };
  for (std::uint64_t batch = 0; batch < batches && complete; ++batch) {
    Ticket ticket;
    if (!line.next(ticket)) throw InternalError("the validation line ended");
    if (!(complete = goes_on())) break;  // what came may be bad only because nobody waited for it
    Slab& slab = line.slab(ticket);
    if (ticket.kind == TicketKind::bad) std::rethrow_exception(slab.error());
    found.insert(found.end(), slab.bad().begin(), slab.bad().end());
    learner.validate(slab);
    if (detection)
      for (auto& row : line.rows(ticket)) records.insert(row.id);
    line.release(ticket);
    complete = goes_on();
  }
  bad.account(bad_samples_of_all(group, found), iteration);
  std::optional<Figures> seen = Figures();
  if (detection && complete) seen = measure_detection(*detection, *learner.detector(), records, group, goes_on);
  Figures figures = learner.end_validation();
  if (!complete || !seen) return std::nullopt;
  figures.insert(figures.end(), seen->begin(), seen->end());
  return figures;
}

}  // namespace flowtrain
