// flowtrain lr-find CONFIG

#include <cstdio>
#include <fstream>
#include <sstream>

#include "pipeline/base/values/periods.h"
#include "pipeline/commands/flags.h"
#include "pipeline/engine/session/run.h"
#include "pipeline/library/computing.h"
#include "pipeline/tools/bench/batch_search.h"
#include "pipeline/tools/bench/lr_find.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain::commands {

namespace {

void shape_run(StartOptions& start, const LrRange& range) {
  const char* flag = "flowtrain lr-find";
  const auto set = [&](const char* key, const std::string& value) { start.overrides.push_back({key, value, flag}); };
  // Rules that count validations stay valid, but no validation is due.
  if (!period(load_for_use(start).val().every).off()) set("val.every", std::to_string(range.iterations + 1));
  set("run.max_iter", std::to_string(range.iterations));
  set("display.every", "1");
  set("early_stop.hours", "0");
  set("train.nonfinite", "skip");
  set("train.max_nonfinite", std::to_string(range.iterations));
}

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  if (!(file << text).flush()) throw UserError(ExitCode::snapshot, path + ": cannot be written");
}

std::string csv_of(const std::vector<LrFinder::Tried>& tried) {
  std::ostringstream text;
  text << "lr,loss,smooth\n";
  for (auto& each : tried) text << each.lr << ',' << each.loss << ',' << each.smooth << '\n';
  return text.str();
}

}  // namespace

int lr_find(const Arguments& arguments, Interrupt& interrupt) {
  CLI::App app(
      "Runs a learning-rate range test: trains for a while with rates that grow from step to step, shows the loss for\n"
      "each rate, and suggests one. Writes no run folder.",
      "flowtrain lr-find");
  ConfigFlags flags(app);
  LrRange range;
  std::string csv, picture;
  app.add_option("--from", range.from, "start with this rate (default 1e-6)")->check(above_zero());
  app.add_option("--to", range.to, "end with this rate (default 1)")->check(above_zero());
  app.add_option("--iterations", range.iterations, "take this many steps between the two rates (default 100)")
      ->check(CLI::Range(10, 1'000'000));
  add_path(app, "--csv", csv, "write rate, loss and smoothed loss of each step to this CSV file");
  add_path(app, "--picture", picture, "draw the curve and the suggestion in this SVG file");
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
  if (!csv.empty()) write(csv, csv_of(finder->tried()));
  if (!picture.empty()) write(picture, finder->picture());
  return result;
}

}  // namespace flowtrain::commands
