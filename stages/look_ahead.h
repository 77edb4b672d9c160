#pragma once
// Tickets drawn before their time, so that a source far away learns early what will be read.

#include <cstdint>
#include <deque>

#include "stages/issue.h"

namespace flowtrain {

/// Gives the tickets of a stream in their order. One thread at a time. Where the data set takes hints, the records of
/// batches up to `rows` rows ahead are hinted, and those of the batch that is given are prefetched.
class LookAhead {
 public:
  /// Batches `begin` to `end` - 1 of the stream, of which `accum` make an iteration. `issue` says what the rows of a
  /// ticket are; it and the data set must outlive this.
  LookAhead(std::uint64_t begin, std::uint64_t end, std::uint32_t accum, const IssueStage& issue,
            const Dataset& dataset, std::uint64_t rows)
      : next_(begin), end_(end), accum_(accum), issue_(issue), dataset_(dataset), rows_(rows) {}

  /// All tickets were given.
  bool over() const { return drawn_.empty() && next_ == end_; }
  /// The next ticket, unless it is over.
  Ticket operator()();
  /// The next ticket is that of batch `number` again. What was hinted and not yet given is forgotten.
  void restart(std::uint64_t number);

 private:
  struct Drawn {
    Ticket ticket;
    std::uint64_t rows;
  };
  void draw();

  std::uint64_t next_, end_;  // batches to draw
  std::uint32_t accum_;
  const IssueStage& issue_;
  const Dataset& dataset_;
  std::uint64_t rows_;
  std::deque<Drawn> drawn_;
  std::uint64_t drawn_rows_ = 0;
};

}  // namespace flowtrain
