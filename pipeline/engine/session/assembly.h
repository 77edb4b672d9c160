#pragma once
// Makes parts from the configuration: data, orders, samplers, devices and schedules.

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
#include "sampling/samplers/stored.h"
#include "stages/device/device.h"
#include "stages/loader/shape_plan.h"

namespace flowtrain {

/// The parts that one loader reads from, at the addresses that the loader refers to.
struct DataParts {
  std::unique_ptr<Dataset> dataset;
  std::unique_ptr<Order> order;
  std::vector<SourceShare> sources;  ///< The sources, if there are several.
  std::unique_ptr<Sampler> sampler;
  std::shared_ptr<Device> device;
  std::shared_ptr<const ShapePlan> plan;   ///< The plan of batches whose rows have free axes or groups; else null.
  Batches batches{1, 1, LastBatch::wrap};  ///< The batches; with a plan they may count in its units (BatchPlanner).
  Slice slice = {};
  std::uint32_t batch = 1;  ///< The rows of a whole batch, of all processes.
  std::uint32_t prefetch = 1;
  unsigned workers = 1, readers = 1;
  std::uint64_t read_ahead = 0;        ///< The number of rows.
  std::optional<Tuner::Limits> tunes;  ///< loader.workers = "auto"; empty: the loader keeps its shape.
};

/// The number of batches that a validation loader prepares ahead.
inline constexpr std::uint32_t validation_prefetch = 5;

/// The share of one process in the data and in this machine.
struct DataSlice {
  Slice slice = {};
  unsigned processes_here = 1;  ///< The processes that share the machine's cores.
};

/// Opens the training data (open_dataset). Throws UserError(usage or data).
DataParts open_training_data(const Config& config, const std::string& device, const DataSlice& data_slice = {},
                             bool keeps_split = false);

/// The facts about training data that hold for all other data of their net, too.
struct LearntData {
  std::vector<std::string> classes = {};  ///< The classes in label order.
  /// The form of the pictures, from which keys of a sampler have their defaults; empty: each data set's own.
  std::optional<StoredForm> form = {};
};

/// Returns what a net learns from a configuration's training data, which are opened for it; nothing if they cannot be.
LearntData learnt_data(const Config& config);

/// Opens the validation data under the classes that the net learns (open_validation_dataset): in stored order, not
/// augmented, epochs padded, five batches prefetched. Its pictures become rows as those that the net learns from do.
/// Without `needs_targets` the data may lack the targets of a loss. Throws UserError(usage or data), also for pictures
/// that the sampler cannot make such rows of.
DataParts open_validation_data(const Config& config, const LearntData& learnt, const std::string& device,
                               const DataSlice& data_slice = {}, bool is_leader = true, bool needs_targets = true);

/// Returns the rows of a batch of all `world` processes: loader.batch or loader.batch_per_rank; for validation
/// val.batch, if it is given, or the rows of its group.
std::uint32_t batch_rows(const Config& config, bool training, std::uint64_t world);
/// Returns the order of validation: as stored.
std::unique_ptr<Order> make_validation_order(const Config& config, const Dataset& dataset);

/// Returns the number of threads that decode, by loader.workers or val.workers: "auto" divides the usable cores among
/// the `processes_here`. Warns of a number that is far beyond the cores, and returns less.
unsigned workers_of(const Setting<Value>& key, unsigned processes_here = 1);

/// Makes the parts for a data set that is already open, in place of the one that the configuration names. `learnt` is
/// LearntData::form.
DataParts with_dataset(std::unique_ptr<Dataset> dataset, const Config& config, bool training, const std::string& device,
                       const DataSlice& data_slice = {}, bool needs_targets = true,
                       const std::optional<StoredForm>& learnt = {});

/// Measures the records of `parts`, whose data set, order and sampler are set, and sets its plan, batches and sampler
/// by loader.budget, loader.pack, loader.resizing and the rows of groups. Without free axes and groups it changes
/// nothing. Throws UserError(usage) for keys that need free axes if there are none, and for those that do not fit
/// together.
void set_shape_plan(DataParts& parts, const Config& config, bool training, LastBatch last);
/// Returns "938 batches of 64", and how they are made by lengths if they are.
std::string describe_batches(const DataParts& data);
/// Returns which sizes the pictures of training batches have, "size 96, 128 from iteration 501"; empty if they have
/// one.
std::string describe_resizing(const Config& config, const DataParts& data);
/// Returns the layout of the slabs that hold one process's part of the batches.
SlabLayout slab_layout(const DataParts& data);

/// Returns the most slabs of `batch_bytes` that a training loader may get, because loader.prefetch may be tuned.
std::uint32_t most_slabs(const Config& config, const DataParts& data, std::size_t batch_bytes);

/// Returns the parts of a loader for the iterations `first` to `last`.
LoaderParts loader_parts(const std::string& name, const DataParts& data, const Config& config, std::uint64_t first = 1,
                         std::uint64_t last = LoaderIterations::endless);

/// Opens the device of that name ("cpu", "cuda:N"), for `slots` slabs, whose host memory is page-locked with `pin`.
/// This starts CUDA in the process, so it precedes the first tensor on a GPU. Throws UserError(usage) if that fails.
std::unique_ptr<Device> make_device(const std::string& name, std::uint32_t slots, bool pin);

/// Returns "cpu" or "cuda:N" for run.device, for one process of `processes_here` on this machine. "auto" takes a GPU if
/// one answers. Each process has its own; if fewer are visible, they share them in turn. Throws UserError(usage) if
/// run.device names a single GPU for several processes.
std::string choose_device(const Config& config, unsigned local_rank = 0, unsigned processes_here = 1);

/// Returns the number of GPUs for the processes of this machine: 0 if run.device is "cpu" or names a single GPU.
int gpus_to_share(const Config& config);

/// Returns the run's seed; run.seed must be a number by now.
std::uint64_t seed_of(const Config& config);

/// Reads [batch_augment], [batch_augment.color] and [batch_augment.erase].
Mixing mixing_of(const Config& config);

/// Returns an epoch in optimizer steps, of `train.accum` batches each.
Every epoch_of(const Config& config, const Batches& batches);

/// Returns the plan of the run from iteration `first`; one epoch if no length is set (--dry-run). `validate` is false
/// without a validation set.
RunPlan make_run_plan(const Config& config, const Batches& batches, std::uint64_t first, bool validate);

/// Returns whether validation sees averaged weights: [ema].
bool validates_average(const Config& config);

}  // namespace flowtrain
