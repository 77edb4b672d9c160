// flowtrain replay CONFIG --iter N

#include <cstdio>

#include "pipeline/commands/flags.h"
#include "pipeline/replay.h"

namespace flowtrain::commands {

int replay(const Arguments& arguments) {
  CLI::App app("Rebuilds exactly the batch that an iteration sees, and writes its pictures and a batch.json with the position,\n"
               "record, label and hash of every row. Give a run's folder to replay with that run's configuration.",
               "flowtrain replay");
  ConfigFlags flags(app);
  std::uint64_t iteration = 0;
  std::string out;
  app.add_option("--iter", iteration, "the iteration, from 1")->required()->check(CLI::PositiveNumber);
  app.add_option("--out", out, "the folder to write to; default replay-NAME-ITERATION");
  if (!parse(app, arguments)) return 0;
  const Config config = load_for_use(flags.start());
  if (out.empty()) out = "replay-" + config.name() + "-" + std::to_string(iteration);
  const auto rows = flowtrain::replay(config, iteration, out);
  std::printf("%llu rows in %s\n", static_cast<unsigned long long>(rows), out.c_str());
  return 0;
}

}  // namespace flowtrain::commands
