#pragma once
// A stream of samples for programs that make the rows themselves: the records of each batch, and the keys of their
// draws. Epochs, order, ranks and positions are those of DataLoader.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/engine/loader/data_loader.h"
#include "sampling/batches.h"
#include "sampling/order.h"

namespace flowtrain {

/// The rows of a batch that one rank makes.
struct StreamRows {
  std::vector<std::uint64_t> ids;    ///< record of each row
  std::vector<std::uint64_t> seeds;  ///< seed of each row's draws, from run.seed and the row's position alone
};

/// Orders samples; every method is const and may be called from any thread.
class SampleStream {
 public:
  /// Opens the data of `config`, or with `records` orders the numbers from 0 to records - 1 of samples that are
  /// elsewhere. All of `options` but `floats` matters. Throws UserError(usage or data).
  SampleStream(Config config, const DataLoaderOptions& options, std::optional<std::uint64_t> records = {});
  ~SampleStream();
  SampleStream(const SampleStream&) = delete;

  /// Returns the samples of an epoch, of all ranks.
  std::uint64_t samples() const { return order_->size(); }
  /// Returns the rows of a whole batch, of all ranks.
  std::uint64_t batch_size() const { return batch_; }
  /// Returns a cursor at the first sample.
  EpochCursor cursor() const { return {samples(), batch_, options_.drop_last}; }
  /// Returns this rank's rows of the batch that begins at `position`, whose epoch must have batches left. A rank
  /// without a row of an epoch's last batch gets the batch's first one.
  StreamRows rows(StreamPosition position) const;
  /// Implements DataLoader::basis().
  std::map<std::string, std::string> basis() const;

  const Dataset& dataset() const { return *dataset_; }
  /// Returns the number of threads that make rows; prefetch() is the number of batches that they prepare ahead.
  unsigned workers() const { return workers_; }
  std::uint32_t prefetch() const { return prefetch_; }

 private:
  Batches batches_from(StreamPosition position) const;

  const Config config_;
  const DataLoaderOptions options_;
  std::unique_ptr<Dataset> dataset_;
  std::unique_ptr<Order> order_;
  std::uint64_t batch_ = 0;
  unsigned workers_ = 1;
  std::uint32_t prefetch_ = 1;
};

}  // namespace flowtrain
