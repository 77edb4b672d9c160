#pragma once
// From the configuration to parts: data, orders, samplers, devices and schedules.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/graph/run_plan.h"
#include "pipeline/engine/session/sources.h"
#include "pipeline/engine/verdict/tuner.h"
#include "sampling/batches.h"
#include "sampling/images/mix.h"
#include "sampling/order.h"
#include "sampling/sampler.h"
#include "stages/device/device.h"

namespace flowtrain {

/// Everything that one loader reads from; at the addresses that the loader refers to.
struct DataParts {
  std::unique_ptr<Dataset> dataset;
  std::unique_ptr<Order> order;
  std::vector<SourceShare> sources;  ///< where they are several
  std::unique_ptr<Sampler> sampler;
  std::shared_ptr<Device> device;
  Batches batches{1, 1, LastBatch::wrap};
  Slice slice = {};
  std::uint32_t batch = 1;  ///< rows of a whole batch, of all processes
  std::uint32_t prefetch = 1;
  unsigned workers = 1, readers = 1;
  std::uint64_t read_ahead = 0;        ///< rows
  std::optional<Tuner::Limits> tunes;  ///< loader.workers = "auto"; nothing: the loader keeps its shape
};

/// Batches that a validation loader prepares ahead.
inline constexpr std::uint32_t validation_prefetch = 5;

/// How much of the data, and of this machine, is one process's.
struct DataSlice {
  Slice slice = {};
  unsigned processes_here = 1;  ///< that share the machine's cores
};

/// Opens the training data (open_dataset). Throws UserError(usage or data).
DataParts open_training_data(const Config& config, const std::string& device, const DataSlice& data_slice = {},
                             bool keeps_split = false);

/// Opens the validation data under the classes that the net learns (open_validation_dataset): in stored order, not
/// augmented, epochs padded, five batches prefetched. Without `needs_targets` there need be nothing to compute a loss
/// from. Throws UserError(usage or data).
DataParts open_validation_data(const Config& config, const std::vector<std::string>& learnt, const std::string& device,
                               const DataSlice& data_slice = {}, bool is_leader = true, bool needs_targets = true);

/// Rows of a batch, of all `world` processes: loader.batch or loader.batch_per_rank; for validation val.batch, if it is
/// given.
std::uint32_t batch_rows(const Config& config, bool training, std::uint64_t world);
/// Validation's order: as stored.
std::unique_ptr<Order> make_validation_order(const Config& config, const Dataset& dataset);

/// The same for a data set that is open already, in the place of the one that the configuration names.
DataParts with_dataset(std::unique_ptr<Dataset> dataset, const Config& config, bool training, const std::string& device,
                       const DataSlice& data_slice = {}, bool needs_targets = true);

/// Slabs that a loader of training batches may come to have, of `batch_bytes` each: loader.prefetch may be tuned.
std::uint32_t most_slabs(const Config& config, const DataParts& data, std::size_t batch_bytes);

/// The loader of the parts, for the iterations `first` to `last`.
LoaderParts loader_parts(const std::string& name, const DataParts& data, const Config& config, std::uint64_t first = 1,
                         std::uint64_t last = LoaderParts::endless);

/// The device of that name ("cpu", "cuda:N"), for `slots` slabs, whose host memory is page-locked with `pin`. No tensor
/// is made on a GPU before: this is what brings CUDA into the process. Throws UserError(usage) where it cannot be had.
std::unique_ptr<Device> make_device(const std::string& name, std::uint32_t slots, bool pin);

/// "cpu" or "cuda:N" for run.device, for one process of `processes_here` on this machine. "auto" takes a GPU where one
/// answers. Each process has its own; where fewer are visible, they share them in turn. Throws UserError(usage) where
/// run.device names a single GPU for several processes.
std::string choose_device(const Config& config, unsigned local_rank = 0, unsigned processes_here = 1);

/// GPUs for the processes that we start on this machine: 0 where run.device is "cpu" or names a single GPU.
int gpus_to_share(const Config& config);

/// The run's seed; run.seed must be a number by now.
std::uint64_t seed_of(const Config& config);

/// [batch_augment], [batch_augment.color] and [batch_augment.erase].
Mixing mixing_of(const Config& config);

/// An epoch in optimizer steps: `train.accum` batches are one of them.
Every epoch_of(const Config& config, const Batches& batches);

/// The whole run from iteration `first`; one epoch where no length is set (--dry-run). `validate` is false where there
/// is no validation set.
RunPlan make_run_plan(const Config& config, const Batches& batches, std::uint64_t first, bool validate);

/// Whether validation sees averaged weights: [ema].
bool validates_average(const Config& config);

}  // namespace flowtrain
