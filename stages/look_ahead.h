#pragma once
// Tickets drawn before their time, so that a source far away learns early what will be read.

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>

#include "sampling/distant.h"
#include "stages/issue.h"

namespace flowtrain {

/// Gives the tickets of a source in their order. One thread at a time. Where the data set is distant, the records of
/// batches up to `rows` rows ahead are expected (Distant::expect), and those of the batch that is given are begun.
class LookAhead {
 public:
  /// `issue` says what the rows of a ticket are; it and the data set must outlive this.
  LookAhead(std::function<Ticket()> source, const IssueStage& issue, const Dataset& dataset, std::uint64_t rows)
      : source_(std::move(source)), issue_(issue), distant_(dynamic_cast<const Distant*>(&dataset)), rows_(rows) {}

  /// The next ticket. Rethrows what the source threw, in its turn.
  Ticket operator()();

 private:
  struct Drawn {
    Ticket ticket;
    std::uint64_t rows;  ///< of a batch; else 0
  };
  void draw();

  std::function<Ticket()> source_;
  const IssueStage& issue_;
  const Distant* distant_;  ///< null: nobody wants to know
  std::uint64_t rows_;
  std::deque<Drawn> drawn_;
  std::uint64_t drawn_rows_ = 0;
  bool ended_ = false;
  std::exception_ptr error_;  ///< of the source; its last word
};

}  // namespace flowtrain
