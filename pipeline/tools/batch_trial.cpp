#include "pipeline/tools/batch_trial.h"

#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>

#include "pipeline/telemetry/format.h"
#include "pipeline/telemetry/log.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

// A device says that it has too little with the text of its driver.
std::unique_ptr<Slab> make_slab(const SlabLayout& layout, Device& device) {
  try {
    return std::make_unique<Slab>(layout, device);
  } catch (const std::bad_alloc&) {
    return nullptr;
  } catch (const std::runtime_error&) {
    if (!device.copies()) throw;
    return nullptr;
  }
}

}  // namespace

void BatchTrial::fill(Slab& slab, std::uint32_t rows) const {
  const SlabLayout &from = few_.layout(), &to = slab.layout();
  slab.begin(few_.ticket(), few_.epoch(), rows, 1);
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::size_t source = row % few_.rows().size();
    slab.rows()[row].position = few_.rows()[source].position;
    slab.rows()[row].id = few_.rows()[source].id;
    for (std::size_t field = 0; field < to.fields().size(); ++field)
      std::memcpy(slab.host() + to.offset(field) + row * to.row_bytes(field),
                  few_.host() + from.offset(field) + source * from.row_bytes(field), to.row_bytes(field));
  }
  if (slab.owner().copies()) slab.owner().start_copy(slab.ticket().slot, slab.device(), slab.host(), to.bytes());
}

std::optional<std::uint64_t> BatchTrial::operator()(std::uint32_t rows) {
  const SlabLayout layout(few_.layout().fields(), rows);
  const std::uint64_t batches = slabs(layout.bytes()) * layout.bytes();
  Device& device = few_.owner();
  if (device.copies() && batches > host_limit) return {};
  const auto slab = make_slab(layout, device);
  if (!slab) return {};
  fill(*slab, rows);
  const auto step = probe_.step_bytes(*slab);
  log_debug(concat("a batch of ", rows, ": ",
                   step ? concat("a step takes ", format_bytes(*step)) : std::string("a step does not fit"),
                   ", batches ahead ", format_bytes(batches)));
  if (!step) return {};
  return *step + batches;
}

}  // namespace flowtrain
