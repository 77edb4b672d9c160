// flowtrain graph CONFIG

#include <cstdio>

#include "pipeline/commands/flags.h"
#include "pipeline/engine/memory/auto_batch.h"
#include "pipeline/engine/session/run_graph.h"

namespace flowtrain::commands {

int graph(const Arguments& arguments, Interrupt&) {
  CLI::App app(
      "Prints the flow graph of a training run in Graphviz's DOT: flowtrain graph CONFIG | dot -Tsvg -o graph.svg\n"
      "Doubled frames are threads of their own (they may block); the other stages run on oneTBB's workers.",
      "flowtrain graph");
  ConfigFlags flags(app);
  if (!parse(app, arguments)) return 0;
  const Config config = load_for_use(flags.start());
  tell_left_open_batch(config);
  std::fputs(draw_graph(config).c_str(), stdout);
  return 0;
}

}  // namespace flowtrain::commands
