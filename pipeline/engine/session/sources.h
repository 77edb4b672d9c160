#pragma once
// From [data] or [[data.source]] to one data set and its order.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "sampling/order.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// What one of several sources has of an epoch.
struct SourceShare {
  std::string name;
  std::uint64_t records = 0;     ///< that it holds
  std::uint64_t order_size = 0;  ///< rows of one pass through it
  std::uint64_t samples = 0;     ///< that an epoch takes of it
  double ratio = 0;              ///< its part of all samples, 0 … 1, as the configuration has it
  double passes = 0;             ///< how often an epoch goes through it
};

/// An order, and where it is of several sources what each of them has of an epoch.
struct SourcedOrder {
  std::unique_ptr<Order> order;
  std::vector<SourceShare> shares;
};

/// Opens the data set of [data.train] or [data.val], or puts the [[data.source]]s together. Where validation has no
/// data of its own, data.val_share says what each of the two gets of the training data. `keeps_split`: the log tells
/// which files are used, and a split is told and written beside the data, for the samples to stay where they are when
/// others are added (SplitFile). Throws UserError(usage or data), EmptyDataset for one without records.
std::unique_ptr<Dataset> open_dataset(const Config& config, bool training, bool keeps_split = false);

/// The validation data set under the classes that the net learns, as the training data name them: its labels become
/// theirs (places_among, in sampling/class_names.h). If `is_leader`, the log tells its files and the classes it lacks.
/// Where either has no classes it stays as it is. Throws UserError: data where it has a class that training does not
/// know; what open_dataset() throws.
std::unique_ptr<Dataset> open_validation_dataset(const Config& config, const std::vector<std::string>& learnt,
                                                 bool is_leader = true);

/// The training order of what open_dataset gave, in batches of `batch` rows. Throws UserError(usage or data).
SourcedOrder make_training_order(const Config& config, const Dataset& dataset, std::uint64_t batch, std::uint64_t seed);

/// Whether an epoch in batches of `batch` rows has some of every source: make_training_order() refuses others. `shares`
/// are those of any batch.
bool epoch_has_all(const Config& config, const std::vector<SourceShare>& shares, std::uint64_t batch);

/// The field that rows of several sources have beside the sampler's: i64, the index of the row's [[data.source]], from
/// 0.
inline constexpr const char* source_field = "source";

/// Makes the sampler of the table [sampler] where its key `process` is true, with run.plugins.
using MakeIsolatedSampler = std::unique_ptr<Sampler> (*)(const Settings& sampler,
                                                         const std::vector<std::string>& plugins,
                                                         const SamplerInput& input);
/// Called by the program `flowtrain` when it starts; in others make_sampler() refuses sampler.process.
void set_isolation(MakeIsolatedSampler make);

/// The sampler of the whole; of several sources rows end with source_field. Throws UserError(usage) where it would make
/// rows of other fields of one source than of another.
std::unique_ptr<Sampler> make_sampler(const Config& config, const SamplerInput& input);

/// "2 sources: digits 60,000 samples (ratio 0.75), more 1,024 (ratio 0.25)".
std::string describe_shares(const std::vector<SourceShare>& shares);

/// What data.epoch says: "longest", "shortest" or "500 batches".
std::string epoch_end_of(const Config& config);

}  // namespace flowtrain
