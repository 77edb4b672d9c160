#include "stages/issue.h"

#include <algorithm>

#include "stages/blame.h"

namespace flowtrain {

std::uint32_t IssueStage::operator()(const Ticket& ticket, Slab& slab) const {
  const std::uint64_t number = (ticket.iteration - 1) * accum_ + ticket.micro;
  const auto rows = static_cast<std::uint32_t>(batches_.rows(number));
  const std::uint32_t chunks = std::min(rows, chunks_);
  const std::uint64_t epoch = batches_.epoch(number);
  slab.begin(ticket, epoch, rows, chunks);
  for (std::uint32_t row = 0; auto& work : slab.rows()) {
    work.position = batches_.position(number, row);
    try {
      work.id = order_.at(epoch, batches_.index(number, row));
    } catch (...) {
      rethrow_blaming("issue", "position " + std::to_string(work.position));
    }
    ++row;
  }
  return chunks;
}

}  // namespace flowtrain
