#pragma once
// What a model is made of, by name: nets, losses, optimizers, metrics and training steps. No LibTorch here: an entry's
// help, keys and traits are there without it, and what makes its part once nets/steps/make.h is used.

#include <cstdint>
#include <string>
#include <vector>

#include "sampling/core/registry.h"
#include "sampling/core/settings.h"

namespace flowtrain {

namespace nets {

class Net;
class Loss;
class Optimizer;
class Metric;
class Step;
struct ParameterGroup;

/// What a net is made for.
struct NetInput {
  std::int64_t classes = 0;            ///< outputs of a classifier, kinds of objects of a detector
  std::int64_t channels = 3;           ///< of the pictures
  std::int64_t height = 0, width = 0;  ///< of the pictures, pixels
};
struct LossInput {
  std::int64_t classes = 0;  ///< of the data; 0: not known
};
struct OptimizerInput {
  /// They share no parameter. The state takes the parameters' device and layout.
  const std::vector<ParameterGroup>& groups;
};
struct MetricInput {
  std::int64_t classes = 0;  ///< of the data; 0: not known
  std::string name = {};     ///< as it was written: "top5" of the entry "topN"
};
struct StepInput {
  Net& net;  ///< outlives the step
  const Settings &net_settings, &loss_settings;
  std::int64_t classes = 0;  ///< of the data; 0: not known
};

}  // namespace nets

template <>
struct TraitsOf<nets::Net> {
  std::int64_t least_side = 1;  ///< smallest height and width of pictures, pixels; 0: it needs no pictures
  std::string detector = {};    ///< that finds objects with it, if it gives what the detector reads; empty: none
};
template <>
struct TraitsOf<nets::Loss> {
  bool mixes = true;  ///< of batches whose labels are mixed ([batch_augment] mixup, cutmix), too
};
template <>
struct TraitsOf<nets::Optimizer> {
  /// The key whose value, or whose first value, is what Optimizer::set_hyper() calls momentum; empty: none.
  std::string momentum = {};
};
template <>
struct TraitsOf<nets::Metric> {
  bool lower_is_better = false;
  bool single = true;  ///< one number, by which two validations can be compared; false: one for each class, or a table
};

template <>
struct TraitsOf<nets::Step> {
  /// It records the scopes "net" and "loss" of a profile itself, and tells a mistake at the key of its part.
  bool tells_apart = false;
};

namespace nets {

using NetEntry = Entry<Net, NetInput>;
using LossEntry = Entry<Loss, LossInput>;
using OptimizerEntry = Entry<Optimizer, OptimizerInput>;
using MetricEntry = Entry<Metric, MetricInput>;
using StepEntry = Entry<Step, StepInput>;

/// [net]: keys of the entry beside the table's own. Makers throw std::invalid_argument or UserError(usage) for values
/// out of range and for inputs that they cannot take. A net draws its first weights from torch's default generator.
Registry<Net, NetInput>& nets();
/// [loss].
Registry<Loss, LossInput>& losses();
/// [optim]; the table's `lr` is what it begins with, and each group says its weight decay.
Registry<Optimizer, OptimizerInput>& optimizers();
/// val.metrics and [[metric]]. `loss` is always measured by the engine itself.
Registry<Metric, MetricInput>& metrics();
/// [step].
Registry<Step, StepInput>& steps();

/// The entry that a name in val.metrics means: its own, or "topN" for top1, top2 …; null: no metric of batches.
const MetricEntry* find_metric(const std::string& name);
/// N of "topN"; 0 for other names.
std::int64_t top_of(const std::string& name);

/// Where a file of parts puts its entries.
struct Parts {
  EntrySink<Net, NetInput> nets;
  EntrySink<Loss, LossInput> losses;
  EntrySink<Optimizer, OptimizerInput> optimizers;
  EntrySink<Metric, MetricInput> metrics;
  EntrySink<Step, StepInput> steps;
};

}  // namespace nets

}  // namespace flowtrain

/// At the end of a file of parts, in namespace flowtrain::nets: `FLOWTRAIN_PARTS(mlp) { parts.nets.add({…}); }`. Its
/// name is a line of nets/list.h, and FLOWTRAIN_MAKE() holds what needs LibTorch.
#define FLOWTRAIN_PARTS(file)                            \
  void FLOWTRAIN_ENTRIES(file)(flowtrain::nets::Parts&); \
  void FLOWTRAIN_ENTRIES(file)([[maybe_unused]] flowtrain::nets::Parts & parts)
