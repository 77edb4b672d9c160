// flowtrain lr-find CONFIG

#include <cstdio>
#include <fstream>

#include "pipeline/commands/computing/api.h"
#include "pipeline/commands/flags.h"
#include "pipeline/config/periods.h"
#include "pipeline/session/run.h"
#include "pipeline/tools/batch_search.h"
#include "pipeline/tools/lr_find.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain::commands {

namespace {

void shape_run(StartOptions& start, const LrRange& range) {
  const char* flag = "flowtrain lr-find";
  const auto set = [&](const char* key, const std::string& value) { start.overrides.push_back({key, value, flag}); };
  // There may be rules that count validations: these stay valid, and none is due.
  if (!period(load_for_use(start).table("val"), "every").off()) set("val.every", std::to_string(range.iterations + 1));
  set("run.max_iter", std::to_string(range.iterations));
  set("display.every", "1");
  set("early_stop.hours", "0");
  set("train.nonfinite", "skip");
  set("train.max_nonfinite", std::to_string(range.iterations));
}

void write_csv(const std::string& path, const std::vector<LrFinder::Tried>& tried) {
  std::ofstream file(path);
  file << "lr,loss,smooth\n";
  for (auto& each : tried) file << each.lr << ',' << each.loss << ',' << each.smooth << '\n';
  if (!file.flush()) throw UserError(ExitCode::snapshot, path + ": cannot be written");
}

}  // namespace

int lr_find(const Arguments& arguments, Interrupt& interrupt) {
  CLI::App app(
      "Finds a learning rate: trains for a while with rates that grow from step to step, and shows how the loss takes\n"
      "it. Leaves nothing behind.",
      "flowtrain lr-find");
  ConfigFlags flags(app);
  LrRange range;
  std::string csv;
  app.add_option("--from", range.from, "least rate (default 1e-6)")->check(above_zero());
  app.add_option("--to", range.to, "greatest rate (default 1)")->check(above_zero());
  app.add_option("--iterations", range.iterations, "steps from one to the other (default 100)")
      ->check(CLI::Range(10, 1'000'000));
  add_path(app, "--csv", csv, "file for rate, loss and smoothed loss of each step");
  if (!parse(app, arguments)) return 0;
  if (range.from >= range.to)
    throw UserError(ExitCode::usage, concat("--from ", range.from, " is not below --to ", range.to));
  StartOptions start = flags.start();
  shape_run(start, range);
  const auto find_rows = [&](const Config& few_rows) {
    return fit_batch(few_rows, {}, computing_parts().make_learner);
  };
  const Config config = load_for_use(start, find_rows);
  config.check_trainable();
  const auto finder = std::make_shared<LrFinder>(range);
  RunOptions options;
  options.progress = ProgressMode::off;
  options.announces = false;
  const int result =
      run_without_traces(config, options, computing_parts().make_learner, interrupt, {finder, "lr-find"});
  std::fputs(finder->report().c_str(), stdout);
  if (!csv.empty()) write_csv(csv, finder->tried());
  return result;
}

}  // namespace flowtrain::commands
