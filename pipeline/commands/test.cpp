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

// Of a snapshot's folder, which carries its own configuration.
TestSubject subject_of(StartOptions start, const SnapshotWishes& wishes) {
  const fs::path place = start.config;
  if (!fs::exists(place / manifest_name)) return {std::move(start), wishes};
  if (!wishes.iterations.empty() || !wishes.snapshots.empty())
    throw UserError(ExitCode::usage, concat(place.string(), ": it is a snapshot already"),
                    "leave out --iter and --snapshot, or name the run");
  start.config = place / "config.toml";
  return {std::move(start), {}, place};
}

}  // namespace

int test(const Arguments& arguments, Interrupt& interrupt) {
  CLI::App app(
      "Measures snapshots, on whole sets, sample by sample. CONFIG is a configuration, whose newest run is meant, a\n"
      "run's folder, or a snapshot's. Without --iter and --snapshot it measures the run's best snapshot, or the\n"
      "newest if none is ranked. It uses [data.test] and each [[test.set]]; if there are none, [data.val] and each\n"
      "[[val.set]].\n"
      "[[test.setting]] and [[test.sweep]] say with which sizes, flips, thresholds … each is measured.\n"
      "Files are written to RUN/test. What is done already is not done again, so a test that was killed goes on.\n"
      "Prints a JSON line for each snapshot, set and setting.\n"
      "With OTHER, another of the three: measures both on the same samples, and says whether they differ by more than\n"
      "chance, and which samples only one of them gets right.",
      "flowtrain test");
  ConfigFlags flags(app, false);
  std::string other;
  add_path(app, "OTHER", other, "a second net, measured by its own configuration and compared with CONFIG's");
  SnapshotWishes wishes;
  TestOptions options;
  app.add_option("--iter", wishes.iterations, "snapshots: of this iteration, or of a range: 100..500");
  add_path(app, "--snapshot", wishes.snapshots, "snapshots: folders, best, latest or all of the run");
  app.add_option("--sets", options.sets, "val, test, and names of [[val.set]] and [[test.set]]: those to measure on");
  app.add_option("--name", options.name, "a folder in RUN/test for the files, to keep tests apart")
      ->check([](const std::string& name) {
        return name.empty() || name.front() == '.' || name.find('/') != name.npos ? name + ": cannot be a folder's name"
                                                                                  : std::string();
      });
  app.add_option("--pictures", options.pictures, "write pictures of the first N samples of each set, beside the worst");
  app.add_option("--resamples", options.resamples, "OTHER: resamples of the bootstrap by which detectors are compared")
      ->check(CLI::Range(1, 1'000'000));
  LaunchOptions launch;
  add_launch_flags(app, launch);
  if (!parse(app, arguments)) return 0;

  StartOptions start = flags.start();
  TestRequest request;
  if (start.config.empty()) {
    if (wishes.snapshots.empty() || !wishes.iterations.empty())
      throw UserError(ExitCode::usage, "CONFIG is required",
                      "name a configuration, a run's folder, or a snapshot: --snapshot PATH");
    start.config = fs::path(wishes.snapshots.front()) / "config.toml";
  }
  request.subjects.push_back(subject_of(start, wishes));
  if (!other.empty()) {
    start.config = other;
    request.subjects.push_back(subject_of(start, wishes));
  }
  request.options = options;
  request.launch = find_launch(launch, [&] { return load_for_use(request.subjects.front().start); });
  request.words = arguments;
  return computing_parts().test(request, interrupt);
}

}  // namespace flowtrain::commands
