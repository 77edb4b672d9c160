#include "stages/ticket.h"

namespace flowtrain {

const char* name_of(TicketKind kind) {
  switch (kind) {
    case TicketKind::batch: return "batch";
    case TicketKind::bad: return "bad";
    case TicketKind::rates: return "rates";
    case TicketKind::validate: return "validate";
    case TicketKind::snapshot: return "snapshot";
    case TicketKind::drained: return "drained";
    case TicketKind::end: return "end";
  }
  return "?";
}

}  // namespace flowtrain
