#include "pipeline/library/computing/ranks.h"

#include "pipeline/base/distributed/timeouts.h"
#include "pipeline/base/errors/agree_on_error.h"
#include "pipeline/base/launch/supervisor.h"
#include "pipeline/base/telemetry/guard.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/session/assembly.h"
#include "sampling/core/error.h"
#include "sampling/core/out_of_memory.h"
#include "sampling/core/text.h"

namespace flowtrain::computing {

namespace {

// Returns the first rank's device, without making this process use a GPU.
std::string expected_device(const Config& config, int processes) {
  if (*config.run().device == "auto") return count_gpus() > 0 ? "cuda:0" : "cpu";
  return choose_device(config, 0, static_cast<unsigned>(processes));
}

// Returns the advice for the message of a lost rank.
std::string postmortem_advice(const std::filesystem::path& run) {
  return concat("`flowtrain postmortem ", run.string(), "` shows what each rank did last");
}

}  // namespace

int start_ranks(const SpawnPlan& plan, const Config& config, const std::string& command,
                const std::vector<std::string>& arguments) {
  // Errors of the configuration are reported once, before ranks are started.
  config.check_trainable();
  const std::string device = expected_device(config, plan.processes);
  choose_backend(config.table("dist"), device);
  if (device != "cpu" && count_gpus() == 0) make_cuda_device(0, 1);  // throws with the reason if it cannot be used
  LauncherStore store(plan, config.table("dist"));
  std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe").string(), command};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const Timeouts timeouts(config.table("dist"));
  SuperviseOptions options;
  options.grace = timeouts.patience + timeouts.grace / 4;  // by now, the others know which rank is lost, and end
  options.kill_after = timeouts.grace / 4;
  options.on_start = [&store](int restart) { store.begin(restart); };
  options.on_death = [&store](int rank, const std::string& how) {
    store.report_death(rank, how);
    if (const auto run = store.run_folder(); !run.empty()) log_info(postmortem_advice(run));
  };
  options.job_failure = [&store] { return store.failure(); };
  return supervise(plan, store.url(), words, options);
}

int run_rank(const RankInfo& place, const Config& config, const RankBody& body) {
  // Rank 0 logs what all ranks know; messages of a single other rank go to its own log.
  if (place.rank > 0) set_console_level(ConsoleLevel::quiet);
  const std::string device =
      choose_device(config, static_cast<unsigned>(place.local_rank), static_cast<unsigned>(place.local_world));
  GroupSession membership(place, config.table("dist"), device);
  if (place.rank == 0)
    log_info(concat("rank 0 of ", place.world, ", ", place.local_world, " of them on this machine; they connect at ",
                    place.url));
  std::unique_ptr<HeldFolder> records;
  const auto explain = [&](const std::string& message, std::string& hint, ExitCode code, bool lost) {
    // A failed start leaves no files, as with one process.
    if (records && !records->is_lost() && std::filesystem::exists(records->path() / "metrics.jsonl"))
      membership.write_collective_log(records->path());
    return membership.explain(message, hint, lost, static_cast<int>(code));
  };
  const auto end_with = [&](const UserError& error) {
    std::string hint = error.hint();
    const bool lost = error.code() == ExitCode::distributed || dynamic_cast<const FailedElsewhere*>(&error) != nullptr;
    const auto text = explain(error.what(), hint, error.code(), lost);
    if (text.empty()) return static_cast<int>(error.code());
    if (hint.empty() && error.code() == ExitCode::distributed && records &&
        std::filesystem::exists(records->path() / "flight"))
      hint = postmortem_advice(records->path());
    throw UserError(error.code(), text, hint);
  };
  try {
    return body(membership, records);
  } catch (const UserError& error) {
    return end_with(error);
  } catch (const std::exception& error) {
    if (ran_out_of_memory(error)) return end_with(OutOfMemory(concat("out of memory: ", first_line(error.what()))));
    std::string hint;
    const auto text = explain(describe_current_exception(), hint, ExitCode::bug, false);
    if (text.empty()) return static_cast<int>(ExitCode::bug);
    throw InternalError(text);
  }
}

}  // namespace flowtrain::computing
