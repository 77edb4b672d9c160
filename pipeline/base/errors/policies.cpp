#include "pipeline/base/errors/policies.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "pipeline/base/telemetry/log.h"
#include "sampling/core/out_of_memory.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "stages/hooks/hooks.h"

namespace flowtrain {

namespace {

ErrorPolicy::Action action_of(const std::string& on_error) {
  using Action = ErrorPolicy::Action;
  return on_error == "skip" ? Action::skip : on_error == "save" ? Action::save : Action::stop;
}

}  // namespace

NonFinitePolicy NonFinitePolicy::from(const TrainKeys& train) {
  return {*train.nonfinite == "skip"       ? Action::skip
          : *train.nonfinite == "rollback" ? Action::rollback
                                           : Action::stop,
          static_cast<std::uint64_t>(*train.max_nonfinite), *train.rollback_lr};
}

bool is_finite(const StepStats& result) {
  return std::isfinite(result.loss) && (std::isfinite(result.grad_norm) || result.overflow);
}

std::string what_is_not_finite(const StepStats& result) {
  const bool loss = !std::isfinite(result.loss);
  const double value = loss ? result.loss : result.grad_norm;
  // A NaN's sign means nothing.
  return concat(loss ? "the loss is " : "the gradients' norm is ",
                std::isnan(value) ? std::string("nan") : concat(value));
}

UserError nonfinite_error(std::uint64_t iteration, const std::vector<std::uint64_t>& samples, const StepStats& result,
                          const NonFinitePolicy& policy, const std::string& why) {
  const char* const warmup = policy.has_schedules ? "a [[schedule]] of name = \"warmup\"" : "lr.warmup";
  const char* const rest = policy.action == NonFinitePolicy::Action::skip
                               ? ", or set train.clip"
                               : ", set train.clip, or let train.nonfinite skip such updates";
  return UserError(ExitCode::numerics,
                   concat(what_is_not_finite(result), " at iteration ", iteration, why.empty() ? "" : " (" + why + ")",
                          "; samples of its last batch: ", join(samples)),
                   concat("`flowtrain replay ", policy.run,
                          " --find-nan` names the sample and the layer; lower optim.lr, add ", warmup, rest));
}

ErrorPolicy ErrorPolicy::from(const TrainKeys& train, const Settings& dist, int processes) {
  const Action action = action_of(*train.on_error);
  if (action == Action::save && processes > 1)
    throw train.on_error.error(
        "only a process that trains alone can save after an error", ExitCode::usage,
        "leave it at \"stop\"; --max-restarts starts all processes again from the newest snapshot");
  if (action == Action::skip && processes > 1 && dist.boolean("sync_batch_norm"))
    throw train.on_error.error(concat("\"skip\" and dist.sync_batch_norm (", dist.origin("sync_batch_norm").text(),
                                      ") exclude each other: other processes would wait"),
                               ExitCode::usage, "keep one of the two");
  return {action, static_cast<std::uint64_t>(*train.max_skipped)};
}

ErrorPolicy ErrorPolicy::from(const ValKeys& val) { return {action_of(*val.on_error)}; }

namespace {

// CUDA reports such an error again in each further call of the process. Drivers, kernels of this program and LibTorch's
// libraries all name CUDA in the message.
bool device_is_lost(const std::exception& error) {
  const std::string_view text = error.what();
  return !ran_out_of_memory(error) &&
         std::ranges::any_of(std::array<std::string_view, 4>{"CUDA error", "CUDA driver error", "CUBLAS_STATUS_",
                                                             "CUDNN_STATUS_EXECUTION_FAILED"},
                             [&](std::string_view words) { return text.find(words) != std::string_view::npos; });
}

}  // namespace

bool is_survivable(const std::exception& error) {
  if (host_ran_out_of_memory(error) || device_is_lost(error)) return false;
  if (const auto* users = dynamic_cast<const UserError*>(&error))
    return !dynamic_cast<const HookError*>(users) &&
           (users->code() == ExitCode::usage || users->code() == ExitCode::data);
  return !dynamic_cast<const InternalError*>(&error);
}

std::string summary_of(const std::exception_ptr& error) try {
  std::rethrow_exception(error);
} catch (const std::exception& thrown) {
  return first_line(thrown.what());
}

void warn_once(const Group& group, const std::string& text) {
  if (group.leads()) log_warn(text);
}

}  // namespace flowtrain
