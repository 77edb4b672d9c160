// flowtrain graph CONFIG

#include <cstdio>

#include "pipeline/commands/flags.h"
#include "pipeline/run.h"

namespace flowtrain::commands {

int graph(const Arguments& arguments) {
  CLI::App app("Prints the flow graph of a training run in Graphviz's DOT: flowtrain graph CONFIG | dot -Tsvg -o graph.svg\n"
               "Doubled frames are threads of their own (they may block); the other stages run on oneTBB's workers.",
               "flowtrain graph");
  ConfigFlags flags(app);
  if (!parse(app, arguments)) return 0;
  std::fputs(draw_graph(load_for_use(flags.start())).c_str(), stdout);
  return 0;
}

}  // namespace flowtrain::commands
