#pragma once
// The parts of a model by name: nets, losses, optimizers, metrics and training steps. An entry's help, keys and traits
// need no LibTorch; nets/steps/make.h adds the code that makes its part.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sampling/core/registry.h"
#include "sampling/core/settings.h"

namespace flowtrain {

struct Field;

namespace nets {

class Net;
class Loss;
class Optimizer;
class Metric;
class Step;
struct ParameterGroup;

/// The data that a net is made for.
struct NetInput {
  std::int64_t classes = 0;            ///< outputs of a classifier, kinds of objects of a detector
  std::int64_t channels = 3;           ///< channels of the images
  std::int64_t height = 0, width = 0;  ///< size of the images, in pixels
  std::int64_t vocabulary = 0;         ///< number of ids that the field `tokens` may have; 0: not known
  std::int64_t length = 0;             ///< greatest length of the field `tokens`; 0: there is no such field
  std::int64_t types = 0;              ///< number of values of the field `type`; 0: not known
  std::int64_t features = 0;           ///< values of a frame in the field `features` (frames, values); 0: no such field
  std::int64_t labels = 0;             ///< number of values of the field `label` if it has an axis; 0: not known
};
struct LossInput {
  std::int64_t classes = 0;  ///< classes of the data; 0: not known
};
struct OptimizerInput {
  /// The groups share no parameter. The state takes the parameters' device and layout.
  const std::vector<ParameterGroup>& groups;
};
struct MetricInput {
  std::int64_t classes = 0;            ///< classes of the data; 0: not known
  std::string name = {};               ///< the name as written: "top5" for the entry "topN"
  std::span<const Field> fields = {};  ///< fields of the rows; valid while the metric is made
};
struct StepInput {
  Net& net;  ///< outlives the step
  const Settings &net_settings, &loss_settings;
  std::int64_t classes = 0;  ///< classes of the data; 0: not known
};

}  // namespace nets

template <>
struct TraitsOf<nets::Net> {
  std::int64_t least_side = 1;  ///< smallest height and width of images, in pixels; 0: the net needs no images
  std::string detector = {};    ///< finds objects with the net if the net gives what it reads; empty: none
};
template <>
struct TraitsOf<nets::Loss> {
  bool mixes = true;  ///< it accepts batches whose labels are mixed ([batch_augment] mixup, cutmix)
};
template <>
struct TraitsOf<nets::Optimizer> {
  /// The key whose value, or whose first value, is the `momentum` of Optimizer::set_hyper(); empty: none.
  std::string momentum = {};
};
template <>
struct TraitsOf<nets::Metric> {
  bool lower_is_better = false;
  bool single = true;  ///< one number, by which two validations can be compared; false: one for each class, or a table
};

template <>
struct TraitsOf<nets::Step> {
  /// The step records the scopes "net" and "loss" of a profile itself, and reports a mistake at the key of its part.
  bool tells_apart = false;
};

namespace nets {

using NetEntry = Entry<Net, NetInput>;
using LossEntry = Entry<Loss, LossInput>;
using OptimizerEntry = Entry<Optimizer, OptimizerInput>;
using MetricEntry = Entry<Metric, MetricInput>;
using StepEntry = Entry<Step, StepInput>;

/// The nets of [net], whose keys join the table's own. Makers throw std::invalid_argument or UserError(usage) for bad
/// values and inputs. A net draws its first weights from torch's default generator.
Registry<Net, NetInput>& nets();
/// The losses of [loss].
Registry<Loss, LossInput>& losses();
/// The optimizers of [optim]; they begin with the table's `lr`, and each group has its weight decay.
Registry<Optimizer, OptimizerInput>& optimizers();
/// The metrics of val.metrics and [[metric]]. The engine itself always measures `loss`.
Registry<Metric, MetricInput>& metrics();
/// The training steps of [step].
Registry<Step, StepInput>& steps();

/// Returns the entry of a name in val.metrics, "topN" for top1, top2 …; null if it is no metric of batches.
const MetricEntry* find_metric(const std::string& name);
/// Returns N of "topN", and 0 for other names.
std::int64_t top_of(const std::string& name);

/// The registries to which a file of parts adds its entries.
struct Parts {
  EntrySink<Net, NetInput> nets;
  EntrySink<Loss, LossInput> losses;
  EntrySink<Optimizer, OptimizerInput> optimizers;
  EntrySink<Metric, MetricInput> metrics;
  EntrySink<Step, StepInput> steps;
};

}  // namespace nets

}  // namespace flowtrain

/// This macro ends a file of parts, in namespace flowtrain::nets: `FLOWTRAIN_PARTS(mlp) { parts.nets.add({…}); }`. The
/// file's name is a line of nets/list.h, and FLOWTRAIN_MAKE() holds the code that needs LibTorch.
#define FLOWTRAIN_PARTS(file)                            \
  void FLOWTRAIN_ENTRIES(file)(flowtrain::nets::Parts&); \
  void FLOWTRAIN_ENTRIES(file)([[maybe_unused]] flowtrain::nets::Parts & parts)
