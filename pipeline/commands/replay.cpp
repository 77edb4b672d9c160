// flowtrain replay CONFIG --iter N

#include <cmath>
#include <cstdio>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/commands/flags.h"
#include "pipeline/library/computing.h"
#include "pipeline/tools/replay/find_breakdown.h"
#include "pipeline/tools/replay/replay.h"
#include "pipeline/tools/replay/rerun.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain::commands {

namespace {

struct ReplayRequest {
  StartOptions start;
  std::uint64_t iteration = 0;  ///< 0: the run's last
  std::filesystem::path snapshot, out;

  std::filesystem::path folder(const Config& config, std::uint64_t of_iteration) const {
    return out.empty() ? std::filesystem::path(concat("replay-", config.name(), "-", of_iteration)) : out;
  }
};

void check_iteration(std::uint64_t iteration, const EarlierRun& run) {
  if (iteration > run.last)
    throw UserError(ExitCode::usage, concat("--iter ", iteration, ": the run ends at iteration ", run.last),
                    "make the run longer with --max-iter");
}

int write_batch(const Config& config, const ReplayRequest& request, const Recomputed* computed) {
  const auto folder = request.folder(config, request.iteration);
  const auto rows = flowtrain::replay(config, request.iteration, folder, computed);
  std::printf("%llu rows in %s\n", static_cast<unsigned long long>(rows), folder.c_str());
  return 0;
}

// Drops the sign of a nan: printf would show it, but it has no meaning.
double unsigned_nan(double value) { return std::isnan(value) ? std::nan("") : value; }

int replay_loss(const ReplayRequest& request, Interrupt& interrupt) {
  const EarlierRun run = find_earlier_run(request.start);
  check_iteration(request.iteration, run);
  Recomputed computed;
  computed.snapshot = snapshot_before(run, request.iteration, false, request.snapshot);
  computed.after = iteration_of(computed.snapshot);
  bool reached = false;
  const auto keep = [&](std::uint64_t iteration, const StepStats& scalars, Learner&) {
    reached = iteration == request.iteration;
    if (reached) computed.result = scalars;
    return !reached;
  };
  const int code =
      train_again(run, computed.snapshot, Discarding::as_the_run, computing_parts().make_learner, interrupt, keep);
  if (!reached) return code;
  std::printf("iteration %llu: loss %.9g, grad_norm %.9g\n", static_cast<unsigned long long>(request.iteration),
              unsigned_nan(computed.result.loss), unsigned_nan(computed.result.grad_norm));
  for (auto& [name, value] : computed.result.parts) std::printf("  %s %.9g\n", name.c_str(), unsigned_nan(value));
  return write_batch(run.config, request, &computed);
}

int find_nan(ReplayRequest request, Interrupt& interrupt) {
  const EarlierRun run = find_earlier_run(request.start);
  check_iteration(request.iteration, run);
  const std::uint64_t last = request.iteration > 0 ? request.iteration : run.last;
  const BreakdownSearch found = find_breakdown(run, last, request.snapshot, computing_parts().make_learner, interrupt);
  if (found.exit_code != 0) return found.exit_code;
  if (!found.breakdown) {
    std::printf("iterations %llu to %llu are finite\n", static_cast<unsigned long long>(found.from),
                static_cast<unsigned long long>(found.to));
    return 0;
  }
  std::fputs(to_text(*found.breakdown).c_str(), stdout);
  request.iteration = found.breakdown->iteration;
  write_batch(run.config, request, nullptr);
  write_file_atomically(request.folder(run.config, request.iteration) / "nonfinite.json", to_json(*found.breakdown));
  return 0;
}

}  // namespace

int replay(const Arguments& arguments, Interrupt& interrupt) {
  CLI::App app(
      "Rebuilds exactly the batch that an iteration sees, and writes its pictures and a batch.json with the position,\n"
      "record, label and hash of every row. Give a run's folder to replay with that run's configuration.\n"
      "--loss and --find-nan train again from a snapshot, in memory; the run's folder stays as it is.",
      "flowtrain replay");
  ConfigFlags flags(app);
  ReplayRequest request;
  bool wants_loss = false, finds_nan = false;
  auto* iter =
      app.add_option("--iter", request.iteration, "choose the iteration, from 1")->check(counts_from_one("iterations"));
  add_path(app, "--out", request.out, "write to this folder; default replay-NAME-ITERATION");
  auto* loss = app.add_flag("--loss", wants_loss,
                            "compute the iteration's loss, its parts and the norm of its gradients, too, bit for bit");
  auto* search =
      app.add_flag("--find-nan", finds_nan,
                   "find the first iteration, up to --iter or the end of the run, whose loss or gradients are not\n"
                   "finite, with the sample and the layer; write nonfinite.json")
          ->excludes(loss);
  auto* snapshot = add_path(app, "--snapshot", request.snapshot,
                            "train from this snapshot; default: the newest before the iteration");
  if (!parse(app, arguments)) return 0;
  if (!*iter && !*search)
    throw UserError(ExitCode::usage, "--iter is required", "name an iteration, or search for one with --find-nan");
  if (*snapshot && !wants_loss && !*search)
    throw UserError(ExitCode::usage, "--snapshot: only --loss and --find-nan train from a snapshot",
                    "leave it out, or add one of these");
  request.start = flags.start();
  if (!request.out.empty()) check_replay_folder(request.out);
  if (*search) return find_nan(std::move(request), interrupt);
  if (wants_loss) return replay_loss(request, interrupt);
  return write_batch(load_for_use(request.start), request, nullptr);
}

}  // namespace flowtrain::commands
