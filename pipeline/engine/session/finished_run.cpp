#include "pipeline/engine/session/finished_run.h"

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/report/result_record.h"
#include "pipeline/engine/report/run_verdict.h"
#include "sampling/core/settings.h"

namespace flowtrain {

void FinishedRun::summarise(const Interrupt& interrupt, const CpuTime& cpu) const {
  const std::uint64_t done = result_.iteration + 1 - run_plan_.first;
  // The result of a group has only the kind of signal.
  const std::string signal = result_.signal ? signal_name(interrupt.requested().value_or(*result_.signal)) : "";
  if (!result_.stopped.empty()) log_info("stopped early: " + result_.stopped);
  if (done == 0 && result_.signal)
    log_info(concat("interrupted before iteration ", run_plan_.first, " was done (", signal, ")"));
  if (done == 0) return;
  log_info(concat(result_.signal ? "interrupted after" : "done:", " iteration ", result_.iteration, " (", signal,
                  result_.signal ? "; " : "", format_count(done), " in ", format_duration(result_.wall_s), ")"));
  log_verdict(cpu);
  if (session_.options().dry_run) log_info("order_xxh64 " + state_.samples.order.hex());
}

// After a signal it calls no collective, and writes no line that the resumed run would not have.
void FinishedRun::log_verdict(const CpuTime& cpu) const {
  RunVerdict verdict = run_verdict(result_.load, result_.signal ? solo_group() : group_);
  if (verdict.text.empty()) return;
  if (cpu.is_short(result_.wall_s)) verdict.text += "; " + describe_shortage(cpu);
  log_info("verdict: " + verdict.text);
  if (!metrics_ || result_.signal) return;
  JsonObject fields{{"iter", result_.iteration}, {"text", verdict.text}};
  fields.insert(verdict.fields.begin(), verdict.fields.end());
  metrics_->write("verdict", fields);
}

void FinishedRun::log_retries() const {
  const auto retries = session_.retries();
  if (retries == 0) return;
  log_info(concat("requests to servers that had to be repeated: ", retries));
  if (metrics_) metrics_->write("retries", {{"iter", result_.iteration}, {"requests", retries}});
}

std::string FinishedRun::finish(Learner& learner, const std::vector<BestRule>& rules, SnapshotBranch* snapshots) const {
  const auto* best = rules.front().best(state_.validations.best);
  const bool end_with_best = *session_.config().snapshot().end_with_best;
  const bool goes_back = end_with_best && best && snapshots && !result_.signal;
  if (goes_back) load_best(learner, best->iteration, *snapshots);
  const std::string params = result_.signal ? "" : common_params_xxh64(learner);
  const std::uint64_t weights_of = goes_back ? best->iteration : result_.iteration;
  if (metrics_ && !result_.signal) {
    JsonObject fields{
        {"iter", result_.iteration}, {"params_xxh64", params}, {"order_xxh64", state_.samples.order.hex()}};
    if (!result_.stopped.empty()) fields["stopped"] = result_.stopped;
    metrics_->write("end", fields);
  }
  return result_record({result_, state_, rules, session_.epoch(), params, weights_of, session_.train().batch});
}

// The last snapshot keeps the last weights.
void FinishedRun::load_best(Learner& learner, std::uint64_t best, SnapshotBranch& snapshots) const {
  if (!snapshots.load(learner, {best}))
    throw UserError(ExitCode::snapshot,
                    concat("cannot load the best weights: the snapshot of iteration ", best, " is missing or damaged"),
                    "snapshot.end_with_best = false ends with the last weights");
  if (group_.leads()) log_info(concat("the weights are those of iteration ", best, ", the best ones"));
}

// Training is sound only if every process has the same parameters, bit by bit.
std::string FinishedRun::common_params_xxh64(Learner& learner) const {
  std::string own = params_xxh64(learner);
  if (group_.broadcast("the comparison of parameters", own) != own)
    throw InternalError(concat("rank ", group_.rank(), " ended with other parameters than rank 0"));
  return own;
}

}  // namespace flowtrain
