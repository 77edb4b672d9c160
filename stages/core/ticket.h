#pragma once
// Tickets are the messages of the graph. They are small and trivially copyable because the flow graph copies them; the
// batches stay in their slabs.

#include <cstdint>
#include <type_traits>

namespace flowtrain {

enum class TicketKind : std::uint8_t {
  batch,  ///< a slab to fill and then to train on
  bad,    ///< a slab that could not be filled; carries its error to the compute thread in its turn
};

struct Ticket {
  std::uint64_t seq = 0;        ///< place in the sequence; it has no gaps, so order can be restored at any point
  std::uint64_t iteration = 0;  ///< optimizer step that it belongs to, from 1
  std::uint32_t slot = 0;       ///< index of its slab
  std::uint16_t micro = 0;      ///< micro-batch within the iteration, from 0
  std::uint8_t chunk = 0;       ///< part of the slab's rows, between `plan` and `sample`
  TicketKind kind = TicketKind::batch;
};
/// Returns the number of the ticket's batch, from 0 over the stream; `accum` micro-batches make an iteration.
constexpr std::uint64_t batch_number(const Ticket& ticket, std::uint32_t accum) {
  return (ticket.iteration - 1) * accum + ticket.micro;
}
/// Returns the ticket of a batch number.
constexpr Ticket ticket_of(std::uint64_t number, std::uint32_t accum) {
  Ticket ticket;
  ticket.iteration = number / accum + 1;
  ticket.micro = static_cast<std::uint16_t>(number % accum);
  return ticket;
}
static_assert(std::is_trivially_copyable_v<Ticket> && sizeof(Ticket) == 24);

}  // namespace flowtrain
