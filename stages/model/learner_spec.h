#pragma once
// The parts that a learner is made of: settings, and the batches it will get. The file uses no torch.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sampling/images/mix.h"
#include "stages/core/group.h"
#include "stages/core/table_keys.h"
#include "stages/device/device_graph.h"
#include "stages/model/compute.h"

namespace flowtrain {

class Hooks;
class Profile;

/// The part of a step that --no-optim leaves out.
enum class TrainMode {
  full,
  no_step,      ///< --no-optim=backward: forward, loss and backward, no update
  forward_only  ///< --no-optim: forward and loss
};

/// An empty list of tables.
inline const std::vector<Settings> no_tables;

/// The tables of a configuration that a learner reads.
struct LearnerTables {
  const Settings& net;
  const Settings& loss;
  const std::vector<Settings>& optims;  ///< [optim], or all [[optim]]
  const std::vector<Settings>& groups;  ///< all [[group]]
  TrainKeys train;
  RunKeys run;
  ValKeys val;
  const Settings* sampler = nullptr;                   ///< with `detect`: [sampler], for a detector's validation
  const Settings* detect = nullptr;                    ///< [detect]; null where no objects are looked for
  const Settings* decode = nullptr;                    ///< [decode]; null where no texts are made
  const Settings* dist = nullptr;                      ///< [dist]; may be null where one process trains
  const Settings* ema = nullptr;                       ///< [ema]; null where nothing is averaged
  const Settings* step = nullptr;                      ///< [step]; null: supervised
  const std::vector<Settings>& init = no_tables;       ///< all [[net.init]]
  const std::vector<Settings>& metrics = no_tables;    ///< all [[metric]]
  const std::vector<Settings>& hook_list = no_tables;  ///< all [[hook]]: the learner adds them to `hooks`
};

/// The batches that a learner gets.
struct LearnerData {
  const SlabLayout& train_layout;
  const SlabLayout* val_layout = nullptr;  ///< null without validation
  bool short_batches = false;              ///< the last ones of epochs or validations, or some processes', have fewer
                                           ///< rows than the layouts
  std::int64_t classes = 0;                ///< classes of the data set
  const std::vector<Settings>* sources = nullptr;  ///< all [[data.source]], if they are groups of rows; else null
  std::string val_source = {};                     ///< with groups: the source whose fields validation has
  std::vector<std::string> class_names = {};       ///< in label order
  Mixing mixing = {};                              ///< the mixing of training batches
};

/// The process in which a learner works, and those whom it calls.
struct LearnerProcess {
  std::string device = "cpu";  ///< Device::name()
  std::uint64_t seed = 0;
  TrainMode mode = TrainMode::full;
  unsigned processes_here = 1;   ///< on this machine, that share its cores
  Hooks* hooks = nullptr;        ///< called by the learner where tensors are at hand
  MakeWorkGraph graphs = {};     ///< makes the graphs of train.cuda_graph; null: the device's own
  Profile* profile = nullptr;    ///< told of the phases of a step; null: nobody asks
  Group* group = &solo_group();  ///< the processes; a TorchGroup in a distributed run
};

/// The references must outlive the learner.
struct LearnerSpec {
  LearnerTables tables;
  LearnerData data;
  LearnerProcess process = {};
};

/// Makes a run's learner: make_torch_learner, or a function of a test.
using MakeLearner = std::function<std::unique_ptr<Learner>(const LearnerSpec&)>;

}  // namespace flowtrain
