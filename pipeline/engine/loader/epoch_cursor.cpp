#include "pipeline/engine/loader/epoch_cursor.h"

#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

std::uint64_t EpochCursor::batches_after(std::uint64_t samples) const {
  const std::uint64_t left = samples_ - samples;
  return drop_last_ ? left / batch_ : (left + batch_ - 1) / batch_;
}

bool EpochCursor::begin_epoch() {
  const bool moves_on = !std::exchange(fresh_, false);
  const bool at_end = !moves_on && position_.samples > 0 && batches_left() == 0;
  const bool follows = !(moves_on || at_end) || left_ == 0;
  if (moves_on || at_end) position_ = {position_.epoch + 1, 0};
  left_ = batches_left();
  return follows;
}

// A left-out rest of an epoch counts as passed, even if smaller batches follow.
void EpochCursor::advance() { position_.samples = --left_ == 0 ? samples_ : position_.samples + batch_; }

void EpochCursor::seek(StreamPosition position) {
  if (position.samples > samples_)
    throw UserError(ExitCode::usage, concat("a position of ", position.samples, " samples: an epoch has ", samples_),
                    "the data set or data.epoch has changed since the position was stored");
  position_ = position;
  fresh_ = true;
  left_ = 0;
}

}  // namespace flowtrain
