#pragma once
// Makes one data set and its order from [data] or [[data.source]].

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "sampling/order.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// The share of one of several sources in an epoch.
struct SourceShare {
  std::string name;
  std::uint64_t records = 0;     ///< The records that it holds.
  std::uint64_t order_size = 0;  ///< The rows of one pass through it.
  std::uint64_t samples = 0;     ///< The samples that an epoch takes from it.
  double ratio = 0;              ///< The share of all samples in the configuration, 0 … 1.
  double passes = 0;             ///< The passes of an epoch through it.
  std::uint64_t rows = 0;        ///< The rows of each batch, of a group; else 0.
};

/// An order, and the share of each source if there are several.
struct SourcedOrder {
  std::unique_ptr<Order> order;
  std::vector<SourceShare> shares;
};

/// Opens the data set of [data.train] or [data.val], or joins the [[data.source]]s. If validation has no data of its
/// own, data.val_share divides the training data between the two. With `keeps_split` the log names the files that are
/// used, and a split is logged and written beside the data, so that it stays the same when samples are added
/// (SplitFile). Parts of samples that no [[field]] names may be left out, unless `all_parts`. Throws UserError(usage or
/// data), EmptyDataset for one without records.
std::unique_ptr<Dataset> open_dataset(const Config& config, bool training, bool keeps_split = false,
                                      bool all_parts = false);

/// Opens the validation data set under the classes that the net learns, as the training data name them: its labels
/// become theirs (places_among, in sampling/class_names.h). If `is_leader`, the log names its files and the classes it
/// lacks. If either has no classes it stays as it is. Throws UserError(data) if it has a class that training does not
/// know, and the errors of open_dataset().
std::unique_ptr<Dataset> open_validation_dataset(const Config& config, const std::vector<std::string>& learnt,
                                                 bool is_leader = true);

/// Makes the training order of a data set of open_dataset, in batches of `batch` rows. Throws UserError(usage or data).
SourcedOrder make_training_order(const Config& config, const Dataset& dataset, std::uint64_t batch, std::uint64_t seed);

/// Returns whether an epoch in batches of `batch` rows has rows of every source: make_training_order() refuses others.
/// `shares` are those of any batch.
bool epoch_has_all(const Config& config, const std::vector<SourceShare>& shares, std::uint64_t batch);

/// The additional field of rows of several sources: i64, the index of the row's [[data.source]], from
/// 0.
inline constexpr const char* source_field = "source";

/// Makes the sampler of the table [sampler] if its key `process` is true, with run.plugins.
using MakeIsolatedSampler = std::unique_ptr<Sampler> (*)(const Settings& sampler,
                                                         const std::vector<std::string>& plugins,
                                                         const SamplerInput& input);
/// The program `flowtrain` calls this when it starts; in others make_sampler() refuses sampler.process.
void set_isolation(MakeIsolatedSampler make);

/// Makes the sampler of all sources; rows of several sources end with source_field. Throws UserError(usage) if the rows
/// of two sources would have different fields. The rows of groups have fields of their own (GroupedSampler); validation
/// has those of one group, without its name before theirs.
std::unique_ptr<Sampler> make_sampler(const Config& config, const SamplerInput& input);

/// Returns "2 sources: digits 60,000 samples (ratio 0.75), more 1,024 (ratio 0.25)"; of groups "(4 rows of each
/// batch)".
std::string describe_shares(const std::vector<SourceShare>& shares);

/// Returns what data.epoch says: "longest", "shortest" or "500 batches".
std::string epoch_end_of(const Config& config);

}  // namespace flowtrain
