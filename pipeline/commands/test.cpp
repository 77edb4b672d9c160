// flowtrain test CONFIG [OTHER]

#include "pipeline/base/snapshot/manifest.h"
#include "pipeline/commands/flags.h"
#include "pipeline/commands/launch_flags.h"
#include "pipeline/library/computing.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain::commands {

namespace {

namespace fs = std::filesystem;

// Returns the subject; a snapshot's folder has its own configuration.
TestSubject subject_of(StartOptions start, const SnapshotSelection& selection) {
  const fs::path place = start.config;
  if (!fs::exists(place / manifest_name)) return {std::move(start), selection};
  if (!selection.iterations.empty() || !selection.snapshots.empty())
    throw UserError(ExitCode::usage, concat(place.string(), ": this is already a snapshot"),
                    "leave out --iter and --snapshot, or name the run");
  start.config = place / "config.toml";
  return {std::move(start), {}, place};
}

}  // namespace

int test(const Arguments& arguments, Interrupt& interrupt) {
  CLI::App app(
      "Measures snapshots on whole sets, sample by sample. CONFIG is a run's folder, a snapshot's folder, or a\n"
      "configuration, which stands for its newest run. Without --iter and --snapshot it measures the run's best "
      "snapshot, or the\n"
      "newest if none is ranked. It uses [data.test] and each [[test.set]]; if there are none, [data.val] and each\n"
      "[[val.set]].\n"
      "[[test.setting]] and [[test.sweep]] list the sizes, flips, thresholds … to measure with.\n"
      "Writes files to RUN/test. Finished parts are not measured again, so a test that was killed continues.\n"
      "Prints a JSON line for each snapshot, set and setting.\n"
      "OTHER is a second configuration, run or snapshot: both are measured on the same samples, and the report says\n"
      "whether they differ by more than chance, and which samples only one of them gets right.",
      "flowtrain test");
  ConfigFlags flags(app, false);
  std::string other;
  add_path(app, "OTHER", other, "a second net, measured by its own configuration and compared with CONFIG's");
  SnapshotSelection selection;
  TestOptions options;
  app.add_option("--iter", selection.iterations, "select the snapshot of this iteration, or a range: 100..500");
  add_path(app, "--snapshot", selection.snapshots, "select snapshots: folders, or best, latest or all of the run");
  app.add_option("--sets", options.sets, "measure on these sets: val, test, and names of [[val.set]] and [[test.set]]");
  app.add_option("--name", options.name, "write the files to this folder in RUN/test, to keep tests apart")
      ->check([](const std::string& name) {
        return name.empty() || name.front() == '.' || name.find('/') != name.npos ? name + ": cannot be a folder's name"
                                                                                  : std::string();
      });
  app.add_option("--pictures", options.pictures, "write pictures of the first N samples of each set, and of the worst");
  app.add_option("--resamples", options.resamples, "compare detectors (OTHER) by so many bootstrap resamples")
      ->check(CLI::Range(1, 1'000'000));
  LaunchOptions launch;
  add_launch_flags(app, launch);
  if (!parse(app, arguments)) return 0;

  StartOptions start = flags.start();
  TestRequest request;
  if (start.config.empty()) {
    if (selection.snapshots.empty() || !selection.iterations.empty())
      throw UserError(ExitCode::usage, "CONFIG is required",
                      "name a configuration, a run's folder, or a snapshot: --snapshot PATH");
    start.config = fs::path(selection.snapshots.front()) / "config.toml";
  }
  request.subjects.push_back(subject_of(start, selection));
  if (!other.empty()) {
    start.config = other;
    request.subjects.push_back(subject_of(start, selection));
  }
  request.options = options;
  request.launch = find_launch(launch, [&] { return load_for_use(request.subjects.front().start); });
  request.words = arguments;
  return computing_parts().test(request, interrupt);
}

}  // namespace flowtrain::commands
