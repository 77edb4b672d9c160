#include "pipeline/engine/memory/auto_batch.h"

#include <algorithm>

#include "pipeline/base/telemetry/log.h"

namespace flowtrain {

namespace {

/// The state of a search.
class Search {
 public:
  Search(std::uint64_t limit, const TryRows& attempt) : limit_(limit), attempt_(attempt) {}

  bool fits(std::uint32_t rows) {
    if (predicted(rows) > static_cast<double>(limit_)) return false;
    ++found_.tries;
    const auto bytes = attempt_(rows);
    if (!bytes) return false;
    before_ = last_;
    last_ = {static_cast<double>(rows), static_cast<double>(*bytes)};
    if (*bytes > limit_) return false;
    found_.rows = rows;
    found_.bytes = *bytes;
    return true;
  }
  FoundRows found() const { return {found_.rows, found_.bytes, limit_, found_.tries}; }

 private:
  struct Taken {
    double rows = 0, bytes = 0;
  };

  // Predicts the bytes by the straight line through the last two tries.
  double predicted(std::uint32_t rows) const {
    if (before_.rows == 0) return 0;
    return last_.bytes + (rows - last_.rows) * (last_.bytes - before_.bytes) / (last_.rows - before_.rows);
  }

  std::uint64_t limit_;
  const TryRows& attempt_;
  FoundRows found_;
  Taken last_, before_;
};

}  // namespace

FoundRows find_rows(std::uint32_t most, std::uint64_t limit, const TryRows& attempt) {
  Search search(limit, attempt);
  std::uint32_t fits = 0, too_many = most + 1;
  // The search starts with two rows: batch normalisation takes no statistics of one.
  for (std::uint32_t rows = std::min(2u, most); fits < most && too_many > most; rows = std::min(most, 2 * rows))
    (search.fits(rows) ? fits : too_many) = rows;
  while (too_many - fits > std::max(1u, fits / 32)) {
    const std::uint32_t middle = fits + (too_many - fits) / 2;
    (search.fits(middle) ? fits : too_many) = middle;
  }
  return search.found();
}

bool batch_is_left_open(const Config& config) { return config.loader().batch.origin().text() == batch_left_open; }

void tell_left_open_batch(const Config& config) {
  if (batch_is_left_open(config))
    log_info(concat("batches of ", to_toml(*config.loader().batch), ": ", batch_left_open));
}

}  // namespace flowtrain
