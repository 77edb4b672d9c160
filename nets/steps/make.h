#pragma once
// Makes the parts of a model that settings name.

#include <memory>

#include "nets/entries.h"
#include "nets/losses/loss.h"
#include "nets/metrics/metric.h"
#include "nets/net.h"
#include "nets/optim/optimizer.h"
#include "nets/steps/step.h"

namespace flowtrain::nets {

// `settings` is the part's table, with `name` and the entry's keys. All functions throw what the entry's make throws,
// and UserError(usage) for an unknown name.

/// Throws std::invalid_argument for no classes, no channels, and images that are too small for the net.
std::unique_ptr<Net> make_net(const Settings& settings, const NetInput& input);
std::unique_ptr<Loss> make_loss(const Settings& settings, const LossInput& input);
/// Throws std::invalid_argument for no parameters, parameters of several types or devices, and factors that are
/// negative or not finite.
std::unique_ptr<Optimizer> make_optimizer(const Settings& settings, const std::vector<ParameterGroup>& groups);
/// `input.name` is one that find_metric() knows; `settings` has the entry's keys.
std::unique_ptr<Metric> make_metric(const Settings& settings, const MetricInput& input);
std::unique_ptr<Step> make_step(const Settings& settings, const StepInput& input);

}  // namespace flowtrain::nets
