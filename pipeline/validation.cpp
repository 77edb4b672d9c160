#include "pipeline/validation.h"

#include "pipeline/exchange.h"
#include "pipeline/telemetry/interrupt.h"

namespace flowtrain {

std::optional<Figures> run_validation(Line& line, Learner& learner, BadSamples& bad, std::uint64_t iteration,
                                      std::uint64_t batches, const Interrupt* interrupt, Group& group) {
  learner.begin_validation();
  bool complete = true;
  std::vector<BadSample> found;
  for (std::uint64_t batch = 0; batch < batches && complete; ++batch) {
    Ticket ticket;
    if (!line.next(ticket)) throw InternalError("the validation line ended");
    Slab& slab = line.slab(ticket);
    if (ticket.kind == TicketKind::bad) std::rethrow_exception(slab.error());
    found.insert(found.end(), slab.bad().begin(), slab.bad().end());
    learner.validate(slab);
    line.release(ticket);
    complete = !(interrupt && group.size() == 1 && interrupt->requested());
  }
  bad.account(bad_samples_of_all(group, found), iteration);
  Figures figures = learner.end_validation();
  return complete ? std::optional(std::move(figures)) : std::nullopt;
}

}  // namespace flowtrain
